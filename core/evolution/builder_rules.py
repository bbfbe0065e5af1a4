"""What the protocol forbids a Builder: one pure rule set a command (EVOLUTION 3.2). `None` means: go on."""

from __future__ import annotations

import math

from core.evolution.builder_commands import (
    Command,
    CreateAgent,
    DeclareContract,
    Dispatch,
    PassFloor,
    RecordBaseline,
    RecordReview,
    RequestFreeze,
    RestoreLowest,
    StopRun,
    SubmitRevision,
)
from core.evolution.builder_freeze_rules import baseline, floor, freeze, restore
from core.evolution.builder_preconditions import changed_agent, unsubmitted
from core.evolution.builder_state import (
    BuilderState,
    changed_cases,
    revision_kind,
    to_dispatch,
    unwaived,
)
from core.evolution.refusal import Refusal, listed

CASE_LIMIT = 40


def refusal(state: BuilderState, command: Command) -> Refusal | None:
    """Return why `command` is forbidden in `state`, or None."""
    if over := _over(state):
        return over
    match command:
        case CreateAgent():
            return _create_agent(state, command)
        case DeclareContract():
            return _contract(state, command)
        case SubmitRevision():
            return _submit(state, command)
        case RecordReview():
            return _review(state, command)
        case Dispatch():
            return _dispatch(state, command)
        case RequestFreeze():
            return freeze(state, command)
        case PassFloor():
            return floor(command)
        case RestoreLowest():
            return restore(state)
        case RecordBaseline():
            return baseline(state, command)
        case StopRun():
            return None if command.reason.strip() else Refusal("no_reason", "Say in `reason` why the run must stop.")


def _over(state: BuilderState) -> Refusal | None:
    if state.baseline is not None:
        return Refusal(
            "finished", "The Formal Baseline is recorded; a Builder stops there. Give your closing report as text."
        )
    if state.stop_reason is not None:
        return Refusal("stopped", f"The run was stopped: {state.stop_reason} Give your closing report as text.")
    return None


def _create_agent(state: BuilderState, command: CreateAgent) -> Refusal | None:
    if command.agent_id != command.wanted:
        return Refusal("wrong_agent", f"The operator asked for agent_id {command.wanted}; use that id.")
    if state.agent_ready or command.exists:
        return Refusal(
            "agent_exists",
            f"Agent {command.agent_id} is there already and is never overwritten. Go on: declare_contract.",
        )
    return None


def _contract(state: BuilderState, command: DeclareContract) -> Refusal | None:
    if not state.agent_ready:
        return Refusal("no_agent", "There is no Target Agent yet: call create_agent first.")
    if state.plans:
        return Refusal(
            "contract_declared", "The contract is declared and stands. Go on: write the Cases, submit_revision."
        )
    identifiers = [case.case_id for case in command.cases]
    if len(set(identifiers)) != len(identifiers):
        return Refusal("duplicate_case", "A case_id occurs twice; each planned Case needs its own.")
    if not identifiers or len(identifiers) > CASE_LIMIT:
        return Refusal("case_count", f"Plan between 1 and {CASE_LIMIT} Cases.")
    for case in command.cases:
        total = math.fsum(case.points)
        if not math.isclose(total, 100.0, abs_tol=1e-9):
            return Refusal(
                "points_not_100", f"The planned points of {case.case_id} total {total:g}; allot exactly 100."
            )
    unknown = set(command.held_out) - set(identifiers)
    if unknown:
        return Refusal("unknown_case", f"held_out names Cases that are not planned: {listed(unknown)}.")
    if set(command.held_out) == set(identifiers):
        return Refusal("all_held_out", "At least one Case must not be held out: pilots need something to measure.")
    return None


# Revisions ---------------------------------------------------------------------------------------------


def _submit(state: BuilderState, command: SubmitRevision) -> Refusal | None:
    if not state.plans:
        return Refusal("no_contract", "Declare the contract first: declare_contract.")
    if state.frozen is not None:
        return Refusal("frozen", "The benchmark is frozen. Go on: record_baseline.")
    if command.strangers:
        return Refusal(
            "unplanned_case",
            f"These Case directories are not in the contract; remove them: {listed(set(command.strangers))}.",
        )
    missing = [case for case in state.case_ids if case not in command.hashes]
    if missing:
        return Refusal(
            "missing_case",
            f"These planned Cases lack statement/README.md or rubric/README.md: {listed(missing)}. Every planned Case "
            "is part of every revision.",
        )
    for case, problems in command.problems.items():
        if problems:
            return Refusal("rubric_invalid", f"{case}: {'; '.join(problems)}. Repair it and submit again.")
    if refused := _standards(state, command):
        return refused
    kind, pilot = revision_kind(state)
    if not changed_cases(state, command.hashes):
        return Refusal("nothing_changed", "No Case differs from the last revision; edit the files first.")
    if kind == "refinement" and not to_dispatch(state, command.hashes):
        return Refusal(
            "nothing_measured", "Only held-out Cases changed, so there is nothing to pilot; refine a measured one."
        )
    if kind == "refinement":
        if pilot > state.limits.pilots:
            return Refusal(
                "pilot_limit",
                f"All {state.limits.pilots} pilots are used. Go on: restore_lowest if the lowest pilot does not stand "
                "now, then record_review scope freeze, request_freeze.",
            )
        if state.present_pilot is not None and state.present_pilot.score <= state.limits.baseline_wanted:
            return Refusal(
                "already_met",
                f"Pilot {state.present_pilot.i} scores {state.present_pilot.score:g}, at or below the wanted "
                f"{state.limits.baseline_wanted:g}: freeze it. Go on: record_review scope freeze.",
            )
        if not command.diagnosis.strip() or not command.adjustment.strip():
            return Refusal(
                "no_diagnosis",
                "A refinement needs `diagnosis` (the strategy you observed and what it lacks) and `adjustment` "
                "(what you "
                "changed so that the lack costs points).",
            )
    return _predictions(state, command)


