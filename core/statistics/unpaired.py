"""Two independent samples of yes and no: Fisher's exact test, one-sided (X4)."""

from __future__ import annotations

import math


def fisher(successes: int, count: int, other_successes: int, other_count: int) -> float | None:
    """Return the exact one-sided p-value that the second sample's share of successes is not higher than the first's.

    Small where the second is higher. Given both totals, its successes are hypergeometric under the null (Fisher 1935);
    the p-value is the upper tail. It is exact for any size and never too small. None where a sample is empty. It takes
    draws as independent. Raises ValueError where successes exceed a count.
    """
    if not (0 <= successes <= count and 0 <= other_successes <= other_count):
        raise ValueError("successes lie between 0 and the count")
    if not count or not other_count:
        return None
    total = successes + other_successes
    most = min(total, other_count)
    whole = _log_choose(count + other_count, total)
    term = math.exp(_log_choose(other_count, other_successes) + _log_choose(count, successes) - whole)
    if term == 0.0:
        # Further out than a float reaches: on the one side next to nothing is left, on the other next to everything.
        return 0.0 if other_successes * count > successes * other_count else 1.0
    tail = 0.0
    for found in range(other_successes, most + 1):
        tail += term
        if term < tail * 1e-17:
            break
        # The next probability from this one: choose anew would cost four logarithms of gamma a step.
        term *= (other_count - found) * (total - found) / ((found + 1) * (count - total + found + 1))
    return min(1.0, tail)


def _log_choose(count: int, taken: int) -> float:
    return math.lgamma(count + 1) - math.lgamma(taken + 1) - math.lgamma(count - taken + 1)
