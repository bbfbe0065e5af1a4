"""What runs say of themselves: the phase they are in, and the result they end with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from core.evolution.desk import Desk
from core.evolution.events import EventName
from core.evolution.trials import Trials


def phase(desk: Desk, name: str, detail: str = "") -> None:
    """Journal the phase that the run enters, unless it is in it."""
    last = next((e for e in reversed(desk.journal.events) if e["event"] == EventName.PHASE), None)
    if last is None or (last["phase"], last.get("detail", "")) != (name, detail):
        desk.journal.append(EventName.PHASE, phase=name, detail=detail)


def follow_phase(desk: Desk, name: Callable[[], str], detail: Callable[[], str]) -> None:
    """Journal each phase of the protocol as it is entered, from now on."""
    desk.journal.watch(lambda: phase(desk, name(), detail()))


def unscored(desk: Desk) -> str:
    """Return which cells have no score and why, as the engine saw it; empty where there are none."""
    newest = {event["cell"]: event for event in desk.journal.events if event["event"] == EventName.CELL}
    failed = [event for event in newest.values() if event["state"] == "failed"]
    if not failed:
        return ""
    told = [f"{e['case_id']} run {e['run']}: {e['failure_code']}, {e['reason']}" for e in failed[:3]]
    more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
    return "Without a score: " + "; ".join(told) + more + "."


def trial_result(trials: Trials, final: Mapping[str, Any] | None, stop_reason: str = "") -> dict[str, Any]:
    """Return what a run of trials came to."""
    desk, state = trials.desk, trials.state()
    assert state.reference is not None
    assert state.baseline is not None
    first = next((e for e in desk.journal.events if e["event"] == EventName.REFERENCE), {})
    baseline = next(
        (e for e in desk.journal.events if e["event"] == EventName.HELDOUT and e["stage"] == "baseline"), None
    )
    return {
        "agent_id": desk.agent.id,
        "benchmark_id": desk.benchmark.id,
        "baseline": {"version": state.baseline.version, "score": state.baseline.score, "runs": first.get("runs", 1)},
        "rounds": [
            {
                "round": entry.candidate.round,
                "version": entry.candidate.version,
                "decision": entry.decision,
                "score": entry.candidate.score,
                "reference_score": entry.reference_score,
                "prediction": dict(entry.candidate.prediction),
                "prediction_held": entry.prediction_held,
                "supported": entry.supported,
                "hypothesis": entry.candidate.hypothesis,
                "edits": [dict(edit) for edit in entry.candidate.edits],
            }
            for entry in state.history
        ],
        "final": {"version": state.reference.version, "score": state.reference.score},
        "heldout": {
            "baseline": baseline["score"] if baseline else None,
            "final": final["score"] if final else None,
        }
        if baseline or final
        else None,
        "stop_reason": stop_reason or state.over or "",
        "paths": {"scoreboard": str(desk.benchmark.scoreboard), "report": str(desk.run.report)},
    }
