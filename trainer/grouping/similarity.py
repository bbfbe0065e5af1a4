"""Soft-Jaccard: how much two lists of phrases share, where near enough counts as the same (CURATION 1.5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from core.foundation.errors import UsageError
from core.skillrepo.words import words
from trainer.grouping.attributes import KINDS, Attributes


class Encoder(Protocol):
    """Tells how near phrases are, by the cosine of what it makes of them."""

    @property
    def name(self) -> str: ...

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the cosine of each phrase of `first` with each of `second`."""
        ...


class Exact:
    """No encoder: phrases are the same or they aren't."""

    name = "exact"

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[float(a == b) for b in second] for a in first]


class Lexical:
    """The cosine of the counts of letter triples of the words: finds inflections and shared words, needs no weights.

    It knows no synonyms, which `minilm` does.
    """

    name = "lexical"

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[_cosine(a, b) for b in second] for a in first]


@lru_cache(maxsize=100_000)
def _triples(text: str) -> tuple[Counter[str], float]:
    counts: Counter[str] = Counter()
    for word in words(text):
        padded = f"^{word}$"
        counts.update(padded[at : at + 3] for at in range(len(padded) - 2))
    return counts, math.sqrt(sum(count * count for count in counts.values()))


@lru_cache(maxsize=500_000)
def _cosine(first: str, second: str) -> float:
    (a, size_a), (b, size_b) = _triples(first), _triples(second)
    if not size_a or not size_b:
        return 0.0
    if len(b) < len(a):
        a, b = b, a
    return sum(count * b[triple] for triple, count in a.items() if triple in b) / (size_a * size_b)


def encoder(name: str, path: str | None = None) -> Encoder:
    """Return an encoder by its name. Raises UsageError for others, and where `minilm` has no weights to load."""
    if name == "exact":
        return Exact()
    if name == "lexical":
        return Lexical()
    if name == "minilm":
        from trainer.grouping.minilm import MiniLM

        return MiniLM(path)
    raise UsageError(f"There is no phrase encoder {name!r}.", hint="Encoders: exact, lexical, minilm.")


def matched(first: Sequence[str], second: Sequence[str], encoder: Encoder, tau: float) -> int:
    """Return m: exact matches, then greedy one-to-one matches of the rest, nearest first, with a cosine over tau."""
    same = [phrase for phrase in dict.fromkeys(first) if phrase in second]
    rest_a = [phrase for phrase in dict.fromkeys(first) if phrase not in same]
    rest_b = [phrase for phrase in dict.fromkeys(second) if phrase not in same]
    if not rest_a or not rest_b:
        return len(same)
    rows = encoder.cosines(rest_a, rest_b)
    near = [(-rows[i][j], i, j) for i in range(len(rest_a)) for j in range(len(rest_b)) if rows[i][j] > tau]
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    for _, i, j in sorted(near):
        if i not in taken_a and j not in taken_b:
            taken_a.add(i)
            taken_b.add(j)
    return len(same) + len(taken_a)


def jaccard(first: Sequence[str], second: Sequence[str], matches: int) -> float:
    """Return soft-Jaccard m / (|A| + |B| - m); 0 for two empty lists, which share nothing that was measured."""
    union = len(set(first)) + len(set(second)) - matches
    return matches / union if union else 0.0


class Overlap:
    """What two tasks share, by kind: m and soft-Jaccard. Computed once a pair, read by every gate."""

    __slots__ = ("jaccard", "matched", "source", "target")

    def __init__(self, source: Attributes, target: Attributes, encoder: Encoder, tau: float) -> None:
        self.source = source
        self.target = target
        self.matched = {kind: matched(source.of(kind), target.of(kind), encoder, tau) for kind in KINDS}
        self.jaccard = {kind: jaccard(source.of(kind), target.of(kind), self.matched[kind]) for kind in KINDS}
