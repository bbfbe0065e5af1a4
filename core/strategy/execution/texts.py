"""A body as JSON in which what did not change since the last time is not written out again.

A write makes a new body that shares all but what it changed with the one before, so a part that is the same object has
the same text. A session that knows the results of 40 skills would otherwise pay for all of them at every node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.foundation import strict_json

_DEEP = 3
"""Levels whose parts are kept: the body, its values, the results by skill."""


class Texts:
    """The texts of one session's parts. Invariant: a kept text is that of the very object that is kept with it."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, str]] = {}
        self._next: dict[int, tuple[Any, str]] = {}

    def of(self, body: Mapping[str, Any]) -> str:
        """Return the body as JSON. Raises ValueError or TypeError for what JSON hasn't."""
        self._next = {}
        text = self._text(body, _DEEP)
        self._kept = self._next
        return text

    def _text(self, value: Any, deep: int) -> str:
        if not isinstance(value, dict | list):
            return strict_json.dumps(value)
        held = self._kept.get(id(value))
        if held is None or held[0] is not value:
            if deep and isinstance(value, dict):
                parts = (f"{strict_json.dumps(str(key))}:{self._text(item, deep - 1)}" for key, item in value.items())
                held = (value, "{" + ",".join(parts) + "}")
            else:
                held = (value, strict_json.dumps(value))
        elif deep and isinstance(value, dict):
            self._keep_below(value, deep - 1)
        self._next[id(value)] = held
        return held[1]

    def _keep_below(self, value: dict[str, Any], deep: int) -> None:
        """Keep the texts of what lies in a part that didn't change: the next change may be in there."""
        for item in value.values():
            held = self._kept.get(id(item)) if isinstance(item, dict | list) else None
            if held is not None and held[0] is item:
                self._next[id(item)] = held
                if deep and isinstance(item, dict):
                    self._keep_below(item, deep - 1)
