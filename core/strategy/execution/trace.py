"""The decision trace: what was decided and why, without a time in it, so that the same inputs give the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def canonical(value: Any) -> str:
    """Return `value` as JSON in the one form that equal values share: keys sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=str)


def fingerprint(value: Any) -> str:
    """Return 16 hex digits that stand for `value`."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class DecisionTrace:
    """What was decided in a turn, in order (S91). Each event is a plain mapping with the key `event`.

    Branches that ran at the same time stand one after the other, as in the plan, whichever ended first.
    """

    events: tuple[Mapping[str, Any], ...]

    def to_bytes(self) -> bytes:
        """Return canonical JSON lines."""
        return "".join(canonical(event) + "\n" for event in self.events).encode()

    @property
    def sha256(self) -> str:
        """The hash of its bytes: equal for equal decisions."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def of(self, *kinds: str) -> tuple[Mapping[str, Any], ...]:
        """Return the events of those kinds."""
        return tuple(event for event in self.events if event["event"] in kinds)


class Recorder:
    """Collects events. `branch` gives a recorder whose events come in where it was made, when `join` is called."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []

    def say(self, event: str, **told: Any) -> None:
        """Add an event; None and empty values are left out."""
        self.events.append({"event": event, **{key: value for key, value in told.items() if value not in _NOTHING}})

    def join(self, branch: Recorder) -> None:
        """Add what a branch recorded."""
        self.events += branch.events

    def trace(self) -> DecisionTrace:
        """Return what was recorded so far."""
        return DecisionTrace(tuple(self.events))


_NOTHING: tuple[Any, ...] = (None, "", (), [], {})
