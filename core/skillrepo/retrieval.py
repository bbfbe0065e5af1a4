"""Finding skills for a task: BM25 over name and description, top k, ties by title (CURATION 1.1, K3; DECISIONS 24).

The scores are those of rank-bm25 (`core.skillrepo.bm25`), in arithmetic that pays for small repositories: a skill's
words are counted once, and a query touches no array. A hit is a skill that shares a word with the query. The score
can't tell that: BM25Okapi gives 0 to a word that stands in just half of all skills. For more than about a thousand
skills `core.skillrepo.index` gives the same ranks without reading every skill.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from core.skillrepo.bm25 import EPSILON, K1, B, Variant, floor, idf_table, weights
from core.skillrepo.skill import Skill
from core.skillrepo.words import split_words, words


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
    return count_terms(skill)


def count_terms(skill: Skill) -> Terms:
    """Return the words of the skill's name and description, counted."""
    title = split_words(skill.title)
    found = title + split_words(skill.description)
    frequencies: dict[str, int] = {}
    for word in found:
        frequencies[word] = frequencies.get(word, 0) + 1
    return Terms(frequencies, len(found), frozenset(title))


def passes(terms: Terms, query: AbstractSet[str], min_overlap: float) -> bool:
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
    known = frozenset(asked)
    found = [
        at
        for at, terms in enumerate(entries)
        if not known.isdisjoint(terms.frequencies) and (min_overlap <= 0.0 or passes(terms, known, min_overlap))
    ]
    if not found:
        return ()
    by_library = variant == "rank-bm25"
    scores = _library_scores(entries, asked, found) if by_library else _scores(entries, asked, found, variant)
    ranked = heapq.nsmallest(top_k, zip(scores, found, strict=True), key=lambda at: (-at[0], everything[at[1]].title))
    return tuple(Hit(everything[at], score) for score, at in ranked)


def _scores(entries: list[Terms], asked: Sequence[str], found: list[int], variant: Variant) -> list[float]:
    count = len(entries)
    documents: dict[str, int] = {}
    for terms in entries:
        for word in terms.frequencies:
            documents[word] = documents.get(word, 0) + 1
    table = idf_table(count)
    floored = floor(sum([table[frequency] for frequency in documents.values()]), len(documents), variant)
    factors = weights([(word, documents.get(word, 0)) for word in asked], count, floored)
    average = sum([terms.length for terms in entries]) / count
    scores: list[float] = []
    for at in found:
        terms = entries[at]
        weight = K1 * (1 - B + B * terms.length / average)
        frequencies = terms.frequencies
        total = 0.0
        for word, factor in factors:
            if word in frequencies:
                times = frequencies[word]
                total += factor * times / (times + weight)
        scores.append(total)
    return scores


def _library_scores(entries: list[Terms], asked: Sequence[str], found: list[int]) -> list[float]:
    from rank_bm25 import BM25Okapi  # brings numpy, which nothing else here needs

    corpus = [[word for word, times in terms.frequencies.items() for _ in range(times)] for terms in entries]
    scores = BM25Okapi(corpus, k1=K1, b=B, epsilon=EPSILON).get_scores(list(asked))
    return [float(scores[at]) for at in found]
