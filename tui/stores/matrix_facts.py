"""What a matrix comes to: means, spread, differences, noise, counts, time left, and what should alarm. Pure.

Invalid is never zero: a Case without a score has no mean, one Run has no spread, and nothing is said about what is
not known (FAULTS: statistics; empty set = zero).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MANY_RUNS = 5
"""From this many Runs on, the spread is the standard deviation; below, the range says more."""
SAME_FOR_ALARM = 3
"""So many scores, all the same over several Cases, are an alarm."""

STATES = ("scored", "reused", "failed", "interrupted", "running", "repairing", "queued", "planned")
OPEN = frozenset({"running", "repairing", "queued", "planned", "interrupted"})


def spread_name(columns: int) -> str:
    """Return what the spread of a matrix is: `range` (highest minus lowest) or `sd` (standard deviation)."""
    return "sd" if columns >= MANY_RUNS else "range"


def spread(scores: Sequence[float], name: str) -> float | None:
    """Return the spread of a Case's Runs in points; None below two Runs, where there is none."""
    if len(scores) < 2:
        return None
    if name == "range":
        return round(max(scores) - min(scores), 2)
    return round(deviation(scores), 2)


def deviation(scores: Sequence[float]) -> float:
    """Return the sample standard deviation of at least two scores."""
    mean = math.fsum(scores) / len(scores)
    return math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1))


def error_of_mean(cases: Iterable[Sequence[float]]) -> float | None:
    """Return the standard error of the mean over Cases that comes from Run to Run; None where any has one Run."""
    variances: list[float] = []
    for scores in cases:
        if len(scores) < 2:
            return None
        variances.append(deviation(scores) ** 2 / len(scores))
    return math.sqrt(math.fsum(variances)) / len(variances) if variances else None


def is_noise(delta: float | None, one: float | None, other: float | None) -> bool | None:
    """Tell whether a difference of two means lies within two standard errors; None where no error is known."""
    if delta is None or one is None or other is None:
        return None
    return abs(delta) <= 2 * math.hypot(one, other)


def difference(score: float | None, against: float | None) -> float | None:
    """Return how much better the first is, in points; swapping the two changes only the sign."""
    if score is None or against is None:
        return None
    return math.copysign(round(abs(score - against), 2), score - against) + 0.0 if score != against else 0.0


@dataclass(frozen=True, slots=True)
class Base:
    """What a matrix is held against: its name in words, its Cases' means, and its cells with their Sessions.

    `why_not` says why the two may not be compared, "" where they may.
    """

    name: str
    means: Mapping[str, float] = field(default_factory=dict)
    cells: Mapping[tuple[str, int], tuple[float, str]] = field(default_factory=dict)
    why_not: str = ""

    def runs_of(self, case_id: str) -> tuple[float, ...]:
        """Return the scores of a Case's Runs."""
        return tuple(score for (case, _), (score, _) in self.cells.items() if case == case_id)


def counted(states: Iterable[str]) -> str:
    """Return how many cells are in which state: `14 scored, 1 failed, 1 running of 16`."""
    counts = Counter(states)
    total = sum(counts.values())
    known = [f"{counts[state]} {state}" for state in STATES if counts[state]]
    known += [f"{count} {state}" for state, count in sorted(counts.items()) if state not in STATES]
    if not total:
        return "no cells"
    return ", ".join(known) + (f" of {total}" if len(known) > 1 or not (counts["scored"] or counts["reused"]) else "")


def time_left_ms(durations: Sequence[int], to_do: int, concurrency: int) -> int | None:
    """Return about how long the open cells will take; None before two cells have finished or where none is open."""
    if len(durations) < 2 or to_do <= 0:
        return None
    mean = sum(durations) / len(durations)
    return round(mean * math.ceil(to_do / max(1, concurrency)))


def alarm(cases: Sequence[Sequence[float]]) -> str:
    """Return why a matrix is no result but an alarm, "" where it is none: all scores zero, or all the same.

    The first scores of a matrix that is being filled are often alike; it takes half of its Cases to be alarmed.
    """
    scored = [scores for scores in cases if scores]
    if 2 * len(scored) < len(cases):
        return ""
    scores = [score for runs in scored for score in runs]
    if len(scores) < 2 or len(set(scores)) > 1:
        return ""
    if scores[0] == 0:
        return f"all {len(scores)} scores are 0.00"
    if len(scores) >= SAME_FOR_ALARM and len(scored) > 1:
        return f"all {len(scores)} scores are {scores[0]:.2f}, the same"
    return ""
