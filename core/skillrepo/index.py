"""An index over many skills: inserts and deletes without a rebuild, the ranks of a rebuild (K3).

For every word it keeps which skills have it and how often, ordered, so that a skill goes in and out by one binary
search a word. Everything else in the score follows from counts that are kept exactly: skills, words, and how many words
occur in just n skills, from which the average idf over the whole vocabulary (BM25Okapi's floor) is one short sum.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.foundation.errors import ConflictError, NotFoundError
from core.foundation.visible import visible_line
from core.skillrepo.bm25 import K1, B, Variant, floor, idf, weights
from core.skillrepo.retrieval import Hit, Terms, count_terms
from core.skillrepo.skill import Skill
from core.skillrepo.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_Postings = tuple["array[int]", "array[float]"]
"""The skills that have one word, by place, ascending; and how often each has it."""


class Index:
    """Skills that can be searched.

    Invariant: what it holds is what inserting its skills into a new one would give, up to the places they have in its
    arrays: `_postings[w]` names exactly the skills that have the word w, `_spread[n]` the number of words that exactly
    n skills have, `_total` the words of all skills, and `_skills[p]` is None just where the place p is free.
    """

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        """Start with `skills`. Raises ConflictError where two have one title."""
        self._skills: list[Skill | None] = []
        self._places: dict[str, int] = {}
        self._free: list[int] = []
        self._postings: dict[str, _Postings] = {}
        self._titles: dict[str, _Postings] = {}
        self._lengths = array("d")
        self._title_words = array("d")
        self._spread: dict[int, int] = {}
        self._total = 0
        self._floors: dict[Variant, float | None] = {}  # these two are made by a query and hold until a change
        self._norms: NDArray[np.float64] | None = None
        for skill in skills:
            self.insert(skill)

    def __len__(self) -> int:
        return len(self._places)

    def insert(self, skill: Skill) -> None:
        """Add a skill. Raises ConflictError where its title is there already."""
        if skill.title in self._places:
            raise ConflictError(f"The index has a skill {visible_line(skill.title)!r} already.")
        terms = count_terms(skill)
        place = self._take_place(skill, terms)
        spread = self._spread
        for word, times in terms.frequencies.items():
            before = _put(self._postings, word, place, times)
            if before:
                spread[before] -= 1
            spread[before + 1] = spread.get(before + 1, 0) + 1
        for word in terms.title:
            _put(self._titles, word, place, 1)
        self._total += terms.length
        self._changed()

    def delete(self, title: str) -> None:
        """Take a skill out. Raises NotFoundError where there is none of that title."""
        place = self._places.pop(title, None)
        skill = self._skills[place] if place is not None else None
        if place is None or skill is None:
            raise NotFoundError(f"The index has no skill {visible_line(title)!r}.")
        terms = count_terms(skill)
        spread = self._spread
        for word in terms.frequencies:
            after = _drop(self._postings, word, place)
            spread[after + 1] -= 1
            if after:
                spread[after] = spread.get(after, 0) + 1
        for word in terms.title:
            _drop(self._titles, word, place)
        self._skills[place] = None
        self._free.append(place)
        self._total -= terms.length
        self._changed()

    def retrieve(
        self, query: str, *, top_k: int = 5, min_overlap: float = 0.0, variant: Variant = "okapi"
    ) -> tuple[Hit, ...]:
        """Return what `core.skillrepo.retrieval.retrieve` returns for the same skills."""
        import numpy as np

        asked = words(query)
        if not self._places or not asked or top_k < 1:
            return ()
        count = len(self._places)
        known = [(word, self._postings[word]) for word in asked if word in self._postings]
        if not known:
            return ()
        factors = [
            factor for _, factor in weights([(word, len(at[0])) for word, at in known], count, self._floor(variant))
        ]
        # All postings of the query in one row: a skill's parts are added up in the order of the query, as elsewhere.
        places = np.concatenate([np.frombuffer(at[0], dtype=np.intc) for _, at in known])
        times = np.concatenate([np.frombuffer(at[1]) for _, at in known])
        if self._norms is None:
            self._norms = K1 * (1 - B + B * np.frombuffer(self._lengths) / (self._total / count))
        parts = np.repeat(factors, [len(at[0]) for _, at in known]) * times / (times + self._norms[places])
        scores = np.asarray(np.bincount(places, weights=parts, minlength=len(self._skills)), dtype=np.float64)
        if min(factors) > 0.0:
            touched = scores > 0.0
        else:
            touched = np.zeros(len(self._skills), dtype=bool)
            touched[places] = True
        if min_overlap > 0.0:
            touched &= self._passing(dict.fromkeys(asked), min_overlap)
        return self._best(scores, np.flatnonzero(touched), top_k)

    def _best(self, scores: NDArray[np.float64], found: NDArray[np.intp], top_k: int) -> tuple[Hit, ...]:
        import numpy as np

        if len(found) > 4 * top_k:
            own = scores[found]
            least = np.partition(own, len(own) - top_k)[len(own) - top_k]
            found = found[own >= least]  # with all that tie with the last
        hits = [Hit(skill, float(scores[place])) for place in found.tolist() if (skill := self._skills[place])]
        hits.sort(key=lambda hit: (-hit.score, hit.skill.title))
        return tuple(hits[:top_k])

    def _passing(self, asked: Iterable[str], min_overlap: float) -> NDArray[np.bool_]:
        import numpy as np

        shared = np.zeros(len(self._skills))
        for word in asked:
            if postings := self._titles.get(word):
                shared[np.frombuffer(postings[0], dtype=np.intc)] += 1
        passing: NDArray[np.bool_] = shared >= min_overlap * np.frombuffer(self._title_words)
        return passing

    def _floor(self, variant: Variant) -> float | None:
        if variant not in self._floors:
            count = len(self._places)
            idf_sum = sum(words_of * idf(count, n) for n, words_of in sorted(self._spread.items()) if words_of)
            self._floors[variant] = floor(idf_sum, len(self._postings), variant)
        return self._floors[variant]

    def _changed(self) -> None:
        self._floors.clear()
        self._norms = None

    def _take_place(self, skill: Skill, terms: Terms) -> int:
        if self._free:
            place = self._free.pop()
            self._skills[place] = skill
            self._lengths[place], self._title_words[place] = terms.length, len(terms.title)
        else:
            place = len(self._skills)
            self._skills.append(skill)
            self._lengths.append(terms.length)
            self._title_words.append(len(terms.title))
        self._places[skill.title] = place
        return place


def _put(index: dict[str, _Postings], word: str, place: int, times: int) -> int:
    """Enter `place` under `word`; return how many were there before."""
    postings = index.get(word)
    if postings is None:
        index[word] = (array("i", (place,)), array("d", (times,)))
        return 0
    places, counts = postings
    before = len(places)
    if places[-1] < place:
        places.append(place)
        counts.append(times)
    else:
        at = bisect_left(places, place)
        places.insert(at, place)
        counts.insert(at, times)
    return before


def _drop(index: dict[str, _Postings], word: str, place: int) -> int:
    """Take `place` out from under `word`; return how many are left."""
    places, counts = index[word]
    at = bisect_left(places, place)
    del places[at], counts[at]
    if not places:
        del index[word]
    return len(places)
