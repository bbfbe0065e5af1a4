"""When a Session has had enough: pure decisions over what it has spent (DECISIONS 19).

Unknown is not zero: where a provider did not say how many tokens a request took, or a model has no price, the
known part is a lower bound, and the limit holds against that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits of a Session, on by default.

    `max_turns` counts the requests that one prompt leads to; `wall_s` the seconds a Session works, all prompts
    together; `tokens` and `cost_usd` what all its requests took. `repeats` is how many times in a row the same calls
    with the same arguments may bring the same outputs before the turn is ended as a loop.
    """

    max_turns: int = 60
    wall_s: float = 1800.0
    tokens: int = 2_000_000
    cost_usd: float | None = None
    repeats: int = 5

    def with_max_turns(self, configured: int | None) -> Budgets:
        """Take the agent's own `max_turns`; -1 or nothing keeps the default (DECISIONS 19)."""
        if configured is None or configured < 1:
            return self
        return Budgets(configured, self.wall_s, self.tokens, self.cost_usd, self.repeats)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a Session has used so far; tokens and cost are what is known of them."""

    turns: int
    seconds: float
    tokens: int
    cost_usd: float
    repeats: int


def exceeded(budgets: Budgets, spent: Spent) -> str | None:
    """Return why the next request may not go out (the text begins with "budget:" or "loop:"), or None."""
    if spent.repeats >= budgets.repeats:
        return f"loop: the same calls brought the same outputs {spent.repeats} times in a row"
    if spent.turns >= budgets.max_turns:
        return f"budget: {spent.turns} requests in this turn, the limit is {budgets.max_turns}"
    if spent.tokens >= budgets.tokens:
        return f"budget: {spent.tokens} tokens, the limit is {budgets.tokens}"
    if budgets.cost_usd is not None and spent.cost_usd >= budgets.cost_usd:
        return f"budget: {spent.cost_usd:.4f} USD, the limit is {budgets.cost_usd:.4f}"
    if spent.seconds >= budgets.wall_s:
        return wall_reason(budgets)
    return None


def wall_reason(budgets: Budgets) -> str:
    """Return the reason recorded when the time is up."""
    return f"budget: the time is up, the limit is {budgets.wall_s:g} s"
