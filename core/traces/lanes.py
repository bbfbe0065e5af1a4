"""A Session over time: what the model, its tools and the wait for approvals took, request by request.

Everything here is the analysis's own (EVOLUTION 2.9 no. 79 to 85), put side by side; idle is what is left between.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.foundation.clock import parse_ms
from core.traces.analysis import Analysis, Request, analyze
from core.traces.cost import Prices
from core.traces.exchange import request_cost, run_ms, wait_ms, window_of
from core.traces.parsing import Entry, TraceRecord
from core.traces.tokens import Tokens

Lane = Literal["model", "tool", "approval", "connect", "idle"]
LANES: tuple[Lane, ...] = ("model", "tool", "approval", "connect", "idle")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Something that took from `start` to `end` (milliseconds since the epoch); `number` is the entry that tells of it.

    `kind` is thinking, text, tool_call or request for the model, and the tool's name for a tool.
    """

    start: int
    end: int
    kind: str
    number: int | None = None
    is_failure: bool = False

    @property
    def ms(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A request in numbers. `tokens` None and `is_unknown`: nobody counted them; `cost` None: not known.

    `ms` is the model's time without waiting for approvals, `thinking_ms` what of it went into thoughts.
    """

    index: int
    number: int
    start: int | None
    ms: int | None
    thinking_ms: int
    status: str
    tokens: Tokens | None
    is_unknown: bool
    cost: float | None
    window: int | None
    is_compaction: bool

    @property
    def per_second(self) -> float | None:
        """Output tokens for a second of model time."""
        return self.tokens.output * 1000 / self.ms if self.tokens is not None and self.ms else None

    @property
    def context(self) -> int | None:
        """Tokens that the conversation takes after this request."""
        return self.tokens.total if self.tokens is not None else None

    @property
    def occupancy(self) -> float | None:
        """How full the context is, from 0 to 1."""
        return min(1.0, self.context / self.window) if self.context is not None and self.window else None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A Session over time, from `begin` to `end` in milliseconds since the epoch; both 0 where no record has a time.

    `totals` are milliseconds of each lane; the model's is Σ of the Tasks' model time (no. 83), not of its stretches.
    """

    begin: int = 0
    end: int = 0
    stretches: Mapping[Lane, tuple[Stretch, ...]] = field(default_factory=dict)
    totals: Mapping[Lane, int] = field(default_factory=dict)
    requests: tuple[RequestLine, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    unknown: int = 0
    cost: float = 0.0
    uncosted: int = 0


def timeline(entries: Iterable[tuple[int, Entry]], prices: Prices) -> Timeline:
    """Return a Session's time, from its numbered entries."""
    numbers: list[int] = []
    metas: list[tuple[int, dict[str, Any]]] = []
    edges: list[int | None] = [None, None]

    def records() -> Iterator[TraceRecord]:
        for number, entry in entries:
            if not isinstance(entry, TraceRecord):
                continue
            if entry.kind == "session_meta":
                kept = ("provider", "model_id", "model_context_window")
                metas.append((len(numbers), {name: entry.payload.get(name) for name in kept}))
            elif (moment := parse_ms(entry.timestamp)) is not None:
                edges[0] = moment if edges[0] is None else min(edges[0], moment)
                edges[1] = moment if edges[1] is None else max(edges[1], moment)
            numbers.append(number)
            yield entry

    analysis = analyze(records())
    begin, end = edges[0] or 0, edges[1] or 0
    model, thinking = _model(analysis, numbers)
    found: dict[Lane, tuple[Stretch, ...]] = {
        "model": model,
        "tool": tuple(
            _stretch(tool.approval or tool.call, tool.output, tool.name, numbers[tool.message], tool.stop_reason)
            for tool in analysis.tools
            if tool.lane and tool.output
        ),
        "approval": tuple(
            _stretch(tool.call, tool.approval, tool.name, numbers[tool.message])
            for tool in analysis.tools
            if tool.approval and wait_ms(tool)
        ),
        "connect": tuple(
            _stretch(one.start, one.end, "connect", None, "failed" if one.failed else "")
            for one in analysis.connections
            if one.end
        ),
    }
    found["idle"] = _idle(begin, end, (one for lane in found.values() for one in lane), analysis.requests)
    totals: dict[Lane, int] = {lane: sum(one.ms for one in found[lane]) for lane in LANES}
    totals["model"] = sum(task.llm_ms for task in analysis.tasks)
    totals["tool"] = sum(run_ms(tool) for tool in analysis.tools if tool.lane)
    lines = tuple(
        _line(index, request, numbers[request.message], thinking.get(index, 0), _meta(metas, request.message), prices)
        for index, request in enumerate(analysis.requests)
    )
    costs = [line.cost for line in lines if line.cost is not None]
    return Timeline(
        begin,
        end,
        found,
        totals,
        lines,
        analysis.tokens,
        analysis.unknown_requests,
        sum(costs),
        sum(line.cost is None and (line.tokens is not None or line.is_unknown) for line in lines),
    )


def _model(analysis: Analysis, numbers: list[int]) -> tuple[tuple[Stretch, ...], dict[int, int]]:
    """Return the model's stretches, and milliseconds of thinking by request. A request that gave nothing is one too."""
    begins = [request.message for request in analysis.requests]
    thinking: dict[int, int] = {}
    answered: set[int] = set()
    found: list[Stretch] = []
    for segment in analysis.segments:
        one = _stretch(segment.start, segment.end, segment.name or segment.kind, numbers[segment.message])
        found.append(one)
        of = bisect_right(begins, segment.message) - 1
        answered.add(of)
        if segment.kind == "thinking":
            thinking[of] = thinking.get(of, 0) + one.ms
    for index, request in enumerate(analysis.requests):
        if index not in answered and request.end:
            status = request.status or ""
            found.append(_stretch(request.begin, request.end, f"request {status}", numbers[request.message], status))
    return tuple(sorted(found, key=lambda one: one.start)), thinking


def _stretch(start: str, end: str | None, kind: str, number: int | None, status: str | None = "") -> Stretch:
    first, last = parse_ms(start), parse_ms(end or "")
    first = last if first is None else first
    if first is None:
        return Stretch(0, 0, kind, number, status not in (None, "", "completed"))
    return Stretch(
        first, max(first, first if last is None else last), kind, number, status not in (None, "", "completed")
    )


def _idle(begin: int, end: int, busy: Iterable[Stretch], requests: list[Request]) -> tuple[Stretch, ...]:
    """Return what lies between everything else. A request counts from its beginning to its end, silent or not."""
    spans = [(one.start, one.end) for one in busy if one.end]
    for request in requests:
        first, last = parse_ms(request.begin), parse_ms(request.end or "")
        if first is not None and last is not None:
            spans.append((first, last))
    found: list[Stretch] = []
    at = begin
    for first, last in sorted(spans):
        if first > at:
            found.append(Stretch(at, first, "idle"))
        at = max(at, last)
    if end > at:
        found.append(Stretch(at, end, "idle"))
    return tuple(found)


def _meta(metas: list[tuple[int, dict[str, Any]]], message: int) -> dict[str, Any]:
    place = bisect_right(metas, message, key=lambda one: one[0]) - 1
    return metas[place][1] if place >= 0 else {}


def _line(
    index: int, request: Request, number: int, thinking_ms: int, meta: Mapping[str, Any], prices: Prices
) -> RequestLine:
    return RequestLine(
        index,
        number,
        parse_ms(request.begin),
        request.active_ms,
        thinking_ms,
        request.status or "",
        request.usage,
        request.usage_unknown,
        request_cost(request.usage, meta, prices),
        window_of(meta),
        request.compaction,
    )
