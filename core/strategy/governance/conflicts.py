"""Strategies that take each other's turns: found in their conditions and in what was replayed (STRATEGY S123 to S125).

Static: a broader condition that goes first swallows a narrower one whole; that is proved, or nothing is said.
Empirical: how often A fires among the turns in which B does, P(A | B), on views that were recorded; it finds what no
proof sees, and needs enough turns. Neither is a fault by itself: what matters is who goes first.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.statistics.intervals import Interval, wilson
from core.strategy.conditions.condition import Condition
from core.strategy.conditions.containment import proved_within
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View
from core.strategy.documents.strategy import Strategy

OFTEN = 0.9
"""From this share on a replayed overlap counts as a conflict."""
LEAST = 20


@dataclass(frozen=True, slots=True)
class Held:
    """A strategy with a trigger, and its compiled condition."""

    strategy: Strategy
    condition: Condition


@dataclass(frozen=True, slots=True)
class Conflict:
    """`swallowed` hardly ever gets a turn, because `by` fires wherever it does and goes first.

    `how` is "proved" for the static finding, "replayed" for the empirical one, with `share` = P(by fires | swallowed
    fires), its 95 % interval and the number of turns. `fixes` are the changes that settle it, one of which is enough.
    """

    swallowed: str
    by: str
    how: Literal["proved", "replayed"]
    share: float | None
    interval: Interval | None
    turns: int
    fixes: tuple[str, ...]


def first(a: Strategy, b: Strategy) -> Strategy | None:
    """Return which of two goes first where both fire, by explicit rule, then by priority; None where neither settles
    it (then the narrower condition does).
    """
    if b.id in a.conflict_resolution.overrides or a.id in b.conflict_resolution.yields_to:
        return a
    if a.id in b.conflict_resolution.overrides or b.id in a.conflict_resolution.yields_to:
        return b
    left, right = a.conflict_resolution.priority, b.conflict_resolution.priority
    return a if left > right else b if right > left else None


def static(held: Iterable[Held]) -> tuple[Conflict, ...]:
    """Return the conflicts that conditions prove: `by` is true wherever `swallowed` is, and goes first (S123)."""
    found = []
    for a, b in _pairs(held):
        for broad, narrow in ((a, b), (b, a)):
            winner = first(broad.strategy, narrow.strategy)
            if winner is broad.strategy and proved_within(narrow.condition, broad.condition):
                fixes = _fixes(narrow.strategy, broad.strategy)
                found.append(Conflict(narrow.strategy.id, broad.strategy.id, "proved", None, None, 0, fixes))
    return tuple(sorted(found, key=lambda one: (one.swallowed, one.by)))


def replay(held: Iterable[Held], views: Iterable[View]) -> tuple[frozenset[str], ...]:
    """Return for each recorded view which strategies' conditions are true in it."""
    held = list(held)
    return tuple(
        frozenset(one.strategy.id for one in held if one.condition.judge(view).truth is Truth.TRUE) for view in views
    )


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of `turns` turns in which `given` fired, in how many `fires` did too."""

    fires: str
    given: str
    both: int
    turns: int

    @property
    def share(self) -> float:
        """P(fires | given)."""
        return self.both / self.turns


def overlaps(firings: Iterable[frozenset[str]]) -> tuple[Overlap, ...]:
    """Return P(A | B) of every pair that ever fired together, the largest first."""
    single: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for fired in firings:
        single.update(fired)
        pairs.update(itertools.permutations(sorted(fired), 2))
    found = [Overlap(a, b, both, single[b]) for (a, b), both in pairs.items()]
    return tuple(sorted(found, key=lambda one: (-one.share, one.fires, one.given)))


def empirical(
    held: Iterable[Held], firings: Sequence[frozenset[str]], *, often: float = OFTEN, least: int = LEAST
) -> tuple[Conflict, ...]:
    """Return the conflicts that replayed turns show: in at least `least` turns of `swallowed`, `by` fired in a share of
    `often` and more, on the same event, and goes first.
    """
    known = {one.strategy.id: one.strategy for one in held}
    found = []
    for one in overlaps(firings):
        a, b = known.get(one.fires), known.get(one.given)
        if a is None or b is None or one.turns < least or one.share < often or not _same_event(a, b):
            continue
        if first(a, b) is a:
            interval = wilson(one.both, one.turns)
            found.append(Conflict(b.id, a.id, "replayed", one.share, interval, one.turns, _fixes(b, a)))
    return tuple(sorted(found, key=lambda one: (one.swallowed, one.by)))


def rate(firings: Sequence[frozenset[str]], conflicts: Iterable[Conflict]) -> float | None:
    """Return the share of turns in which a swallowed strategy lost its turn; None without turns."""
    pairs: Mapping[str, set[str]] = _by_swallowed(conflicts)
    lost = sum(any(name in fired and others & fired for name, others in pairs.items()) for fired in firings)
    return lost / len(firings) if firings else None


def _by_swallowed(conflicts: Iterable[Conflict]) -> dict[str, set[str]]:
    pairs: dict[str, set[str]] = {}
    for one in conflicts:
        pairs.setdefault(one.swallowed, set()).add(one.by)
    return pairs


def _pairs(held: Iterable[Held]) -> Iterable[tuple[Held, Held]]:
    by_event: dict[str, list[Held]] = {}
    for one in held:
        if one.strategy.trigger is not None:
            by_event.setdefault(one.strategy.trigger.event, []).append(one)
    for group in by_event.values():
        yield from itertools.combinations(group, 2)


def _same_event(a: Strategy, b: Strategy) -> bool:
    return a.trigger is not None and b.trigger is not None and a.trigger.event == b.trigger.event


def _fixes(swallowed: Strategy, by: Strategy) -> tuple[str, ...]:
    """The two ways out: weights (S124) and an explicit rule (S125). A rule that says the contrary must go first."""
    wanted = by.conflict_resolution.priority + 1
    contrary = swallowed.id in by.conflict_resolution.overrides or by.id in swallowed.conflict_resolution.yields_to
    weight = f"{swallowed.id}: conflict_resolution.priority: {wanted}"
    rule = f"{swallowed.id}: conflict_resolution.overrides: [{by.id}]"
    if contrary:
        return (f"take {swallowed.id} out of {by.id}'s overrides (and yields_to the other way round), then {rule}",)
    return (weight, rule) if wanted <= 100 else (rule,)
