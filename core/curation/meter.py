"""What the models of a run have spent, and the point at which they may spend no more (DECISIONS 19).

Every request of a run passes one meter. Requests of unknown cost are counted as such: what is known is then a lower
bound. A run that is resumed begins with a budget of its own, since somebody decided to go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.foundation.errors import BlockedError
from core.models.interface import Price, Usage


class BudgetSpentError(BlockedError):
    """The run's budget is used up; what is done stays, and whoever resumes grants it again."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run, in tokens and in USD; None is no limit."""

    tokens: int | None = None
    usd: float | None = None


class Meter:
    """Counts. Invariant: `tokens` and `usd` are what is known, `unknown` how many requests told no usage or price."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self.tokens = 0
        self.usd = 0.0
        self.unknown = 0

    def take(self, usage: Usage | None, price: Price | None) -> None:
        """Count a request that was answered, or that cost something all the same."""
        if usage is None:
            self.unknown += 1
            return
        self.tokens += usage.total
        if price is None:
            self.unknown += 1
        else:
            self.usd += price.cost(usage)

    def check(self) -> None:
        """Raise BudgetSpentError where nothing more may be asked."""
        limits = self._budget
        if limits.tokens is not None and self.tokens >= limits.tokens:
            raise BudgetSpentError(
                f"The token budget is used: {self.tokens:,} of {limits.tokens:,}.", hint="Resume it to grant it again."
            )
        if limits.usd is not None and self.usd >= limits.usd:
            raise BudgetSpentError(
                f"The money budget is used: {self.usd:.4f} of {limits.usd:.4f} USD.",
                hint="Resume it to grant it again.",
            )
