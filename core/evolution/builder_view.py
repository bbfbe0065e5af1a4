"""What a Builder is told of where it stands: the `state` of every answer, and which tools may succeed now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.evolution.builder_state import BuilderState, Pilot


def pilot_row(pilot: Pilot, *, frozen: bool = False) -> dict[str, Any]:
    """Return a pilot as answers, approvals and reports carry it."""
    return {
        "i": pilot.i,
        "score": pilot.score,
        "predicted": pilot.predicted,
        "observed": pilot.observed,
        "missed": pilot.missed,
        "frozen": frozen,
        "valid": pilot.valid,
    }


def next_tools(state: BuilderState) -> tuple[str, ...]:
    """Return the tools that may succeed now, besides those that read and write files."""
    phase = state.phase
    if phase == "report":
        return ()
    if phase == "agent":
        return ("create_agent", "stop_run")
    if phase == "contract":
        return ("declare_contract", "stop_run")
    if phase == "baseline":
        return ("record_baseline", "stop_run")
    tools: list[str] = []
    present, lowest = state.present_pilot, state.lowest_pilot
    if phase in {"drafting", "review", "pilot"} or state.defects:
        tools.append("submit_revision")
    if phase == "review":
        tools.append("record_review")
    if phase == "pilot":
        tools.append("dispatch")
    if lowest is not None and present is not lowest and state.lowest == lowest.i:
        tools.append("restore_lowest")
    if present is not None and present is lowest and state.rejection is None:
        tools += ["request_freeze"] if not state.unfrozen else ["record_review"]
    return (*dict.fromkeys(tools), "stop_run")


def view(state: BuilderState, paths: Mapping[str, str], agent_id: str, benchmark_id: str) -> dict[str, Any]:
    """Return the state as the Builder reads it."""
    lowest = state.lowest_pilot
    return {
        "phase": state.phase,
        "pilot": state.pilot,
        "pilot_limit": state.limits.pilots,
        "baseline_wanted": state.limits.baseline_wanted,
        "cases": [
            {
                "case_id": plan.case_id,
                "state": state.case_state(plan.case_id),
                "held_out": plan.held_out,
                "score": score.score if (score := state.scores.get(plan.case_id)) else None,
            }
            for plan in state.plans
        ],
        "pilots": [pilot_row(pilot, frozen=pilot.i == state.frozen) for pilot in state.pilots],
        "lowest_pilot": lowest.i if lowest else None,
        "paths": dict(paths),
        "agent_id": agent_id,
        "benchmark_id": benchmark_id,
        "next": list(next_tools(state)),
    }
