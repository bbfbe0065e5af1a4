"""What the protocol forbids an Optimizer: one pure rule set a command (EVOLUTION 3.5). `None` means: go on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from core.evolution.optimizer_state import OptimizerState
from core.evolution.refusal import Refusal, listed

UNEVALUABLE_LIMIT = 3  # Candidates in a row that could not be measured: then the harness is what is broken
FATAL_CODES = frozenset({"version_changed", "benchmark_invalid", "invalid_request"})


@dataclass(frozen=True, slots=True)
class Present:
    """What stands on disk now: the agent's version and state hash, and what voids the benchmark, if anything."""

    version: int
    state_hash: str
    void: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Propose:
    """A Candidate: `next_version` as core.state computes it, `problem` what the edit surface says of the edits."""

    present: Present
    hypothesis: str
    expected: Mapping[str, float]
    digest: str
    next_version: int
    problem: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Evaluate:
    present: Present
    repair: str = ""


@dataclass(frozen=True, slots=True)
class Decide:
    present: Present
    summary_title: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    reason: str
    present: Present = field(default=Present(1, ""))


Command = Propose | Evaluate | Decide | Stop


def refusal(state: OptimizerState, command: Command) -> Refusal | None:
    """Return why `command` is forbidden in `state`, or None."""
    if state.stop_reason is not None:
        return Refusal("stopped", f"The run was stopped: {state.stop_reason} Give your closing report as text.")
    match command:
        case Propose():
            return _propose(state, command)
        case Evaluate():
            return _evaluate(state, command)
        case Decide():
            return _decide(state, command)
        case Stop():
            return None if command.reason.strip() else Refusal("no_reason", "Say in `reason` why the run ends here.")


def _foreign(version: int, state_hash: str, present: Present, what: str) -> Refusal | None:
    if present.void:
        return Refusal(
            "void",
            f"The benchmark changed after its freeze ({listed(present.void)}), so nothing measured on it compares. "
            "Stop with stop_run and say so.",
        )
    if (present.version, present.state_hash) != (version, state_hash):
        return Refusal(
            "changed_state",
            f"The agent's state is no longer the {what} (version {version}): something else changed it. Nothing is "
            "overwritten. Stop with stop_run and say so.",
        )
    return None


def _propose(state: OptimizerState, command: Propose) -> Refusal | None:
    reference = state.reference
    if reference is None:
        return Refusal(
            "no_reference", "There is no Reference: the benchmark lacks a complete evaluation of this version."
        )
    if state.candidate is not None:
        step = "decide" if state.candidate.measured else "evaluate_candidate"
        return Refusal(
            "candidate_pending", f"Candidate version {state.candidate.version} is not decided yet. Go on: {step}."
        )
    if over := state.over:
        return Refusal("over", f"{over} No further round begins. Give your closing report as text.")
    recent = state.history[-UNEVALUABLE_LIMIT:]
    if len(recent) == UNEVALUABLE_LIMIT and all(entry.decision == "unevaluable" for entry in recent):
        return Refusal(
            "harness_broken", f"{UNEVALUABLE_LIMIT} Candidates in a row could not be measured: stop_run, say so."
        )
    if refused := _foreign(reference.version, reference.state_hash, command.present, "Reference"):
        return refused
    if not command.hypothesis.strip():
        return Refusal("no_hypothesis", "State a falsifiable hypothesis: which decision or artifact changes, and why.")
    if refused := _prediction(state, command.expected):
        return refused
    if command.problem is not None:
        return command.problem
    used = {reference.version, *(entry.candidate.version for entry in state.history)}
    if command.next_version <= max(used):
        return Refusal(
            "version_not_growing", f"Version {command.next_version} was used; versions only grow. Stop with stop_run."
        )
    if any(
        entry.candidate.digest == command.digest
        and entry.candidate.reference_version == reference.version
        and entry.decision != "unevaluable"
        for entry in state.history
    ):
        return Refusal(
            "already_tried", "This very change of this Reference was measured and rejected: try another one."
        )
    return None


def _prediction(state: OptimizerState, expected: Mapping[str, float]) -> Refusal | None:
    assert state.reference is not None
    scores = state.reference.case_scores()
    unknown = set(expected) - set(scores)
    if unknown:
        return Refusal("unknown_case", f"The prediction names Cases that were not measured: {listed(unknown)}.")
    if bad := [case for case, score in expected.items() if not math.isfinite(score) or not 0 <= score <= 100]:
        return Refusal("prediction_range", f"Expected scores are numbers from 0 to 100; not so: {listed(bad)}.")
    if not any(score > scores[case] for case, score in expected.items()):
        return Refusal(
            "no_gain_predicted",
            "Predict at least one Case that scores higher than the Reference does; else there is nothing to test.",
        )
    return None


def _evaluate(state: OptimizerState, command: Evaluate) -> Refusal | None:
    candidate = state.candidate
    if candidate is None:
        return Refusal("no_candidate", "There is no Candidate to evaluate: propose_candidate first.")
    if candidate.score is not None:
        return Refusal(
            "already_evaluated", "Every cell of this Candidate is valid; no cell is run twice. Go on: decide."
        )
    if refused := _foreign(candidate.version, candidate.state_hash, command.present, "Candidate"):
        return refused
    fatal = {cell.failure_code for cell in candidate.failed if cell.failure_code in FATAL_CODES}
    if fatal:
        return Refusal(
            "unevaluable",
            f"Cells failed with {listed({str(code) for code in fatal})}; running them again "
            "proves nothing. "
            "Go on: decide, then stop_run.",
        )
    if candidate.measured:
        repair = command.repair.strip()
        if not repair or repair in candidate.repairs:
            return Refusal(
                "no_new_repair",
                "Cells failed. Say in `repair` what new, specific thing was corrected since, or go on: decide, "
                "which gives "
                "the Candidate up.",
            )
    return None


def _decide(state: OptimizerState, command: Decide) -> Refusal | None:
    candidate = state.candidate
    if candidate is None:
        return Refusal("no_candidate", "There is no Candidate to decide: propose_candidate first.")
    if not candidate.measured:
        return Refusal("not_evaluated", "The Candidate has not been measured: evaluate_candidate first.")
    if refused := _foreign(candidate.version, candidate.state_hash, command.present, "Candidate"):
        return refused
    if not command.summary_title.strip() or not command.summary.strip():
        return Refusal("no_summary", "Give `summary_title` and `summary`: the scoreboard and the ledger keep them.")
    return None
