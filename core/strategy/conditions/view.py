"""What is known at one moment, as conditions see it (STRATEGY S9, S28)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from core.strategy.conditions.binding import binding
from core.strategy.conditions.functions import Complaint, host_functions
from core.strategy.conditions.memory import Memory
from core.strategy.conditions.utterance import normal

_MOST_DEPTH = 32
_GREATEST_WHOLE = 2**63 - 1


class _UnreadableError(Exception):
    pass


class View:
    """Values by path (nested mappings), the memory of what ran, and the time, frozen for one decision.

    Built once a decision: handing values to the binding costs more than every condition that looks at them. A value
    that no condition can read (not a number, not JSON) is left out, thus unknown, and named in `unreadable`. An
    `utterance` is there in its normal form, and as `utterance_raw` as it was said. Not to be shared between threads.
    """

    __slots__ = ("_context", "complaints", "memory", "now", "patterns", "unreadable", "values")

    def __init__(
        self, values: Mapping[str, Any], memory: Memory, now: datetime, patterns: Mapping[str, str] | None = None
    ) -> None:
        """Take what is known. `now` has its zone. Raises ValueError where it has none."""
        if now.tzinfo is None:
            raise ValueError("the time of a view needs its zone")
        unreadable: list[str] = []
        read = _mapping(values, "", 0, unreadable)
        if isinstance(read.get("utterance"), str):
            read.setdefault("utterance_raw", read["utterance"])
            read["utterance"] = normal(read["utterance"])
        self.values = read
        self.memory = memory
        self.now = now
        self.patterns = patterns or {}
        self.unreadable = tuple(unreadable)
        self.complaints: list[Complaint] = []
        self._context: Any = None

    @property
    def context(self) -> Any:
        """The binding's form of it, made when it is first asked for."""
        if self._context is None:
            functions = host_functions(self.memory, self.now, self.patterns, self.complaints.append)
            self._context = binding().Context(variables=self.values, functions=functions)
        return self._context

    def knows(self, parts: tuple[str | int, ...]) -> bool:
        """Return whether there is a value other than null at a path."""
        value: Any = self.values
        for part in parts:
            if isinstance(value, dict):
                value = value.get(part) if isinstance(part, str) else None
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return False
        return value is not None


def hollow(value: Any) -> Any:
    """Return true in place of a list or mapping with something in it: neither is empty, which is all that `is_empty`
    looks at, and a large result needs not be handed to the binding."""
    return True if value and isinstance(value, Mapping | list | tuple) else value


def _mapping(values: Mapping[str, Any], name: str, depth: int, unreadable: list[str]) -> dict[str, Any]:
    if depth > _MOST_DEPTH:
        raise _UnreadableError
    read: dict[str, Any] = {}
    for key, value in values.items():
        kind = type(value)
        if kind is str or kind is bool or value is None:
            read[str(key)] = value
            continue
        inner = f"{name}.{key}" if name else str(key)
        try:
            read[str(key)] = _value(value, inner, depth, unreadable)
        except _UnreadableError:
            unreadable.append(inner)
    return read


def _value(value: Any, name: str, depth: int, unreadable: list[str]) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if abs(value) > _GREATEST_WHOLE:
            raise _UnreadableError
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _UnreadableError
        return value
    if isinstance(value, Mapping):
        return _mapping(value, name, depth + 1, unreadable)
    if isinstance(value, list | tuple):
        if depth > _MOST_DEPTH:
            raise _UnreadableError
        return [_value(one, name, depth + 1, unreadable) for one in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise _UnreadableError
