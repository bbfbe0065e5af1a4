"""What the protocol forbids a Builder from a pilot on: freeze, restoring, baseline (EVOLUTION 3.2 no. 33 to 36)."""

from __future__ import annotations

from core.evolution.builder_commands import PassFloor, RecordBaseline, RequestFreeze
from core.evolution.builder_preconditions import changed_agent, unsubmitted
from core.evolution.builder_state import BuilderState, stale
from core.evolution.refusal import Refusal, listed

FLOOR_LIMIT = 15.0  # points that an idle agent may get (DECISIONS 18)


def freeze(state: BuilderState, command: RequestFreeze) -> Refusal | None:
    """Only the lowest valid pilot, standing now, reviewed whole, without a known defect (no. 33, 35)."""
    if state.frozen is not None:
        return Refusal("frozen", "The benchmark is frozen. Go on: record_baseline.")
    if refused := unsubmitted(state, command.hashes) or changed_agent(state, command.version, command.state_hash):
        return refused
    if [defect for defect in command.known_defects if defect.strip()]:
        return Refusal(
            "known_defect", "A benchmark with a known defect is not frozen: repair it, submit, pilot it again."
        )
    present, lowest = state.present_pilot, state.lowest_pilot
    if present is None or lowest is None:
        return Refusal(
            "no_pilot", "The present revision has no complete valid pilot. Go on: dispatch or restore_lowest."
        )
    if present.score > lowest.score:
        return Refusal(
            "not_lowest",
            f"Pilot {present.i} scores {present.score:g}; pilot {lowest.i} with {lowest.score:g} is the lowest "
            "valid one "
            "and is what gets frozen. Go on: restore_lowest.",
        )
    met = present.score <= state.limits.baseline_wanted
    if not met and state.pilot < state.limits.pilots and not command.no_refinement_left.strip():
        return Refusal(
            "pilots_left",
            f"The wanted score {state.limits.baseline_wanted:g} is not met ({present.score:g}) and "
            f"{state.limits.pilots - state.pilot} pilots are left: refine on. Only if no refinement is left that could "
            "lower the score, say why in `no_refinement_left`; the operator will read it.",
        )
    if state.rejection is not None:
        return Refusal(
            "rejected",
            f"The operator rejected this revision: {state.rejection} Change it and submit it before you ask again.",
        )
    if defects := state.defects:
        return Refusal("defect", f"The freeze review found defects in {listed(defects)}: repair, submit, pilot again.")
    if unreviewed := state.unfrozen:
        return Refusal(
            "freeze_not_reviewed",
            f"The full freeze review of this revision is missing for {listed(unreviewed)}: record_review scope "
            "freeze for "
            "all Cases.",
        )
    return None


def floor(command: PassFloor) -> Refusal | None:
    """An idle agent earns little, or the operator is asked for an exception (DECISIONS 18)."""
    high = {case: points for case, points in command.floors.items() if points > FLOOR_LIMIT}
    if high and not command.exception.strip():
        shown = ", ".join(f"{case} {points:g}" for case, points in sorted(high.items()))
        return Refusal(
            "floor",
            f"An agent that does nothing already gets more than {FLOOR_LIMIT:g} points ({shown}). Move points to "
            "what work "
            "earns and submit again; if the floor is right, ask the operator by `floor_exception` with the reason.",
        )
    return None


def restore(state: BuilderState) -> Refusal | None:
    """There is a lowest valid pilot, its copy, and it does not stand now."""
    if state.frozen is not None:
        return Refusal("frozen", "The benchmark is frozen. Go on: record_baseline.")
    lowest = state.lowest_pilot
    if lowest is None:
        return Refusal("no_pilot", "There is no valid pilot to restore.")
    if state.lowest != lowest.i:
        return Refusal(
            "no_copy",
            f"The copy that was kept is not of pilot {lowest.i}; run a complete pilot of a repaired revision.",
        )
    if state.present_pilot is not None and state.present_pilot.i == lowest.i:
        return Refusal(
            "already_lowest", f"Pilot {lowest.i}, the lowest, stands now. Go on: record_review scope freeze."
        )
    return None


def baseline(state: BuilderState, command: RecordBaseline) -> Refusal | None:
    """After the freeze, on the frozen bytes, of the agent that was measured."""
    if state.frozen is None:
        return Refusal("not_frozen", "The Formal Baseline is recorded after the freeze: request_freeze first.")
    if changed := stale(state, command.hashes):
        return Refusal(
            "void",
            f"{listed(changed)} changed after the freeze, which voids the benchmark. Stop with stop_run and say so.",
        )
    return changed_agent(state, command.version, command.state_hash)
