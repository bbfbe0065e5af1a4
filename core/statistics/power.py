"""The minimum detectable effect: the smallest true difference that a study of this size would find (lesson 9, K14).

An observed difference below it neither shows an effect nor its absence; a table that prints the one prints the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from core.statistics.student import normal_quantile, student_quantile

ALPHA = 0.05
POWER = 0.8


def paired_shares(pairs: int, discordant: float, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Return the smallest difference of two shares on the same tasks that McNemar's test finds with `power`.

    `discordant` is the expected share of pairs in which the arms differ. Solves Connor's formula (1987)
    pairs = (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2 for d. It takes pairs as independent. None where no
    difference is large enough: |d| can't exceed psi, the share of pairs that differ.
    """
    if pairs <= 0 or not 0 < discordant <= 1:
        return None
    z_alpha, z_beta = _z(alpha, power)

    def missing(d: float) -> float:
        return z_alpha * math.sqrt(discordant) + z_beta * math.sqrt(discordant - d * d) - d * math.sqrt(pairs)

    return _root(missing, discordant)


def unpaired_shares(
    share: float, count: int, other_count: int | None = None, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Return the smallest rise above `share` that a comparison of two independent samples finds with `power`.

    The usual normal formula with the pooled share under the null; sizes `count` and `other_count` (the same where
    None). None where even certainty would not be found.
    """
    other = count if other_count is None else other_count
    if count <= 0 or other <= 0 or not 0 <= share < 1:
        return None
    z_alpha, z_beta = _z(alpha, power)

    def missing(d: float) -> float:
        raised = share + d
        pooled = (share * count + raised * other) / (count + other)
        null = math.sqrt(pooled * (1 - pooled) * (1 / count + 1 / other))
        real = math.sqrt(share * (1 - share) / count + max(0.0, raised * (1 - raised)) / other)
        return z_alpha * null + z_beta * real - d

    return _root(missing, 1 - share)


def means(
    std: float, count: int, other_count: int | None = None, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Return the smallest difference of two means over seeds that a t-test finds with `power`.

    `std` is the standard deviation between seeds, `count` the seeds an arm. Uses Student's quantiles, since five seeds
    are not many: d = (t_{1-a/2} + t_{power}) std sqrt(1/n + 1/m). None for fewer than two seeds an arm.
    """
    other = count if other_count is None else other_count
    if count < 2 or other < 2 or std < 0:
        return None
    degrees = count + other - 2
    reach = student_quantile(1 - alpha / 2, degrees) + student_quantile(power, degrees)
    return reach * std * math.sqrt(1 / count + 1 / other)


def clusters(std: float, count: int, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Return the smallest mean difference that a paired t-test over streams finds with `power`.

    `std` is the standard deviation of a stream's own difference, `count` the streams. This is the effect that a study
    of few streams can really find; `paired_shares` is what it could find if tasks were independent.
    """
    if count < 2 or std < 0:
        return None
    reach = student_quantile(1 - alpha / 2, count - 1) + student_quantile(power, count - 1)
    return reach * std / math.sqrt(count)


def _z(alpha: float, power: float) -> tuple[float, float]:
    return normal_quantile(1 - alpha / 2), normal_quantile(power)


def _root(missing: Callable[[float], float], most: float) -> float | None:
    """Return the smallest d up to `most` where `missing`, which falls with d, reaches 0; None where it never does."""
    if missing(most) > 0:
        return None
    low, high = 0.0, most
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return high
