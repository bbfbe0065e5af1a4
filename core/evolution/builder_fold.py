"""The pure fold that makes a Builder's state from the journal, event by event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.evolution.builder_state import (
    BuilderState,
    CaseHashes,
    CasePlan,
    Pilot,
    Prediction,
    RejectedPilot,
    Review,
    Score,
)
from core.evolution.events import Event, EventName
from core.evolution.verdict import SeparatingPrediction


def _hashes(fields: Mapping[str, Any]) -> CaseHashes:
    return CaseHashes(fields["statement"], fields["rubric"], fields.get("standard"))


def _contract(state: BuilderState, event: Event) -> BuilderState:
    held_out = set(event.get("held_out", ()))
    designs = {str(case["case_id"]): case for case in event.get("cases", ())}
    plans = tuple(
        CasePlan(case_id, case_id in held_out, designs.get(case_id, {})) for case_id in event["planned_cases"]
    )
    return replace(state, plans=plans, contract=event)


def _revision(state: BuilderState, event: Event) -> BuilderState:
    hashes = {case: _hashes(fields) for case, fields in event["hashes"].items()}
    changed = set(event["changed"])
    restated = tuple(event.get("restated_standards", ()))
    voided = {item["case_id"] for item in restated}
    pilots = state.pilots
    if voided:  # a standard that changes after a dispatch takes back what was measured by it
        pilots = tuple(replace(p, valid=False) if voided & set(p.hashes) else p for p in pilots)
    if event["kind"] == "repair":
        # A repaired measured Case takes its pilot's result back; a repaired held-out one leaves it as it is.
        measured = bool(changed & set(state.measured))
        pilots = tuple(
            p if p.i != event["pilot"] else replace(p, valid=False) if measured else replace(p, hashes=hashes)
            for p in pilots
        )
    shared = dict(state.shared)
    for item in event.get("shared_material", ()):
        shared[item["case_id"]] = (*shared.get(item["case_id"], ()), item)
    return replace(
        state,
        revision=event["revision"],
        pilot=max(state.pilot, event["pilot"]),
        current=event["pilot"],
        hashes=hashes,
        submitted=event,
        findings={case: tuple(found) for case, found in event.get("findings", {}).items()},
        standards={case: h for case, h in state.standards.items() if case not in voided},
        restated=(*state.restated, *restated),
        shared=shared,
        scores={case: score for case, score in state.scores.items() if case not in voided},
        failed={case: code for case, code in state.failed.items() if case not in changed},
        affected=state.affected | changed,
        pilots=pilots,
        rejection=None,
        approval_id=None,
    )


def _prediction(state: BuilderState, event: Event) -> BuilderState:
    case = event["case_id"]
    if case not in state.hashes:
        return state
    prediction = Prediction(
        state.hashes[case],
        SeparatingPrediction(event["score_if_observed"], event["score_if_desired"]),
        event["affected_points"],
    )
    return replace(state, predictions={**state.predictions, case: prediction})


def _review(state: BuilderState, event: Event) -> BuilderState:
    case = event["case_id"]
    if case not in state.hashes or event["revision"] != state.revision:
        return state
    review = Review(
        state.hashes[case], event["revision"], event["clean"], tuple(event.get("open", ())), tuple(event["waivers"])
    )
    if event["scope"] == "freeze":
        return replace(state, freeze_reviews={**state.freeze_reviews, case: review})
    return replace(state, reviews={**state.reviews, case: review})


def _dispatch(state: BuilderState, event: Event) -> BuilderState:
    repair = event.get("repair") or ""
    return replace(
        state,
        version=event["version"],
        state_hash=event["state_hash"],
        # A standard counts from the first dispatch that has one; until then there is nothing to keep.
        standards={**{case: h for case, h in event["standards"].items() if h is not None}, **state.standards},
        repairs=(*state.repairs, repair) if repair else state.repairs,
        # failed Cases are tried again now; what they failed with before is history
        failed={},
    )


def _cell(state: BuilderState, event: Event) -> BuilderState:
    case = event["case_id"]
    if event.get("stage") != "pilot" or case not in state.hashes:
        return state
    if event["state"] == "failed":
        return replace(state, failed={**state.failed, case: event.get("failure_code") or "evaluation_failed"})
    if event["state"] != "scored":
        return state
    score = Score(
        event["cell"],
        state.hashes[case],
        event["version"],
        event["score"],
        event.get("cost"),
        event["duration_ms"],
        event["session_id"],
        event.get("evaluator_session_id"),
    )
    failed = {name: code for name, code in state.failed.items() if name != case}
    return replace(state, scores={**state.scores, case: score}, failed=failed)


def _pilot(state: BuilderState, event: Event) -> BuilderState:
    pilot = Pilot(
        event["i"],
        event["revision"],
        event["score"],
        event["predicted"],
        event["observed"],
        event["missed"],
        dict(state.hashes),
        {case: state.scores[case] for case in state.measured},
        str(state.submitted.get("note", "")),
        str(state.submitted.get("diagnosis") or ""),
        str(state.submitted.get("adjustment") or ""),
    )
    others = tuple(p for p in state.pilots if p.i != pilot.i)
    pilots = tuple(sorted((*others, pilot), key=lambda p: p.i))
    return replace(state, pilots=pilots, affected=frozenset(), repairs=())


def _lowest_restored(state: BuilderState, event: Event) -> BuilderState:
    pilot = next(p for p in state.pilots if p.i == event["pilot"])
    return replace(
        state,
        revision=event["revision"],
        current=pilot.i,
        hashes=pilot.hashes,
        standards={case: h.standard for case, h in pilot.hashes.items() if h.standard is not None},
        scores={**state.scores, **pilot.scores},
        failed={},
        affected=frozenset(),
        rejection=None,
    )


def _decided(state: BuilderState, event: Event) -> BuilderState:
    if event["decision"] == "approve":
        return replace(state, approval_id=None, rejection=None)
    reason = event.get("reason") or "no reason given"
    present = state.present_pilot
    gone = (RejectedPilot(present, reason),) if present is not None else ()
    return replace(state, approval_id=None, rejection=reason, rejected=(*state.rejected, *gone))


def apply(state: BuilderState, event: Event) -> BuilderState:
    """Return the state after `event`; events of no concern to the protocol change nothing."""
    match event["event"]:
        case EventName.AGENT:
            return replace(state, agent_ready=True)
        case EventName.CONTRACT:
            return _contract(state, event)
        case EventName.REVISION:
            return _revision(state, event)
        case EventName.PREDICTION:
            return _prediction(state, event)
        case EventName.REVIEW:
            return _review(state, event)
        case EventName.DISPATCH:
            return _dispatch(state, event)
        case EventName.CELL:
            return _cell(state, event)
        case EventName.PILOT:
            return _pilot(state, event)
        case EventName.LOWEST:
            return replace(state, lowest=event["pilot"])
        case EventName.LOWEST_RESTORED:
            return _lowest_restored(state, event)
        case EventName.FLOOR:
            return replace(state, floors=event["floors"], floors_of=event["revision"])
        case EventName.APPROVAL_REQUESTED:
            return replace(state, approval_id=event["approval_id"])
        case EventName.APPROVAL_DECIDED:
            return _decided(state, event)
        case EventName.FROZEN:
            return replace(state, frozen=event["pilot"])
        case EventName.BASELINE:
            return replace(state, baseline=event)
        case EventName.STOP_REQUESTED:
            return replace(state, stop_reason=event["reason"])
        case EventName.RUN_RESUMED:  # the operator wants it to go on, whatever the role gave up for
            return replace(state, stop_reason=None)
        case _:
            return state
