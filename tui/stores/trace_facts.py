"""What stands beside an entry: how long it took, what its request cost, how full the context was. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.traces.cost import Prices
from core.traces.exchange import Exchange, request_cost, window_of
from core.traces.tokens import Tokens


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A request in numbers. `tokens` is None and `is_unknown` true where they were spent and not counted; `cost` is
    None where tokens or price are not known; `window` is the model's context in tokens, None where nobody said.
    """

    tokens: Tokens | None
    is_unknown: bool
    ms: int | None
    per_second: float | None
    cost: float | None
    window: int | None
    status: str = ""
    is_compaction: bool = False

    @property
    def context(self) -> int | None:
        """Tokens that the conversation takes after this request."""
        return self.tokens.total if self.tokens is not None else None

    @property
    def occupancy(self) -> float | None:
        """How full the context is, from 0 to 1."""
        return min(1.0, self.context / self.window) if self.context is not None and self.window else None


@dataclass(frozen=True, slots=True)
class Facts:
    """`ms` and `wait_ms` are of the entry itself; `request` stands beside the first message of its request only, `of`
    is the request that it belongs to.
    """

    ms: int | None = None
    wait_ms: int = 0
    request: RequestFacts | None = None
    of: RequestFacts | None = None


NOTHING = Facts()


def facts_of(exchange: Exchange, number: int, meta: Mapping[str, object], prices: Prices) -> Facts:
    """Return what stands beside entry `number` of an exchange."""
    request = request_facts(exchange, meta, prices)
    return Facts(
        exchange.ms.get(number),
        exchange.waits.get(number, 0),
        request if number == exchange.shown_at else None,
        request,
    )


def request_facts(exchange: Exchange, meta: Mapping[str, object], prices: Prices) -> RequestFacts | None:
    """Return a request in numbers, None where there was none."""
    if exchange.request is None:
        return None
    return RequestFacts(
        exchange.tokens,
        exchange.is_unknown,
        exchange.model_ms,
        exchange.per_second,
        request_cost(exchange.tokens, meta, prices),
        window_of(meta),
        exchange.request.status or "",
        exchange.request.compaction,
    )
