"""What each journal event must hold to be one: the fields that folds read, and what may stand in them.

A journal may have been hit by a crash, a bad disk or an editor. An event that lacks a field or holds something else
there (a score that is true or NaN, a list for a name) is a damaged line like one that is no JSON: it is counted and
shown, and no fold ever meets it (FAULTS: stop-at-first-error, non-finite values, bool-as-number).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from core.foundation.clock import IDENTIFIER
from core.foundation.strict_json import is_number

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _id(value: Any) -> bool:
    return isinstance(value, str) and IDENTIFIER.fullmatch(value) is not None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return is_number(value)


def _score(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 100


def _amount(value: Any) -> bool:
    return is_number(value) and value >= 0


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _some(check: Check) -> Check:
    """Return a check that lets null through: nothing is known."""
    return lambda value: value is None or check(value)


def _each(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(check(item) for item in value)


def _all_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(check(item) for item in value.values())


def _like(fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check for a mapping that has `fields`, and `optional` ones only as they should be."""
    may = optional or {}
    return lambda value: (
        isinstance(value, dict)
        and all(name in value and check(value[name]) for name, check in fields.items())
        and all(check(value[name]) for name, check in may.items() if name in value)
    )


_of_case = {"case_id": _text}
_HASHES = _like({"statement": _text, "rubric": _text}, {"standard": _some(_text)})
_RUN = _like({"score": _score, "session_id": _id})
_EDIT = _like({"kind": _text, "path": _text, "added": _whole, "removed": _whole})
_EXPECTED = _like({**_of_case, "expected_score": _score})
_PREDICTION = _like({}, {"overall": _text, "cases": _each(_EXPECTED)})

_REQUIRED: Mapping[str, Mapping[str, Check]] = {
    "run_started": {"pid": _whole, "spec": _mapping},
    "run_resumed": {"pid": _whole},
    "phase": {"phase": _text},
    "session": {"role": _text, "session_id": _id},
    "intent": {"call_id": _text, "tool": _text},
    "agent": {"agent_id": _id},
    "contract": {"planned_cases": _each(_text)},
    "revision": {
        "revision": _whole,
        "pilot": _whole,
        "kind": _text,
        "changed": _each(_text),
        "hashes": _all_of(_HASHES),
    },
    "prediction": {
        **_of_case,
        "pilot": _whole,
        "score_if_observed": _score,
        "score_if_desired": _score,
        "affected_points": _number,
    },
    "review": {**_of_case, "scope": _text, "revision": _whole, "clean": _flag, "waivers": _each(_mapping)},
    "dispatch": {"version": _whole, "state_hash": _text, "standards": _all_of(_some(_text))},
    "cell": {
        **_of_case,
        "cell": _text,
        "run": _whole,
        "version": _whole,
        "stage": _text,
        "index": _whole,
        "state": _text,
    },
    "target_started": {"cell": _text, "session_id": _id, "workspace": _text, "trace": _text},
    "target_finished": {"cell": _text, "session_id": _id, "workspace": _text, "trace": _text},
    "target_failed": {"cell": _text, "session_id": _id},
    "pilot": {
        "i": _whole,
        "revision": _whole,
        "score": _score,
        "predicted": _score,
        "observed": _score,
        "missed": _flag,
    },
    "lowest": {"pilot": _whole},
    "lowest_restored": {"pilot": _whole, "revision": _whole},
    "floor": {"revision": _whole, "floors": _all_of(_score)},
    "approval_requested": {"approval_id": _id},
    "approval_decided": {"approval_id": _id, "decision": _text},
    "asked": {"approval_id": _id, "kind": _text, "session_id": _id, "call_id": _text, "title": _text},
    "answered": {"approval_id": _id, "kind": _text, "verdict": _text, "actor": _text},
    "told": {"session_id": _id, "word": _text, "text": _text, "actor": _text},
    "frozen": {"pilot": _whole},
    "baseline": {"version": _whole, "score": _score},
    "reference": {
        "version": _whole,
        "score": _score,
        "state_hash": _text,
        "cases": _each(_like({**_of_case, "runs": _each(_RUN)})),
    },
    "curator": {"name": _text},
    "chosen": {"batch": _whole, "sessions": _each(_id)},
    "operation": {
        "batch": _whole,
        "about": _id,
        "session_id": _id,
        "call_id": _text,
        "op": _text,
        "title": _text,
        "arguments": _some(_mapping),
        "valid": _flag,
    },
    "curated": {"batch": _whole, "about": _id, "session_id": _id},
    "passed": {"batch": _whole, "reason": _text},
    "candidate": {
        "round": _whole,
        "version": _whole,
        "reference_version": _whole,
        "edits": _each(_EDIT),
        "hypothesis": _text,
        "prediction": _PREDICTION,
        "digest": _text,
        "state_hash": _text,
    },
    "evaluated": {"version": _whole, "complete": _flag, "score": _some(_score)},
    "decision": {
        "round": _whole,
        "version": _whole,
        "decision": _text,
        "score": _some(_score),
        "reference_score": _some(_score),
    },
    "restored": {"version": _whole, "state_hash": _text},
    "heldout": {"stage": _text, "version": _whole, "score": _some(_score)},
    "tool_result": {"call_id": _text, "output": _text},
    "spent": {"usd": _amount, "unknown_requests": _whole, "tokens": _whole},
    "granted": {"usd": _amount, "tokens": _whole, "seconds": _amount},
    "stop_requested": {"reason": _text},
    "blocked": {"reason": _text},
    "failed": {"reason": _text},
    "finished": {"result": _mapping},
}

