"""Money, by the (provider, model) pair: what is known, and how many requests are not (EVOLUTION 4.6 no. 20).

Unknown is not zero: a request without a count, or on a model without a price, is counted as unknown and adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from core.traces.digest import ModelUsage
from core.traces.tokens import Tokens


class PerMillion(Protocol):
    """USD for a million tokens of each kind; the models' `Price` is one."""

    @property
    def cache_read(self) -> float: ...

    @property
    def cache_write(self) -> float: ...

    @property
    def output(self) -> float: ...


Prices = Mapping[tuple[str, str], PerMillion | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """USD of the requests whose cost is known, and the number of those whose cost is not."""

    known_usd: float = 0.0
    unknown_requests: int = 0

    @property
    def usd(self) -> float | None:
        """The whole cost, None where any part of it is unknown."""
        return None if self.unknown_requests else self.known_usd

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.known_usd + other.known_usd, self.unknown_requests + other.unknown_requests)


class Rollable(Protocol):
    """A Session and the Sessions it started."""

    @property
    def usage(self) -> tuple[ModelUsage, ...]: ...

    @property
    def children(self) -> tuple[Rollable, ...]: ...

    @property
    def is_missing(self) -> bool: ...


def is_price(price: PerMillion) -> bool:
    """Tell whether a price can be reckoned with; one that is negative or not finite is none."""
    return all(math.isfinite(rate) and rate >= 0 for rate in (price.cache_read, price.cache_write, price.output))


def tokens_cost(tokens: Tokens, price: PerMillion) -> float:
    """Return USD for `tokens`."""
    return (
        tokens.cache_read * price.cache_read + tokens.cache_write * price.cache_write + tokens.output * price.output
    ) / 1e6


def usage_cost(usage: Iterable[ModelUsage], prices: Prices) -> Cost:
    """Return the cost of usage by model. A price that is negative or not finite is none."""
    cost = Cost()
    for part in usage:
        price = prices.get((part.provider, part.model_id))
        if price is None or not is_price(price):
            cost += Cost(0.0, part.requests)
        else:
            cost += Cost(tokens_cost(part.tokens, price), part.unknown)
    return cost


def own_cost(node: Rollable, prices: Prices) -> Cost:
    """Return what this Session spent itself; a Session whose trace is missing is one unknown."""
    return Cost(0.0, 1) if node.is_missing else usage_cost(node.usage, prices)


def roll_up(node: Rollable, prices: Prices) -> Cost:
    """Return what a Session and everything it started spent, sub-agents and Targets included (no. 68)."""
    cost = Cost()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        cost += own_cost(one, prices)
        waiting.extend(one.children)
    return cost
