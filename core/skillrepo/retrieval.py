"""Finding skills for a task: BM25 over name and description, top k, ties by title (CURATION 1.1, K3; DECISIONS 24).

The scores are those of rank-bm25's BM25Okapi, in arithmetic that pays for small repositories: a skill is tokenised
once, and a query touches no array. Two things rank-bm25 leaves to its caller are decided here:

- *A hit shares a word with the query.* BM25Okapi gives 0 to a word that stands in just half of all skills, so its
  score alone can't tell a match from a miss.
- *A match never counts against a skill.* BM25Okapi floors a negative idf at a quarter of the average idf. In a
  repository of one or two skills, or of skills that share most words, the average itself is not positive, and the
  better match would rank lower. The variant `okapi` takes Lucene's never negative idf there; `rank-bm25` is the
  library to the letter, `lucene` its idf everywhere.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.skillrepo.skill import Skill
from core.skillrepo.words import words

Variant = Literal["okapi", "rank-bm25", "lucene"]
K1, B, EPSILON = 1.5, 0.75, 0.25
"""BM25Okapi's own defaults."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A skill that was found, with its BM25 score."""

    skill: Skill
    score: float


@dataclass(frozen=True, slots=True)
class Terms:
    """A skill as retrieval sees it: how often each word occurs, how many words, and the words of its title."""

    frequencies: Mapping[str, int]
    length: int
    title: frozenset[str]


@lru_cache(maxsize=32_768)
def terms_of(skill: Skill) -> Terms:
    """Return the skill's words; remembered, since a skill meets many queries."""
    found = words(f"{skill.title} {skill.description}")
    frequencies: dict[str, int] = {}
    for word in found:
        frequencies[word] = frequencies.get(word, 0) + 1
    return Terms(frequencies, len(found), frozenset(words(skill.title)))


def passes(terms: Terms, query: frozenset[str] | set[str], min_overlap: float) -> bool:
    """Tell whether the share `min_overlap` of the title's words, or more, is in the query (CURATION 2c, finding 3)."""
    return len(terms.title & query) >= min_overlap * len(terms.title)


def retrieve(
    skills: Iterable[Skill],
    query: str,
    *,
    top_k: int = 5,
    min_overlap: float = 0.0,
    variant: Variant = "okapi",
) -> tuple[Hit, ...]:
    """Return the best `top_k` skills for `query`, best first; equal scores in the order of titles.

    Only skills that share a word with the query are hits. `min_overlap` (0 to 1) is the share of a title's words that
    must occur in the query: 0 is the paper's plain BM25, 0.51 means "most of them" and keeps a skill that shares one
    common word out of a small repository.
    """
    everything = skills if isinstance(skills, Sequence) else tuple(skills)
    asked = words(query)
    if not everything or not asked or top_k < 1:
        return ()
    entries = [terms_of(skill) for skill in everything]
    known = set(asked)
    found = [
        at
        for at, terms in enumerate(entries)
        if not known.isdisjoint(terms.frequencies) and (min_overlap <= 0.0 or passes(terms, known, min_overlap))
    ]
    if not found:
        return ()
    scores = (
        _library_scores(entries, asked, found) if variant == "rank-bm25" else _scores(entries, asked, found, variant)
    )
    ranked = heapq.nsmallest(top_k, zip(scores, found, strict=True), key=lambda at: (-at[0], everything[at[1]].title))
    return tuple(Hit(everything[at], score) for score, at in ranked)


def _scores(entries: list[Terms], asked: Sequence[str], found: list[int], variant: Variant) -> list[float]:
    count = len(entries)
    documents: dict[str, int] = {}
    for terms in entries:
        for word in terms.frequencies:
            documents[word] = documents.get(word, 0) + 1
    idf = idf_table(count)
    lucene = variant == "lucene"
    floor = 0.0
    if not lucene:
        floor = EPSILON * (sum(idf[frequency] for frequency in documents.values()) / len(documents))
        lucene = floor <= 0.0
    weights: list[tuple[str, float]] = []
    for word in asked:
        frequency = documents.get(word)
        if frequency is not None:
            value = lucene_idf(count, frequency) if lucene else idf[frequency]
            weights.append((word, (value if value >= 0.0 else floor) * (K1 + 1)))
    average = sum(terms.length for terms in entries) / count
    scores: list[float] = []
    for at in found:
        terms = entries[at]
        weight = K1 * (1 - B + B * terms.length / average)
        total = 0.0
        frequencies = terms.frequencies
        for word, value in weights:
            if word in frequencies:
                times = frequencies[word]
                total += value * times / (times + weight)
        scores.append(total)
    return scores


@lru_cache(maxsize=256)
def idf_table(count: int) -> tuple[float, ...]:
    """Return Okapi's idf of a word by the number of skills it occurs in (0 to `count`), unfloored."""
    return tuple(math.log(count - frequency + 0.5) - math.log(frequency + 0.5) for frequency in range(count + 1))


def lucene_idf(count: int, frequency: int) -> float:
    """Return Lucene's idf, which is never negative."""
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def _library_scores(entries: list[Terms], asked: Sequence[str], found: list[int]) -> list[float]:
    from rank_bm25 import BM25Okapi  # numpy: half a command's start, and only this variant needs it

    corpus = [[word for word, times in terms.frequencies.items() for _ in range(times)] for terms in entries]
    scores = BM25Okapi(corpus, k1=K1, b=B, epsilon=EPSILON).get_scores(list(asked))
    return [float(scores[at]) for at in found]
