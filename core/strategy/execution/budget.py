"""One budget for a whole turn, however strategies call each other (X6)."""

from __future__ import annotations

from dataclasses import dataclass

from core.strategy.documents.release import Turn
from core.strategy.execution.clock import Clock

CODE = "TURN_BUDGET"


class BudgetSpentError(Exception):
    """The turn has used what it may. Nothing inside the turn recovers from it."""


@dataclass(slots=True)
class Budget:
    """Steps and time of a turn. A step is an attempt at a leaf, a round of a loop, a strategy begun, a probe.

    Invariant: `steps` never passes the limit, so no plan runs for ever, whatever it is.
    """

    limit: Turn
    clock: Clock
    began_ms: float
    steps: int = 0

    def step(self) -> None:
        """Use one step. Raises BudgetSpentError where none is left, or no time."""
        if self.steps >= self.limit.max_steps or self.left_ms() <= 0:
            raise BudgetSpentError
        self.steps += 1

    def left_ms(self) -> float:
        """Return how much of the turn's time is left."""
        return self.limit.max_ms - (self.clock.monotonic_ms() - self.began_ms)
