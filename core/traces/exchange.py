"""What one request to the model came to: its tokens, times and tools, from the few records it is told in.

A list of a large trace shows these beside its rows without analysing the whole. The numbers are the analysis's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.traces.analysis import Request, ToolUse, analyze, span_ms
from core.traces.cost import Prices, is_price, tokens_cost
from core.traces.parsing import Entry, Gap
from core.traces.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with what followed from it, up to the next one. Numbers are those of the entries.

    `ms` says how long each message took: the model for a text, a thought or a call, a tool for an answer. `shown_at` is
    the model's first message, beside which the request's own numbers stand; None where it gave none.
    """

    request: Request | None = None
    shown_at: int | None = None
    ms: dict[int, int] = field(default_factory=dict)
    waits: dict[int, int] = field(default_factory=dict)

    @property
    def tokens(self) -> Tokens | None:
        """Tokens of the request; None where no record tells them."""
        return self.request.usage if self.request is not None else None

    @property
    def model_ms(self) -> int | None:
        """Milliseconds that the model took, approvals not counted; None while it is at work."""
        return self.request.active_ms if self.request is not None else None

    @property
    def per_second(self) -> float | None:
        """Output tokens for a second of model time."""
        tokens, ms = self.tokens, self.model_ms
        return tokens.output * 1000 / ms if tokens is not None and ms else None

    @property
    def is_unknown(self) -> bool:
        """Whether tokens were spent that no record counts."""
        return self.request is not None and self.request.usage_unknown


def exchange_of(entries: Iterable[tuple[int, Entry]]) -> Exchange:
    """Return the exchange that numbered entries tell, from a request_begin to before the next."""
    numbers: list[int] = []
    records = []
    for number, entry in entries:
        if not isinstance(entry, Gap):
            numbers.append(number)
            records.append(entry)
    analysis = analyze(records)
    ms = {numbers[segment.message]: max(0, span_ms(segment.start, segment.end)) for segment in analysis.segments}
    ms |= {numbers[tool.answer]: run_ms(tool) for tool in analysis.tools if tool.answer is not None}
    waits = {numbers[tool.message]: wait_ms(tool) for tool in analysis.tools if wait_ms(tool)}
    shown_at = numbers[analysis.segments[0].message] if analysis.segments else None
    return Exchange(analysis.requests[0] if analysis.requests else None, shown_at, ms, waits)


def run_ms(tool: ToolUse) -> int:
    """Return how long a tool took: from the approval, or the call, to the answer; 0 while it runs."""
    return max(0, span_ms(tool.approval or tool.call, tool.output)) if tool.output else 0


def wait_ms(tool: ToolUse) -> int:
    """Return how long a call waited for its approval."""
    return max(0, span_ms(tool.call, tool.approval)) if tool.approval else 0


def request_cost(tokens: Tokens | None, meta: Mapping[str, object], prices: Prices) -> float | None:
    """Return USD of a request under a session_meta, None where tokens or price are not known."""
    price = prices.get((str(meta.get("provider") or ""), str(meta.get("model_id") or "")))
    return tokens_cost(tokens, price) if tokens is not None and price is not None and is_price(price) else None


def window_of(meta: Mapping[str, object]) -> int | None:
    """Return the context window that a session_meta names, in tokens."""
    window = meta.get("model_context_window")
    return window if isinstance(window, int) and not isinstance(window, bool) and window > 0 else None
