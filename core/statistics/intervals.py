"""Intervals: Wilson's for a share, a bootstrap that resamples whole streams, Student's over the means of streams.

Tasks of one stream share a repository, so they are no independent draws: one bad skill early on fails many. An
interval for what a curator brings therefore resamples streams, not tasks (CURATION 2c, caveat c).
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from core.statistics.spread import finite
from core.statistics.student import normal_quantile, student_quantile


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; `confidence` is a share, 0.95 as a rule."""

    low: float
    high: float
    confidence: float = 0.95

    def excludes(self, value: float) -> bool:
        return not self.low <= value <= self.high


def wilson(successes: int, count: int, *, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval of a share; None where nothing was counted. It takes draws as independent."""
    if not 0 <= successes <= count:
        raise ValueError("successes lie between 0 and the count")
    if count == 0:
        return None
    z = normal_quantile((1 + confidence) / 2)
    share = successes / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    # At the ends the bound is the share itself; rounding must not put it a hair beside it.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == count else min(1.0, middle + half)
    return Interval(low, high, confidence)


def clustered_bootstrap(
    clusters: Sequence[Sequence[float]], *, seed: int, resamples: int = 4000, confidence: float = 0.95
) -> Interval | None:
    """Return the percentile interval of the mean over all values, resampling whole clusters with replacement.

    Empty clusters are left out. None for fewer than two clusters: nothing tells then how streams differ. With fewer
    than about ten clusters it is too narrow (the means of three clusters take ten values); see `over_clusters`.
    Raises ValueError where a value is not finite.
    """
    sums = [(math.fsum(finite(values)), len(values)) for values in clusters if values]
    if len(sums) < 2:
        return None
    draw = random.Random(seed)  # noqa: S311  # a bootstrap, not a secret
    means: list[float] = []
    for _ in range(resamples):
        drawn = draw.choices(sums, k=len(sums))
        means.append(math.fsum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    tail = (1 - confidence) / 2
    return Interval(_percentile(means, tail), _percentile(means, 1 - tail), confidence)


def over_clusters(clusters: Sequence[Sequence[float]], *, confidence: float = 0.95) -> Interval | None:
    """Return Student's interval of the mean of cluster means, with clusters - 1 degrees of freedom.

    Each cluster counts once, however large. It is wide where there are few, and honest; clusters that agree by chance
    have no width, so it is never the only sign of a difference. None for fewer than two. Raises ValueError where a
    value is not finite.
    """
    means = [statistics.fmean(finite(values)) for values in clusters if values]
    if len(means) < 2:
        return None
    half = student_quantile((1 + confidence) / 2, len(means) - 1) * statistics.stdev(means) / math.sqrt(len(means))
    middle = statistics.fmean(means)
    return Interval(middle - half, middle + half, confidence)


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value at `share` of an ordered sequence, linear between neighbours."""
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])
