"""Mean and standard deviation over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """`std` is the sample standard deviation (n - 1), None for fewer than two values: one run has no spread."""

    mean: float
    std: float | None
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.3g}" if self.std is None else f"{self.mean:.3g} ± {self.std:.2g}"


def finite(values: Sequence[float]) -> Sequence[float]:
    """Return `values`. Raises ValueError where one is NaN or infinite: that is no measurement, and no mean of it is."""
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is not finite; what was not measured is None")
    return values


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return the spread of what was measured, None where nothing was. Raises ValueError as `finite` does."""
    known = finite([value for value in values if value is not None])
    if not known:
        return None
    return Spread(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None, len(known))
