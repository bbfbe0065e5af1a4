"""What an Optimizer is told of where it stands, and which sessions it may look into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.evolution.optimizer_state import Candidate, OptimizerState, Reference


def next_tools(state: OptimizerState) -> tuple[str, ...]:
    """Return the tools that may succeed now, besides those that read."""
    if state.stop_reason is not None or state.reference is None:
        return ()
    if state.candidate is not None:
        if not state.candidate.measured:
            return ("evaluate_candidate", "stop_run")
        return ("decide", "stop_run")
    return () if state.over else ("propose_candidate", "stop_run")


def visible_sessions(state: OptimizerState) -> frozenset[str]:
    """Return the Target sessions behind scores of this run: Reference, Candidates, rejected ones too (no. 60)."""
    candidates = [entry.candidate for entry in state.history] + ([state.candidate] if state.candidate else [])
    sessions = {cell.session_id for candidate in candidates for cell in candidate.cells.values() if cell.session_id}
    for reference in (state.baseline, state.reference):
        if reference is not None:
            sessions |= {run.session_id for runs in reference.cases.values() for run in runs}
    return frozenset(sessions)


def _reference(reference: Reference) -> dict[str, Any]:
    scores = reference.case_scores()
    return {
        "version": reference.version,
        "score": reference.score,
        "cases": [
            {
                "case_id": case_id,
                "score": scores[case_id],
                "runs": [{"score": run.score, "session_id": run.session_id} for run in runs],
            }
            for case_id, runs in reference.cases.items()
        ],
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "version": candidate.version,
        "round": candidate.round,
        "hypothesis": candidate.hypothesis,
        "prediction": dict(candidate.prediction),
        "edits": [dict(edit) for edit in candidate.edits],
        "evaluated": candidate.measured,
        "score": candidate.score,
    }


def view(state: OptimizerState, paths: Mapping[str, str], agent_id: str, benchmark_id: str) -> dict[str, Any]:
    """Return the state as the Optimizer reads it."""
    return {
        "phase": state.phase,
        "reference": _reference(state.reference) if state.reference else None,
        "candidate": _candidate(state.candidate) if state.candidate else None,
        "round": state.round,
        "rounds_done": state.rounds_done,
        "round_limit": state.goal.rounds,
        "target_score": state.goal.target_score,
        "runs": state.goal.runs,
        "history": [
            {
                "round": entry.candidate.round,
                "version": entry.candidate.version,
                "decision": entry.decision,
                "score": entry.candidate.score,
                "reference_score": entry.reference_score,
                "hypothesis": entry.candidate.hypothesis,
                "edits": [dict(edit) for edit in entry.candidate.edits],
                "supported": entry.supported,
                "prediction_held": entry.prediction_held,
            }
            for entry in state.history
        ],
        "over": state.over,
        "paths": dict(paths),
        "agent_id": agent_id,
        "benchmark_id": benchmark_id,
        "next": list(next_tools(state)),
    }
