"""How near two texts are, and from which nearness on they mean the same (STRATEGY S99).

A cosine of one encoder means nothing to another: where MiniLM says 0.86 for a paraphrase, letters say 0.6 and less. So
each encoder has a threshold of its own, found on pairs that a person labelled (`calibrate`); the account's 0.85 is
MiniLM's. Character n-grams need no weights and work for Chinese. Other encoders are handed in by whoever has them:
this room loads no weights.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.foundation.errors import UsageError
from core.strategy.feedback.anonymise import PLACEHOLDER
from core.strategy.feedback.folding import fold

THRESHOLDS: Mapping[str, float] = {"characters": 0.3, "minilm": 0.85}
"""By encoder: `characters` as `calibrate` finds it on tests/fixtures/feedback/pairs.jsonl, `minilm` as reported."""
_BETA = 0.5
NEAR = 0.05
"""Pairs so near the cut are shown to a person."""


class Encoder(Protocol):
    """Tells how near texts are. The trainer's phrase encoders have the same form."""

    @property
    def name(self) -> str: ...

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the cosine of each text of `first` with each of `second`."""
        ...


class Characters:
    """The cosine of counts of character pairs to quadruples, damped by logarithm. Deterministic, no weights."""

    name = "characters"
    sizes = (2, 3, 4)

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the cosine of each text of `first` with each of `second`."""
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for at, text in enumerate(second):
            for gram, weight in self._vector(text).items():
                postings[gram].append((at, weight))
        rows = []
        for text in first:
            row = [0.0] * len(second)
            for gram, weight in self._vector(text).items():
                for at, other in postings.get(gram, ()):
                    row[at] += weight * other
            rows.append([min(1.0, value) for value in row])
        return rows

    def _vector(self, text: str) -> dict[str, float]:
        padded = f" {comparable(text)} "
        counts = Counter(padded[at : at + size] for size in self.sizes for at in range(len(padded) - size + 1))
        weights = {gram: 1 + math.log(count) for gram, count in counts.items() if gram.strip()}
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        return {gram: weight / length for gram, weight in weights.items()} if length else {}


def comparable(text: str) -> str:
    """Return a text as it is compared: folded, lower-case, no punctuation, placeholders without their number."""
    bare = PLACEHOLDER.sub(lambda match: f" {match[0].strip('<>').partition('-')[0]} ", text)
    return " ".join(re.sub(r"[^\w]|_", " ", fold(bare).text.casefold()).split())


def encoder(name: str, others: Mapping[str, Callable[[], Encoder]] | None = None) -> Encoder:
    """Return an encoder by its name; `others` make those that are not at home here, such as "minilm".

    Raises UsageError for a name that neither knows.
    """
    if name == Characters.name:
        return Characters()
    make = (others or {}).get(name)
    if make is None:
        known = ", ".join([Characters.name, *sorted(others or {})])
        raise UsageError(f"There is no text encoder {name!r} here.", hint=f"Encoders: {known}.")
    return make()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, and whether a person said that they mean the same trouble."""

    first: str
    second: str
    same: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """The threshold with the highest F0.5 on labelled pairs, what it reaches there, and the pairs near it.

    `precision` and `recall` are of "the same" at the threshold. `near` are pairs with their cosine.
    """

    encoder: str
    threshold: float
    precision: float
    recall: float
    pairs: int
    near: tuple[tuple[Pair, float], ...]


def calibrate(pairs: Iterable[Pair], encoder: Encoder) -> Calibration:
    """Return the threshold for an encoder. It lies in the middle of the gap between two cosines. F0.5 counts precision
    twice, and of equal thresholds the highest is taken: a wrong merger hides a trouble, a wrong split only shows one
    twice. Raises UsageError without a pair of each label.
    """
    pairs = list(pairs)
    if len({pair.same for pair in pairs}) < 2:
        raise UsageError(
            "A threshold needs labelled pairs of both kinds.", hint="Label pairs as same and as different."
        )
    scored = [(pair, encoder.cosines([pair.first], [pair.second])[0][0]) for pair in pairs]
    values = sorted({score for _, score in scored})
    cuts = [(a + b) / 2 for a, b in itertools.pairwise(values)] or values
    best = max(cuts, key=lambda cut: (_f(scored, cut), cut))
    hits, found, wanted = _counts(scored, best)
    near = tuple(sorted((row for row in scored if abs(row[1] - best) <= NEAR), key=lambda row: row[1]))
    return Calibration(encoder.name, best, hits / found if found else 0.0, hits / wanted, len(pairs), near)


def _counts(scored: Sequence[tuple[Pair, float]], cut: float) -> tuple[int, int, int]:
    found = [pair.same for pair, score in scored if score >= cut]
    return sum(found), len(found), sum(pair.same for pair, _ in scored)


def _f(scored: Sequence[tuple[Pair, float]], cut: float) -> float:
    hits, found, wanted = _counts(scored, cut)
    return (1 + _BETA**2) * hits / (found + _BETA**2 * wanted)
