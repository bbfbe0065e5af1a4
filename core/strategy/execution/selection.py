"""Which of the strategies that fired is used. Pure (S7, S124, S125)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

Reason = Literal["alone", "overrides", "priority", "specificity", "newest", "tie"]


@dataclass(frozen=True, slots=True)
class Rival:
    """A strategy that fired. `since` is when it came into force, ISO 8601 in UTC, "" for always."""

    id: str
    version: int
    priority: int = 50
    since: str = ""
    overrides: Collection[str] = ()
    yields_to: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Who is used and by which rule; `beaten` are the others, sorted by id."""

    winner: str
    reason: Reason
    beaten: tuple[str, ...]


Wider = Callable[[str, str], bool]
"""Whether the first strategy's condition is proved to hold wherever the second's does, and not the other way round."""


def choose(fired: Sequence[Rival], wider: Wider) -> Choice:
    """Return the one of `fired` (at least one) that is used; the order in which they are given does not matter.

    In turn: overrides and yields_to (a cycle is refused when the bank is compiled), priority, the narrower of two
    conditions where that is proved, the newest version. What is then still equal is told as a tie and decided by id;
    ties between equal conditions are refused when the bank is compiled.
    """
    left = sorted(fired, key=lambda rival: rival.id)
    reason: Reason = "alone"
    steps: tuple[tuple[Reason, Callable[[list[Rival]], list[Rival]]], ...] = (
        ("overrides", _not_overridden),
        ("priority", lambda some: _highest(some, lambda rival: (rival.priority,))),
        ("specificity", lambda some: [a for a in some if not any(a is not b and wider(a.id, b.id) for b in some)]),
        ("newest", lambda some: _highest(some, lambda rival: (rival.since, rival.version))),
        ("tie", lambda some: some[:1]),
    )
    for name, narrow in steps:
        if len(left) == 1:
            break
        kept = narrow(left) or left
        if len(kept) < len(left):
            left, reason = kept, name
    winner = left[0].id
    return Choice(winner, reason, tuple(sorted({rival.id for rival in fired} - {winner})))


def beats(one: Rival, other: Rival) -> bool:
    """Tell whether the two are related by a rule that somebody wrote, in favour of the first."""
    return other.id in one.overrides or one.id in other.yields_to


def _not_overridden(some: list[Rival]) -> list[Rival]:
    there = {rival.id for rival in some}
    overridden = {name for rival in some for name in rival.overrides}
    return [rival for rival in some if rival.id not in overridden and there.isdisjoint(rival.yields_to)]


def _highest(some: list[Rival], key: Callable[[Rival], tuple[str | int, ...]]) -> list[Rival]:
    top = max(key(rival) for rival in some)
    return [rival for rival in some if key(rival) == top]