_OPTIONAL: Mapping[str, Check] = {
    "attempt": _whole,
    "actor": _text,
    "agent_id": _some(_id),
    "call_id": _text,
    "cases": lambda value: isinstance(value, list | dict),
    "cost": _some(_amount),
    "detail": _some(_text),
    "diagnosis": _some(_text),
    "adjustment": _some(_text),
    "duration_ms": _some(_whole),
    "evaluator_session_id": _some(_id),
    "failure_code": _some(_text),
    "findings": _all_of(_each(_mapping)),
    "held_out": _each(_text),
    "note": _some(_text),
    "open": _each(lambda value: True),
    "prediction_held": _some(_flag),
    "reason": _some(_text),
    "repair": _some(_text),
    "reported_cost": _some(_amount),
    "reused_from": _some(_text),
    "score": _some(_score),
    "seconds": _amount,
    "sent": _text,
    "signature": _text,
    "session_id": _some(_id),
    "shared_material": _each(_like(_of_case)),
    "restated_standards": _each(_like(_of_case)),
    "supported": _some(_flag),
    "trace": _text,
    "workspace": _text,
}
"""Fields that an event may have; where it has one, this is what stands in it."""

_OF_SCORED_CELL: Mapping[str, Check] = {
    **_REQUIRED["cell"],
    "score": _score,
    "duration_ms": _whole,
    "session_id": _id,
}


def problem(record: object) -> str | None:
    """Return why `record` is no event, or None. An event of a name that we don't know needs a time alone."""
    if not isinstance(record, dict):
        return "not a JSON object"
    name = record.get("event")
    if not isinstance(name, str) or not isinstance(record.get("time"), str):
        return "no event with a time"
    required = _REQUIRED.get(name)
    if required is None:
        return None
    if name == "cell" and record.get("state") in ("scored", "reused"):
        required = _OF_SCORED_CELL
    for field, check in required.items():
        if field not in record or not check(record[field]):
            return f"{name}: {field} is missing or not what it should be"
    for field in _OPTIONAL.keys() & record.keys():
        if field not in required and not _OPTIONAL[field](record[field]):
            return f"{name}: {field} is not what it should be"
    return None
