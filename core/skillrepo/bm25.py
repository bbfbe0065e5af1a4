"""BM25 as rank-bm25's BM25Okapi scores it, term by term (CURATION 1.1, K3; DECISIONS 24).

A word that occurs in n of N skills weighs idf = ln(N - n + 0.5) - ln(n + 0.5). Where that is negative (in more than
half of them), BM25Okapi puts a floor in its place: a quarter of the average idf over the whole vocabulary. In a
repository of one or two skills, or of skills that share most of their words, that average is not positive itself. A
match would count against a skill then and the order would be upside down, so the variant `okapi` takes Lucene's never
negative idf there. `rank-bm25` keeps the library's floor whatever it is, `lucene` takes its idf everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

Variant = Literal["okapi", "rank-bm25", "lucene"]
K1, B, EPSILON = 1.5, 0.75, 0.25
"""BM25Okapi's own defaults."""
_NOTHING = 1e-9
"""An average below this is none: what is left of a sum that cancels out."""


@lru_cache(maxsize=512)
def idf_table(count: int) -> tuple[float, ...]:
    """Return Okapi's idf by the number of skills a word occurs in, 0 to `count`; unfloored. For small `count`."""
    return tuple(idf(count, frequency) for frequency in range(count + 1))


def idf(count: int, frequency: int) -> float:
    """Return Okapi's idf of a word that `frequency` of `count` skills have, unfloored."""
    return math.log(count - frequency + 0.5) - math.log(frequency + 0.5)


def lucene_idf(count: int, frequency: int) -> float:
    """Return Lucene's idf, which is never negative."""
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def floor(idf_sum: float, words: int, variant: Variant) -> float | None:
    """Return what a negative idf becomes, given the sum of idf over a vocabulary of `words`; None: use Lucene's idf."""
    if variant == "lucene" or not words:
        return None
    value = EPSILON * (idf_sum / words)
    return None if variant == "okapi" and value < _NOTHING else value


def weights(asked: Iterable[tuple[str, int]], count: int, floored: float | None) -> list[tuple[str, float]]:
    """Return each word of a query that any skill has with its factor (k1 + 1) * idf, in the order of the query."""
    found: list[tuple[str, float]] = []
    for word, frequency in asked:
        if frequency:
            if floored is None:
                value = lucene_idf(count, frequency)
            else:
                value = idf(count, frequency)
                value = floored if value < 0.0 else value
            found.append((word, value * (K1 + 1)))
    return found
