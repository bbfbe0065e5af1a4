"""Sets of the values that a name may have, exact under intersection and complement: what proofs are made of (S123).

A value is a number, a text or one of KINDS. Numbers are intervals, bounded by cuts: (v, 0) lies just before v, (v, 1)
just after it. Texts are a finite set or all but a finite set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

Cut: TypeAlias = tuple[float, int]
Intervals: TypeAlias = tuple[tuple[Cut, Cut], ...]

KINDS = frozenset({"true", "false", "null", "empty", "full", "absent", "unheld"})
"""`empty` and `full` are lists and maps. `absent`: what should hold the value is there and hasn't got it; `unheld`: it
isn't there itself."""
UNKNOWN = frozenset({"absent", "unheld"})
_BEGIN, _END = (-math.inf, 0), (math.inf, 1)
_ALL_NUMBERS: Intervals = ((_BEGIN, _END),)


@dataclass(frozen=True, slots=True)
class ValueSet:
    """`texts` are in the set, or out of it where `but` says so."""

    numbers: Intervals = ()
    texts: frozenset[str] = frozenset()
    but: bool = False
    kinds: frozenset[str] = frozenset()

    def __and__(self, other: ValueSet) -> ValueSet:
        return ValueSet(_intersection(self.numbers, other.numbers), *_both(self, other), kinds=self.kinds & other.kinds)

    def __invert__(self) -> ValueSet:
        return ValueSet(_complement(self.numbers), self.texts, not self.but, KINDS - self.kinds)

    def has_none(self, *, whole: bool = False) -> bool:
        """Return whether nothing is in the set; with `whole` only whole numbers count as numbers."""
        if self.kinds or self.texts or self.but:
            return False
        return not any(_whole(interval) is not None for interval in self.numbers) if whole else not self.numbers


ALL = ValueSet(_ALL_NUMBERS, frozenset(), True, KINDS)
NONE = ValueSet()
KNOWN = ValueSet(_ALL_NUMBERS, frozenset(), True, KINDS - UNKNOWN)
COUNT = ValueSet((((0, 0), _END),))
"""What a counting function gives: it is always known."""


def numbers(operator: str, bound: float) -> ValueSet:
    """Return the numbers x with `x operator bound`."""
    found: Intervals = {
        "<": ((_BEGIN, (bound, 0)),),
        "<=": ((_BEGIN, (bound, 1)),),
        ">": (((bound, 1), _END),),
        ">=": (((bound, 0), _END),),
    }[operator]
    return ValueSet(found)


def between(low: float, high: float) -> ValueSet:
    """Return the numbers of a range, ends included."""
    return ValueSet((((low, 0), (high, 1)),) if low <= high else ())


def exactly(values: Iterable[str | int | float | bool | None]) -> ValueSet:
    """Return the set of some values."""
    found = NONE
    for value in values:
        found = ~(~found & ~_one(value))
    return found


def _one(value: str | int | float | bool | None) -> ValueSet:
    if value is None or isinstance(value, bool):
        return ValueSet(kinds=frozenset({"null" if value is None else "true" if value else "false"}))
    return ValueSet(texts=frozenset({value})) if isinstance(value, str) else between(value, value)


def _both(one: ValueSet, other: ValueSet) -> tuple[frozenset[str], bool]:
    if one.but and other.but:
        return one.texts | other.texts, True
    if one.but:
        return other.texts - one.texts, False
    return (one.texts - other.texts if other.but else one.texts & other.texts), False


def _intersection(one: Intervals, other: Intervals) -> Intervals:
    met = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple(sorted((begin, end) for begin, end in met if begin < end))


def _complement(intervals: Intervals) -> Intervals:
    found, at = [], _BEGIN
    for begin, end in intervals:
        if at < begin:
            found.append((at, begin))
        at = end
    return (*found, (at, _END)) if at < _END else tuple(found)


def _whole(interval: tuple[Cut, Cut]) -> int | None:
    """Return a whole number of an interval, that nearest to 0 from its bounds."""
    (low, after), end = interval
    if low == -math.inf:
        high, before = end
        return 0 if high == math.inf else math.ceil(high) - 1 if before == 0 else math.floor(high)
    number = math.floor(low) + 1 if after else math.ceil(low)
    return number if (number, 1) <= end else None


def sample(values: ValueSet, *, whole: bool = False) -> Any:
    """Return a value of the set as a condition would see it; raises LookupError where only missing ones are in it."""
    if values.texts or values.but:
        if not values.but:
            return min(values.texts)
        return next(text for text in ("", "a", *(f"a{n}" for n in range(len(values.texts) + 1))) if _in(text, values))
    for interval in values.numbers:
        number = _whole(interval)
        if number is not None:
            return number
        if not whole:
            return (interval[0][0] + interval[1][0]) / 2
    held = {"true": True, "false": False, "null": None, "empty": [], "full": [1]}
    for kind, value in held.items():
        if kind in values.kinds:
            return value
    raise LookupError


def _in(text: str, values: ValueSet) -> bool:
    return (text in values.texts) != values.but
