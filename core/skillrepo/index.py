"""An index over many skills: inserts and deletes without a rebuild, the ranks of a rebuild (K3).

For every word it keeps which skills have it and how often, ordered, so that a skill goes in and out by one binary
search a word. Everything else in the score follows from counts that are kept exactly: skills, words, and how many words
occur in just n skills, from which the average idf over the whole vocabulary (BM25Okapi's floor) is one short sum.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
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


class _Postings:
    """The skills that have one word, by place, ascending, with how often each has it."""

    __slots__ = ("places", "times")

    def __init__(self) -> None:
        self.places = array("i")
        self.times = array("d")

    def put(self, place: int, times: int) -> None:
        if not self.places or self.places[-1] < place:
            self.places.append(place)
            self.times.append(times)
            return
        at = bisect_left(self.places, place)
        self.places.insert(at, place)
        self.times.insert(at, times)

    def drop(self, place: int) -> None:
        at = bisect_left(self.places, place)
        del self.places[at], self.times[at]


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
        self._spread: Counter[int] = Counter()
        self._total = 0
        self._floors: dict[Variant, float | None] = {}
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
        for word, times in terms.frequencies.items():
            postings = self._postings.get(word)
            if postings is None:
                postings = self._postings[word] = _Postings()
            self._spread[len(postings.places)] -= 1
            postings.put(place, times)
            self._spread[len(postings.places)] += 1
        for word in sorted(terms.title):
            self._titles.setdefault(word, _Postings()).put(place, 1)
        self._total += terms.length
        self._floors.clear()

    def delete(self, title: str) -> None:
        """Take a skill out. Raises NotFoundError where there is none of that title."""
        place = self._places.pop(title, None)
        skill = self._skills[place] if place is not None else None
        if place is None or skill is None:
            raise NotFoundError(f"The index has no skill {visible_line(title)!r}.")
        terms = count_terms(skill)
        for word in terms.frequencies:
            self._drop(self._postings, word, place, counted=True)
        for word in terms.title:
            self._drop(self._titles, word, place, counted=False)
        self._skills[place] = None
        self._free.append(place)
        self._total -= terms.length
        self._floors.clear()

    def retrieve(
        self, query: str, *, top_k: int = 5, min_overlap: float = 0.0, variant: Variant = "okapi"
    ) -> tuple[Hit, ...]:
        """Return what `core.skillrepo.retrieval.retrieve` returns for the same skills."""
        import numpy as np

        asked = words(query)
        if not self._places or not asked or top_k < 1:
            return ()
        scores = np.zeros(len(self._skills))
        touched = np.zeros(len(self._skills), dtype=bool)
        average = self._total / len(self._places)
        norms = K1 * (1 - B + B * np.frombuffer(self._lengths) / average)
        frequencies = [(word, len(found.places) if (found := self._postings.get(word)) else 0) for word in asked]
        for word, factor in weights(frequencies, len(self._places), self._floor(variant)):
            postings = self._postings[word]
            places = np.frombuffer(postings.places, dtype=np.intc)
            times = np.frombuffer(postings.times)
            scores[places] += factor * times / (times + norms[places])
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
                shared[np.frombuffer(postings.places, dtype=np.intc)] += 1
        passing: NDArray[np.bool_] = shared >= min_overlap * np.frombuffer(self._title_words)
        return passing

    def _floor(self, variant: Variant) -> float | None:
        if variant not in self._floors:
            count = len(self._places)
            spread = sorted((n, words_of) for n, words_of in self._spread.items() if n and words_of)
            idf_sum = sum(words_of * idf(count, n) for n, words_of in spread)
            self._floors[variant] = floor(idf_sum, len(self._postings), variant)
        return self._floors[variant]

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

    def _drop(self, index: dict[str, _Postings], word: str, place: int, *, counted: bool) -> None:
        postings = index[word]
        if counted:
            self._spread[len(postings.places)] -= 1
        postings.drop(place)
        if counted:
            self._spread[len(postings.places)] += 1
        if not postings.places:
            del index[word]
