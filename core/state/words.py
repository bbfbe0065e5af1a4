"""Which words of two lines differ."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

Spans = tuple[tuple[int, int], ...]
"""Parts of a line, as (start, end) in characters, in order, none empty, none touching the next."""

_ALONE = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"  # scripts that put no space between words
_WORDS = re.compile(rf"{_ALONE}|(?:(?!{_ALONE})\w)+|\s+|.", re.DOTALL)
_MOST_WORDS = 600
_MOST_TOLD = 0.7


def changed(old: str, new: str) -> tuple[Spans, Spans]:
    """Return the parts of `old` that are gone and the parts of `new` that came; what is left of both is the same.

    Lines that share little are told to differ as a whole: a sprinkle of common letters explains nothing.
    """
    if old == new:
        return (), ()
    one, other = _WORDS.findall(old), _WORDS.findall(new)
    if len(one) > _MOST_WORDS or len(other) > _MOST_WORDS:
        start = end = 0
        while start < min(len(old), len(new)) and old[start] == new[start]:
            start += 1
        while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
            end += 1
        return _one(start, len(old) - end), _one(start, len(new) - end)
    gone: list[tuple[int, int]] = []
    come: list[tuple[int, int]] = []
    places, others = _starts(one), _starts(other)
    at = there = 0
    for i, j, size in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        gone += _one(places[at], places[i])
        come += _one(others[there], others[j])
        at, there = i + size, j + size
    told = sum(end - begin for begin, end in gone) + sum(end - begin for begin, end in come)
    if told > _MOST_TOLD * (len(old) + len(new)):
        return _one(0, len(old)), _one(0, len(new))
    return tuple(gone), tuple(come)


def alike(old: str, new: str) -> float:
    """Return how much of two lines is the same words, from 0 to 1; cheap, and blind to their order."""
    one, other = _WORDS.findall(old.strip()), _WORDS.findall(new.strip())
    if not one or not other:
        return float(one == other)
    shared = sum(len(word) * count for word, count in (Counter(one) & Counter(other)).items())
    return 2 * shared / (sum(map(len, one)) + sum(map(len, other)))


def _starts(words: list[str]) -> list[int]:
    """Return where each word starts, and where the last one ends."""
    places = [0]
    for word in words:
        places.append(places[-1] + len(word))
    return places


def _one(start: int, end: int) -> Spans:
    return ((start, end),) if end > start else ()
