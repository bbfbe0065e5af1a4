"""Quantiles: the normal one from the standard library, Student's from the incomplete beta function.

The continued fraction is Lentz's (Numerical Recipes 6.4, after Abramowitz and Stegun 26.5.8).
"""

from __future__ import annotations

import math
from statistics import NormalDist

_TINY = 1e-300
_ENOUGH = 1e-15
_ROUNDS = 500


def normal_quantile(probability: float) -> float:
    """Return z with P(Z <= z) = probability. Raises ValueError outside (0, 1)."""
    if not 0 < probability < 1:
        raise ValueError("a probability lies between 0 and 1")
    return NormalDist().inv_cdf(probability)


def student_cdf(t: float, degrees: float) -> float:
    """Return P(T <= t) for Student's distribution with `degrees` of freedom (above 0)."""
    if degrees <= 0:
        raise ValueError("degrees of freedom are above 0")
    square = t * t
    if square < degrees:  # near the middle the tail is all but a half: count from the middle, which loses no digits
        return 0.5 + math.copysign(incomplete_beta(0.5, degrees / 2, square / (degrees + square)) / 2, t)
    tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + square)) / 2
    return 1 - tail if t > 0 else tail


def student_quantile(probability: float, degrees: float) -> float:
    """Return t with P(T <= t) = probability, to about 1e-12. Raises ValueError outside (0, 1)."""
    if not 0 < probability < 1:
        raise ValueError("a probability lies between 0 and 1")
    if probability < 0.5:
        return -student_quantile(1 - probability, degrees)
    low, high = 0.0, 1.0
    while student_cdf(high, degrees) < probability:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if student_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b), for x in [0, 1]."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _ROUNDS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + numerator * d)
            c = _apart(1 + numerator / c)
            value *= d * c
        if abs(d * c - 1) < _ENOUGH:
            return value
    return value


def _apart(value: float) -> float:
    """Keep a denominator away from 0."""
    return value if abs(value) > _TINY else _TINY
