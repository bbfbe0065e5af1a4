"""Whether one condition swallows another, and whether two can hold at once (STRATEGY S123).

Proofs are by the normal form, which allows for more than can happen: "yes, it is contained" and "they never hold at
once" are certain. The other two answers are given only with an example, on which both conditions have been asked. Where
neither is found the answer is None: unknown, for example when a pattern or the order of two texts decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from core.strategy.conditions.condition import Condition
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.normalform import (
    Conjunct,
    TooLargeError,
    Want,
    alternatives,
    exclusive,
    phrase_of,
    product,
)
from core.strategy.conditions.tree import Call, Literal, Path
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.utterance import normal
from core.strategy.conditions.valueset import ValueSet, sample
from core.strategy.conditions.view import View

_MOST_EXAMPLES = 16
_NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer and, where it is one that an example shows, the example: the values of a context, nested."""

    answer: bool | None
    example: Mapping[str, Any] | None = None


def contains(a: Condition, b: Condition) -> bool | None:
    """Return whether `a` is true wherever `b` is true: `a`'s trigger fully contains `b`'s. None if that stays open."""
    return containment(a, b).answer


def containment(a: Condition, b: Condition) -> Finding:
    """Return the answer of `contains`; "no" with a context in which `b` is true and `a` is not."""
    try:
        left = product(alternatives(b.tree, Want.TRUE), alternatives(a.tree, Want.NOT_TRUE))
    except TooLargeError:
        return Finding(None)
    if not left:
        return Finding(True)
    example = _example(left, lambda view: _true(b, view) and not _true(a, view))
    return Finding(None if example is None else False, example)


def proved_within(b: Condition, a: Condition) -> bool:
    """Return whether it is proved that `a` contains `b`, without looking for an example: for pairs of a whole bank."""
    try:
        return exclusive(alternatives(b.tree, Want.TRUE), alternatives(a.tree, Want.NOT_TRUE))
    except TooLargeError:
        return False


def narrower(a: Condition, b: Condition) -> bool:
    """Return whether `a` is proved to be more specific than `b`: contained in it, and not the other way round."""
    return proved_within(a, b) and not proved_within(b, a)


def overlap(a: Condition, b: Condition) -> Finding:
    """Return whether both can be true at once: yes with an example, no where it is proved that they can't."""
    try:
        both = product(alternatives(a.tree, Want.TRUE), alternatives(b.tree, Want.TRUE))
    except TooLargeError:
        return Finding(None)
    if not both:
        return Finding(False)
    example = _example(both, lambda view: _true(a, view) and _true(b, view))
    return Finding(None if example is None else True, example)


def branches(condition: Condition) -> int | None:
    """Return of how many alternatives a condition consists (S107); 0 is one that can never be true. None for one that
    has more than are looked at."""
    try:
        return len(alternatives(condition.tree, Want.TRUE))
    except TooLargeError:
        return None


def _true(condition: Condition, view: View) -> bool:
    return condition.judge(view).truth is Truth.TRUE


def _example(conjuncts: tuple[Conjunct, ...], shows: Any) -> Mapping[str, Any] | None:
    for conjunct in conjuncts[:_MOST_EXAMPLES]:
        made = _context(conjunct)
        if made is not None and shows(View(made[0], made[1], _NOW)):
            return made[0]
    return None


def _context(conjunct: Conjunct) -> tuple[dict[str, Any], Memory] | None:
    """Return a context that may satisfy a conjunct, None where it isn't seen how to make one."""
    values: dict[str, Any] = {}
    past: list[Past] = []
    stability: float | None = None
    phrases: dict[Path, list[str]] = {}
    for term, allowed in conjunct.items():
        found = phrase_of(term)
        match term:
            case _ if found is not None and isinstance(found[0], Path):
                if not allowed.kinds & {"absent", "unheld"}:
                    phrases.setdefault(found[0], [])
                if allowed.kinds == {"true"}:
                    phrases[found[0]].append(normal(found[1]))
            case Path():
                if not _set(values, term, allowed):
                    return None
            case Call(name="stability"):
                stability = _number(allowed)
            case Call(name="successes" | "failures", arguments=(Literal(),)):
                past += [Past(1, "some_skill", term.name == "successes", "")] * min(_whole(allowed), 99)
            case Call(name="calls", arguments=(Literal(value=skill), Literal())):
                past += [Past(1, str(skill), True)] * min(_whole(allowed), 99)
            case Call(name="days_from_now", arguments=(Path() as path,)):
                days = _number(allowed)
                if days is not None and abs(days) < 10_000:
                    _put(values, path.parts, (_NOW + timedelta(days=days)).isoformat())
            case Call(name="size", arguments=(Path() as path,)):
                _put(values, path.parts, "x" * min(_whole(allowed), 1_000))
    for path, wanted in phrases.items():
        _put(values, path.parts, " , ".join(wanted))
    return values, Memory(tuple(past), 2, stability)


def _set(values: dict[str, Any], path: Path, allowed: ValueSet) -> bool:
    """Put a value of a path into place; True also where it is one that is left out."""
    try:
        return _put(values, path.parts, sample(allowed))
    except LookupError:
        if "absent" in allowed.kinds and len(path.parts) > 1:
            return _put(values, path.parts[:-1], {}, only_if_missing=True)
        return True


def _put(values: dict[str, Any], parts: tuple[str | int, ...], value: Any, *, only_if_missing: bool = False) -> bool:
    for part in parts[:-1]:
        inner = values.setdefault(str(part), {})
        if isinstance(part, int) or not isinstance(inner, dict):
            return False
        values = inner
    last = parts[-1]
    if isinstance(last, int):
        return False
    if only_if_missing:
        values.setdefault(last, value)
    else:
        values[last] = value
    return True


def _number(allowed: ValueSet) -> float | None:
    try:
        return float(sample(ValueSet(allowed.numbers)))
    except LookupError:
        return None


def _whole(allowed: ValueSet) -> int:
    try:
        return int(sample(ValueSet(allowed.numbers), whole=True))
    except LookupError:
        return 0
