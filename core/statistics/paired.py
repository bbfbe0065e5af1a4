"""The same tasks under two arms: who won which, and McNemar's exact test (CURATION 1.8 lesson 9, K6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paired:
    """Two arms on the same tasks. `gained` are tasks that only the second solved, `lost` those that only the first did.

    `masked` pairs lack one result or both (lost to infrastructure) and count nowhere else.
    """

    both: int
    gained: int
    lost: int
    neither: int
    masked: int = 0

    @property
    def pairs(self) -> int:
        return self.both + self.gained + self.lost + self.neither

    @property
    def discordant(self) -> int:
        return self.gained + self.lost

    @property
    def difference(self) -> float | None:
        """The second arm's share of successes minus the first's, -1 to 1; None where nothing was measured."""
        return (self.gained - self.lost) / self.pairs if self.pairs else None

    @property
    def p_value(self) -> float | None:
        """McNemar's exact two-sided p-value; None without pairs. It takes pairs as independent (see `intervals`)."""
        return mcnemar(self.gained, self.lost) if self.pairs else None


def mcnemar(gained: int, lost: int) -> float:
    """Return the exact two-sided p-value of McNemar's test: under the null each discordant pair is a fair coin.

    Twice the smaller binomial tail, at most 1; 1 where no pair is discordant. Computed in whole numbers, so that no
    count is too large and no p too small until a float ends.
    """
    if gained < 0 or lost < 0:
        raise ValueError("counts are not negative")
    if gained == lost:
        return 1.0
    discordant = gained + lost
    tail = term = 1  # the binomial coefficients one from another: each anew would take minutes for thousands of pairs
    for found in range(min(gained, lost)):
        term = term * (discordant - found) // (found + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << discordant))


def pair(first: Sequence[bool | None], second: Sequence[bool | None]) -> Paired:
    """Count what two arms made of the same tasks, in the same order. Raises ValueError where the lengths differ."""
    counts = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
    masked = 0
    for one, other in zip(first, second, strict=True):
        if one is None or other is None:
            masked += 1
        else:
            counts[one, other] += 1
    return Paired(counts[True, True], counts[False, True], counts[True, False], counts[False, False], masked)


def differences(first: Sequence[float | None], second: Sequence[float | None]) -> tuple[float, ...]:
    """Return second minus first of every pair that was measured whole. Raises ValueError where the lengths differ."""
    pairs = zip(first, second, strict=True)
    return tuple(other - one for one, other in pairs if one is not None and other is not None)
