"""A Session's time in lanes: the analysis's own numbers, put side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.traces import records
from core.traces.analysis import analyze, span_ms
from core.traces.exchange import exchange_of, run_ms, wait_ms
from core.traces.lanes import timeline
from core.traces.parsing import Entry, TraceRecord, parse_line
from core.traces.reader import TraceFile
from core.traces.tokens import Tokens

FIXTURES = Path(__file__).parents[1] / "fixtures"
TRACES = sorted(
    path for name in ("penguin-state", "penguin-edge") for path in (FIXTURES / name).rglob("traces/*/*.jsonl")
)


class Price:
    cache_read, cache_write, output = 1.0, 10.0, 100.0


def at(ms: int) -> str:
    return f"2026-01-01T10:00:{ms // 1000:02d}.{ms % 1000:03d}Z"


def entries(*made: tuple[int, records.Record]) -> list[tuple[int, Entry]]:
    return [
        (number, parse_line(records.encode(one, at(ms)).rstrip(), line=number, start=1))
        for number, (ms, one) in enumerate(made)
    ]


META = records.session_meta(
    session_id="session-a", provider="p", model_id="m", model_context_window=1000, system_prompt="", agent_state="/a",
    workspace="/w",
)  # fmt: skip
TOLD = entries(
    (0, META),
    (0, records.user_text("Go")),
    (100, records.request_begin()),
    (400, records.thinking("Hm")),
    (600, records.tool_call("c1", "exec_command", "{}")),
    (900, records.approval_decision("allow", "c1")),
    (910, records.token_usage(Tokens(0, 100, 10), Tokens(0, 100, 10))),
    (920, records.request_end()),
    (2920, records.tool_call_output("c1", "ok")),
    (4000, records.request_begin()),
    (4500, records.request_end("failed", error_message="no")),
)


def test_each_lane_has_what_took_place_on_it() -> None:
    told = timeline(TOLD, {("p", "m"): Price()})
    lanes = {
        lane: [(one.start - told.begin, one.ms, one.kind) for one in found] for lane, found in told.stretches.items()
    }
    assert lanes["model"] == [(100, 300, "thinking"), (400, 200, "exec_command"), (4000, 500, "request failed")]
    assert lanes["tool"] == [(900, 2020, "exec_command")]
    assert lanes["approval"] == [(600, 300, "exec_command")]
    assert lanes["idle"] == [(0, 100, "idle"), (2920, 1080, "idle")]
    assert told.end - told.begin == 4500
    assert [one.is_failure for one in told.stretches["model"]] == [False, False, True]
    assert [one.number for one in told.stretches["model"]] == [3, 4, 9]


def test_each_request_has_its_tokens_cost_and_context() -> None:
    told = timeline(TOLD, {("p", "m"): Price()})
    first, second = told.requests
    assert (first.ms, first.thinking_ms, first.tokens, first.is_unknown) == (520, 300, Tokens(0, 100, 10), False)
    assert first.cost == pytest.approx((100 * 10 + 10 * 100) / 1e6)
    assert first.occupancy == pytest.approx(0.11)
    assert (second.status, second.tokens, second.cost) == ("failed", None, None)
    assert told.totals["model"] == 520 + 500
    unpriced = timeline(TOLD, {})
    assert unpriced.requests[0].cost is None
    assert unpriced.uncosted == 1


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem[-20:])
def test_the_numbers_are_the_analysis_own(path: Path) -> None:
    with TraceFile(path) as file:
        file.index()
        numbered = [(number, file.entry(number)) for number in range(len(file))]
        analysis = analyze(entry for _, entry in numbered if isinstance(entry, TraceRecord))
    told = timeline(numbered, {})
    assert told.totals["model"] == sum(task.llm_ms for task in analysis.tasks)
    assert told.totals["tool"] == sum(run_ms(tool) for tool in analysis.tools if tool.lane)
    assert sum(one.ms for one in told.stretches["approval"]) == sum(wait_ms(tool) for tool in analysis.tools)
    assert [line.ms for line in told.requests] == [request.active_ms for request in analysis.requests]
    assert told.tokens == analysis.tokens
    busy = told.end - told.begin - sum(one.ms for one in told.stretches["idle"])
    assert busy >= 0


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem[-20:])
def test_the_few_records_of_a_request_tell_the_same_as_the_whole_trace(path: Path) -> None:
    with TraceFile(path) as file:
        file.index()
        numbered = [(number, file.entry(number)) for number in range(len(file))]
    records_only = [(number, entry) for number, entry in numbered if isinstance(entry, TraceRecord)]
    analysis = analyze(entry for _, entry in records_only)
    begins = [number for number, entry in records_only if entry.kind == "request_begin"]
    for index, (begin, request) in enumerate(zip(begins, analysis.requests, strict=True)):
        end = begins[index + 1] if index + 1 < len(begins) else len(numbered)
        exchange = exchange_of(numbered[begin:end])
        assert exchange.request is not None
        assert (exchange.request.usage, exchange.model_ms) == (request.usage, request.active_ms)
        whole = {
            records_only[one.message][0]: max(0, span_ms(one.start, one.end))
            for one in analysis.segments
            if begin <= records_only[one.message][0] < end
        }
        assert {number: exchange.ms[number] for number in whole} == whole
