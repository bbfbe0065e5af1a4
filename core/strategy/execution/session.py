"""A session as the executor sees it: values, what ran before, which way a question went, what was asked (S84, S122)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.strategy.conditions.memory import Memory, Past
from core.strategy.execution.store import Context, Scratch

_KEPT_PAST = 200
_KEPT_ROUTES = 100


@dataclass(slots=True)
class SessionState:
    """One session over its store. `user` are the attributes of who speaks: id, device, business_line and others.

    The store's body holds `turn`, `values` (nested, what conditions see), `past` (executions of skills), `routes`
    (utterance in its normal form, strategy that was used) and `pending` (a question that waits for its answer).
    """

    id: str
    store: Context
    user: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> Mapping[str, Any]:
        """What the store has of it at this moment."""
        return self.store.read(self.id).body

    @property
    def turn(self) -> int:
        """The number of the turn that is or was last under way, 0 before the first."""
        return int(self.body.get("turn", 0))

    def values(self) -> Mapping[str, Any]:
        """Return the context's values at this moment (S28)."""
        found: Mapping[str, Any] = self.body.get("values", {})
        return found

    def put(self, values: Mapping[str, Any]) -> None:
        """Set values of the context by path, as from a system outside or from a conversation's summary."""
        self.store.write(self.id, {f"values.{path}": value for path, value in values.items()})

    def memory(self) -> Memory:
        """Return what conditions may ask about the past."""
        body = self.body
        past = tuple(Past(turn, skill, ok, code) for turn, skill, ok, code in body.get("past", ()))
        return Memory(past, int(body.get("turn", 0)), stability(body.get("routes", ())))

    def remember(self, ran: Iterable[Past], route: tuple[str, str] | None) -> None:
        """Keep what ran in this turn, and which strategy a question was answered by."""
        body = self.body
        past = [*body.get("past", ()), *([one.turn, one.skill, one.ok, one.code] for one in ran)]
        routes = [*body.get("routes", ()), *([list(route)] if route else ())]
        self.store.write(self.id, {"past": past[-_KEPT_PAST:], "routes": routes[-_KEPT_ROUTES:]})

    def first_route(self, utterance: str) -> str | None:
        """Return the strategy that answered this utterance (in its normal form) first, None where none did."""
        return next((strategy for said, strategy in self.body.get("routes", ()) if said == utterance), None)

    def scratch(self) -> SessionState:
        """Return a copy whose changes nobody sees, for a dry run."""
        return SessionState(self.id, Scratch(self.store.read(self.id), self.store.breakers), self.user)


def stability(routes: Iterable[tuple[str, str] | list[str]]) -> float | None:
    """Return how steadily equal questions went the same way, from 0 to 1 (S122). Pure.

    It is the share of repeated utterances that took the way which the same utterance took the time before; None where
    nothing was said twice.
    """
    last: dict[str, str] = {}
    same = repeats = 0
    for said, strategy in routes:
        if said in last:
            repeats += 1
            same += last[said] == strategy
        last[said] = strategy
    return same / repeats if repeats else None
