"""Bad cases that are one trouble: first by structure, then by what was said (STRATEGY S99).

Structure is what the records know for certain: strategy, skill, failure code, failed check. Only inside one structure
are utterances compared. The result depends on the cases alone, not on their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

from core.strategy.execution.trace import fingerprint
from core.strategy.feedback.bad_cases import BadCase
from core.strategy.feedback.encoders import NEAR, THRESHOLDS, Encoder, comparable


@dataclass(frozen=True, slots=True, order=True)
class Structure:
    """What cases of one cluster share. "" where it isn't known."""

    strategy_id: str
    skill: str
    code: str
    check: str


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two cases about which the threshold could as well have said the opposite."""

    first: str
    second: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cases of one trouble, in order of time. `id` stays while its first case does. `example` is the utterance that is
    nearest to all others. `sessions` is in how many sessions it was met, `near` are pairs near the cut.
    """

    id: str
    structure: Structure
    cases: tuple[str, ...]
    sessions: int
    example: str
    first_time: str
    last_time: str
    near: tuple[NearPair, ...] = ()

    @property
    def count(self) -> int:
        """How many cases there are."""
        return len(self.cases)


def structure_of(case: BadCase) -> Structure:
    """Return what a case is grouped by at first."""
    return Structure(case.strategy_id or "", case.skill, case.code, case.check)


def cluster(cases: Iterable[BadCase], encoder: Encoder, threshold: float | None = None) -> tuple[Cluster, ...]:
    """Return the clusters, the largest first. Cases are joined where a chain of neighbours has at least `threshold`
    (the encoder's own unless given) between each two. Raises KeyError for an encoder without a threshold.
    """
    cut = THRESHOLDS[encoder.name] if threshold is None else threshold
    groups: dict[Structure, list[BadCase]] = defaultdict(list)
    for case in {case.id: case for case in cases}.values():
        groups[structure_of(case)].append(case)
    found = [part for key in sorted(groups) for part in _split(key, groups[key], encoder, cut)]
    return tuple(sorted(found, key=lambda one: (-one.count, one.structure, one.id)))


def _split(key: Structure, cases: Sequence[BadCase], encoder: Encoder, cut: float) -> list[Cluster]:
    by_text: dict[str, list[BadCase]] = defaultdict(list)
    for case in cases:
        by_text[comparable(case.utterance)].append(case)
    texts = sorted(by_text)
    rows = encoder.cosines(texts, texts)
    parent = list(range(len(texts)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    near = []
    for a in range(len(texts)):
        for b in range(a):
            if rows[a][b] >= cut:
                parent[root(a)] = root(b)
            if abs(rows[a][b] - cut) <= NEAR:
                near.append((a, b))
    parts: dict[int, list[int]] = defaultdict(list)
    for at in range(len(texts)):
        parts[root(at)].append(at)
    return [_made(key, texts, members, rows, by_text, near) for members in parts.values()]


def _made(
    key: Structure,
    texts: Sequence[str],
    members: Sequence[int],
    rows: Sequence[Sequence[float]],
    by_text: Mapping[str, Sequence[BadCase]],
    near: Iterable[tuple[int, int]],
) -> Cluster:
    cases = sorted((case for at in members for case in by_text[texts[at]]), key=lambda case: (case.time, case.id))
    middle = max(members, key=lambda a: (sum(rows[a][b] * len(by_text[texts[b]]) for b in members), texts[a]))
    first = {at: min(case.id for case in by_text[texts[at]]) for at in range(len(texts))}
    pairs = tuple(NearPair(first[a], first[b], rows[a][b]) for a, b in near if a in members or b in members)
    return Cluster(
        id=f"cluster-{fingerprint([astuple(key), cases[0].id])}",
        structure=key,
        cases=tuple(case.id for case in cases),
        sessions=len({case.session for case in cases}),
        example=min(by_text[texts[middle]], key=lambda case: case.id).utterance,
        first_time=cases[0].time,
        last_time=cases[-1].time,
        near=pairs,
    )
