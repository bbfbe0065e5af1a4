"""Lines of the records, checked both ways: every field there, of its type, none else, and nothing that can't be.

A confined process writes such lines too, and what it writes is not believed: an id is part of a file's name, a time is
reckoned with, a text of a million characters is shown on a board.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.foundation import strict_json
from core.strategy.bank.states import moment
from core.strategy.documents.model import MOST_VERSIONS, is_id

_LONGEST = 400
"""Characters of a code, a step or a name of a session: more than any of ours has."""
_MOST = 1e12
_IDS = frozenset({"strategy_id"})
_VERSIONS = frozenset({"version", "old_version", "new_version"})
_AMOUNTS = frozenset({"turn", "latency_ms", "latency_old", "latency_new", "skill_calls", "branches"})
_SHORT = frozenset({"session", "code", "code_old", "code_new", "event", "kind", "strategy", "call_id", "agent"})
_SHORT_LISTS = frozenset({"execution_path", "fallbacks", "completed", "missed", "withheld"})


class Schema:
    """What a line of one kind (a dataclass) must be."""

    def __init__(self, kind: type) -> None:
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        self._keys = frozenset(field.name for field in fields(kind))

    def fault_of(self, record: Any, what: str) -> str:
        """Return what is wrong with a record, "" for a good one; `what` is its kind in words."""
        if not isinstance(record, dict):
            return "is no object"
        strange = sorted(str(key)[:_LONGEST] for key in record.keys() - self._keys)
        if strange:
            return f"{strange[0]}: is no field of {what}"
        try:
            self._adapter.validate_json(strict_json.dumps(record), strict=True)
            moment(record["time"])
        except ValidationError as error:
            first = error.errors()[0]
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        except RecursionError:
            return "is nested too deep"
        except (ValueError, TypeError, KeyError) as error:
            return f"time: {error}"
        return next((found for key, value in record.items() if (found := _impossible(key, value))), "")


def _impossible(key: str, value: Any) -> str:
    """Return why a value of the right type can't be, "" where it can. None is "not known", and may be anywhere."""
    if value is None:
        return ""
    if key in _IDS and not is_id(value):
        return f"{key}: is no id of a strategy"
    if key in _VERSIONS and not 1 <= value <= MOST_VERSIONS:
        return f"{key}: is no number of a version"
    if key in _AMOUNTS and value < 0:
        return f"{key}: is below 0"
    if key in _AMOUNTS and value > _MOST:
        return f"{key}: is larger than any of ours"
    if key in _SHORT and len(value) > _LONGEST:
        return f"{key}: is longer than {_LONGEST} characters"
    if key in _SHORT_LISTS and any(len(one) > _LONGEST for one in value):
        return f"{key}: holds a text longer than {_LONGEST} characters"
    return ""