def _standards(state: BuilderState, command: SubmitRevision) -> Refusal | None:
    moved = {
        case
        for case, standard in state.standards.items()
        if case in command.hashes and command.hashes[case].standard != standard
    }
    silent = moved - set(command.restated)
    if silent:
        return Refusal(
            "standard_changed",
            f"The private standard of {listed(silent)} changed after its first dispatch. Put it back, or name the "
            "Case in "
            "`restated_standards` with a reason: that voids every earlier result that rests on it.",
        )
    idle = set(command.restated) - moved
    if idle:
        return Refusal("standard_unchanged", f"restated_standards names {listed(idle)}, whose standard did not change.")
    return None


def _predictions(state: BuilderState, command: SubmitRevision) -> Refusal | None:
    needed = set(to_dispatch(state, command.hashes))
    given = [prediction.case_id for prediction in command.predictions]
    if len(set(given)) != len(given):
        return Refusal("duplicate_prediction", "A Case has two predictions; give one each.")
    unknown = set(given) - set(state.case_ids)
    if unknown:
        return Refusal("unknown_case", f"predictions name Cases that are not planned: {listed(unknown)}.")
    missing = needed - set(given)
    if missing:
        return Refusal(
            "prediction_missing",
            f"Each changed Case needs a prediction before it is dispatched; missing: {listed(missing)}.",
        )
    for p in command.predictions:
        scores = (p.score_if_observed, p.score_if_desired)
        if not all(math.isfinite(score) and 0 <= score <= 100 for score in scores):
            return Refusal("prediction_range", f"The predicted scores of {p.case_id} must be numbers from 0 to 100.")
        if math.isclose(*scores, abs_tol=1e-9):
            return Refusal(
                "prediction_equal",
                f"The prediction of {p.case_id} gives {scores[0]:g} for both strategies, so it separates nothing: "
                "choose "
                "another refinement.",
            )
        if not math.isfinite(p.affected_points) or not 0 < p.affected_points <= 100:
            return Refusal(
                "no_affected_points",
                f"The change of {p.case_id} affects {p.affected_points:g} points; it must affect more than 0 and "
                "at most 100.",
            )
    return None


# Reviews and dispatch ----------------------------------------------------------------------------------


def _review(state: BuilderState, command: RecordReview) -> Refusal | None:
    if refused := unsubmitted(state, command.hashes):
        return refused
    if state.frozen is not None:
        return Refusal("frozen", "The benchmark is frozen. Go on: record_baseline.")
    given = [review.case_id for review in command.cases]
    if len(set(given)) != len(given):
        return Refusal("duplicate_review", "A Case is reviewed twice; give one review each.")
    if command.scope == "freeze":
        if state.present_pilot is None:
            return Refusal(
                "no_pilot",
                "There is no complete valid pilot of the present revision to freeze. Go on: dispatch or repair.",
            )
        needed = set(state.case_ids)
        what = "A freeze review covers every Case"
    else:
        needed = set(state.unreviewed)
        what = "A revision review covers every Case that changed"
    missing, extra = needed - set(given), set(given) - set(state.case_ids)
    if extra:
        return Refusal("unknown_case", f"The review names Cases that are not planned: {listed(extra)}.")
    if missing:
        return Refusal("review_incomplete", f"{what}; missing: {listed(missing)}.")
    for review in command.cases:
        if open_leaks := unwaived(state, review.case_id, review.leak, review.waived):
            texts = {f["finding"]: f["text"] for f in state.findings[review.case_id]}
            detail = "; ".join(f"{name}: “{texts[name]}”" for name in open_leaks)
            return Refusal(
                "leak",
                f"{review.case_id}: text of the rubric stands in the statement ({detail}). Reword one of the two and "
                "submit again, or waive the finding by its id with a reason that the operator will read.",
            )
    return None


def _dispatch(state: BuilderState, command: Dispatch) -> Refusal | None:
    if refused := unsubmitted(state, command.hashes) or changed_agent(state, command.version, command.state_hash):
        return refused
    if state.frozen is not None:
        return Refusal("frozen", "The benchmark is frozen; nothing is run again. Go on: record_baseline.")
    if not state.pending:
        return Refusal(
            "already_run",
            "Every Case of this revision has its one valid run; a pilot cell is never run twice. Go on: refine, "
            "or freeze.",
        )
    unpredicted = [
        case
        for case in state.pending
        if case not in state.predictions or state.predictions[case].hashes != state.hashes[case]
    ]
    if unpredicted:
        return Refusal(
            "prediction_missing",
            f"No prediction was recorded for {listed(unpredicted)}: submit the revision with them.",
        )
    if unreviewed := state.unreviewed:
        return Refusal(
            "not_reviewed",
            f"The consistency and leak review of {listed(unreviewed)} is missing or left a finding open: record_review "
            "scope revision, or repair and submit again.",
        )
    broken = [case for case in state.pending if state.failed.get(case) == "benchmark_invalid"]
    if broken:
        return Refusal(
            "case_invalid",
            f"{listed(broken)} could not be judged (benchmark_invalid). Repair its files and submit the revision "
            "again; "
            "a repair does not use up a pilot.",
        )
    if any(case in state.failed for case in state.pending):
        repair = command.repair.strip()
        if not repair:
            return Refusal(
                "no_new_repair",
                "Cells failed. Say in `repair` what you found and corrected since, or stop with stop_run.",
            )
        if repair in state.repairs:
            return Refusal("no_new_repair", "This repair was tried already; name a new, specific one, or stop_run.")
    return None
