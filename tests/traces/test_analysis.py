"""The rules of the analysis one by one (EVOLUTION 2.9), beside the goldens."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.models.interface import Usage
from core.traces import records
from core.traces.analysis import Analysis, analyze
from core.traces.digest import digest
from core.traces.parsing import TraceRecord, parse_line
from core.traces.records import Record
from core.traces.tokens import Tokens, session_tokens

META = records.session_meta(
    session_id="s",
    provider="p",
    model_id="m",
    model_context_window=None,
    system_prompt="",
    agent_state="/a",
    workspace="/w",
)
BEGIN = records.request_begin()
ANSWER = records.assistant_text("ok")
END = records.request_end()
CALL = records.tool_call("c", "t", "{}")
OUTPUT = records.tool_call_output("c", "done")
IMAGE: Record = ("model_msg", {"type": "image_url", "role": "user", "image_url": "data:,"})
STEERING = records.user_text("[user_steering]\nturn left\n[/user_steering]")
COMPACT = records.compaction_begin("context", "summarize", context=1, turns=1)
COMPACTED = records.compaction_end("context", "summarize", "completed")


def moment(second: float) -> str:
    return f"2026-01-01T00:{int(second) // 60:02d}:{second % 60:06.3f}Z"


def trace(written: Iterable[Record], at: dict[int, float] | None = None) -> list[TraceRecord]:
    """Records one second apart; `at` moves single ones."""
    return [
        TraceRecord(number, 0, 0, moment((at or {}).get(number, number)), kind, payload)
        for number, (kind, payload) in enumerate(written)
    ]


def run(*written: Record, at: dict[int, float] | None = None) -> Analysis:
    return analyze(trace(written, at))


def spans(analysis: Analysis) -> list[tuple[int, int]]:
    return [(task.first, task.last) for task in analysis.tasks]


def user(text: str = "hi") -> Record:
    return records.user_text(text)


# 79: what starts a Task


def test_nothing_is_an_empty_analysis() -> None:
    empty = run()
    assert empty.as_golden() == {
        "elapsedMs": 0,
        "requests": [],
        "tasks": [],
        "toolCalls": [],
        "modelSegments": [],
        "toolSpans": [],
        "otherSpans": [],
        "reconnectCount": 0,
        "compactionCount": 0,
        "usageTrend": [],
    }
    assert run(META).as_golden() == empty.as_golden()


def test_each_user_turn_is_a_task_and_its_messages_before_the_request_are_its_own() -> None:
    assert spans(run(META, user(), BEGIN, ANSWER, END, user(), META, BEGIN, ANSWER, END)) == [(0, 4), (5, 9)]


def test_a_user_text_ends_a_chain_of_tool_calls() -> None:
    assert spans(run(user(), BEGIN, CALL, END, OUTPUT, user(), BEGIN, ANSWER, END)) == [(0, 4), (5, 8)]


def test_a_text_and_its_images_are_one_turn_and_an_image_alone_is_one_too() -> None:
    assert spans(run(user(), IMAGE, IMAGE, BEGIN, END, IMAGE, IMAGE, BEGIN, END)) == [(0, 4), (5, 8)]
    inline: Record = ("model_msg", {"type": "inline_data", "role": "user", "data": "", "mime_type": "image/png"})
    assert spans(run(user(), BEGIN, END, inline, BEGIN, END)) == [(0, 2), (3, 5)]


def test_steering_and_the_images_after_it_belong_to_the_turn_they_steer() -> None:
    assert spans(run(user(), BEGIN, END, STEERING, IMAGE, IMAGE, BEGIN, END)) == [(0, 7)]
    assert spans(run(user(), BEGIN, CALL, END, OUTPUT, STEERING, BEGIN, END)) == [(0, 7)]


def test_an_image_that_does_not_follow_steering_directly_is_a_turn() -> None:
    assert spans(run(user(), BEGIN, CALL, END, STEERING, OUTPUT, IMAGE, BEGIN, END)) == [(0, 5), (6, 8)]


def test_unclosed_steering_is_plain_text() -> None:
    assert spans(run(user(), BEGIN, END, user("[user_steering]\nturn left"), BEGIN, END)) == [(0, 2), (3, 5)]


def test_a_turn_after_steering_is_a_turn() -> None:
    assert spans(run(user(), BEGIN, END, STEERING, user(), BEGIN, END)) == [(0, 3), (4, 6)]


def test_a_childs_message_starts_nothing() -> None:
    kind, payload = user()
    child: Record = (kind, {**payload, "origin": ["child"]})
    assert spans(run(user(), BEGIN, CALL, END, child, BEGIN, END)) == [(0, 6)]


def test_a_compaction_is_a_task_of_its_own_and_its_prompt_is_no_turn() -> None:
    got = run(user(), BEGIN, ANSWER, END, COMPACT, user("summarize"), BEGIN, ANSWER, END, COMPACTED, user(), BEGIN, END)
    assert spans(got) == [(0, 3), (4, 9), (10, 12)]
    assert [(task.compaction, task.compaction_mode, task.compaction_status) for task in got.tasks] == [
        (False, None, None),
        (True, "summarize", "completed"),
        (False, None, None),
    ]
    assert [request.compaction for request in got.requests] == [False, True, False]
    assert got.compactions == 1


def test_a_compaction_between_a_prompt_and_its_request() -> None:
    got = run(user(), COMPACT, user("summarize"), BEGIN, END, COMPACTED, BEGIN, ANSWER, END)
    assert spans(got) == [(0, 0), (1, 5), (6, 8)]
    assert [task.start for task in got.tasks] == ["", moment(3), moment(6)]


def test_a_compaction_that_never_ended_has_failed() -> None:
    assert run(user(), BEGIN, END, COMPACT, user("summarize"), BEGIN).tasks[1].compaction_status == "failed"
    failed = records.compaction_end("context", "summarize", "timeout")
    assert run(user(), BEGIN, END, COMPACT, failed).tasks[1].compaction_status == "timeout"


def test_a_session_resumed_after_dying_in_a_compaction_has_turns_again() -> None:
    got = run(user(), BEGIN, END, COMPACT, user("summarize"), BEGIN, user("go on"), BEGIN, ANSWER, END)
    assert spans(got) == [(0, 2), (3, 5), (6, 9)]
    assert [task.compaction for task in got.tasks] == [False, True, False]


# 80: when a request goes on with a Task


def test_a_request_after_a_plain_answer_is_a_new_task() -> None:
    assert spans(run(user(), BEGIN, ANSWER, END, BEGIN, ANSWER, END)) == [(0, 3), (4, 6)]


def test_a_request_after_a_tool_call_goes_on_and_only_that_once() -> None:
    assert spans(run(user(), BEGIN, CALL, END, OUTPUT, BEGIN, ANSWER, END, BEGIN, END)) == [(0, 7), (8, 9)]


def test_retries_go_on_and_are_counted() -> None:
    for status in ("timeout", "malformed", "failed"):
        got = run(user(), BEGIN, records.request_end(status), BEGIN, END)
        assert spans(got) == [(0, 4)]
        assert got.reconnects == 1


def test_an_aborted_or_refused_request_is_no_retry() -> None:
    for status in ("aborted", "auth"):
        got = run(user(), BEGIN, records.request_end(status), BEGIN, END)
        assert spans(got) == [(0, 2), (3, 4)]
        assert got.reconnects == 0


def test_a_failure_in_a_compaction_is_no_retry_but_a_timeout_is() -> None:
    head = (user(), BEGIN, END, COMPACT, user("summarize"), BEGIN)
    again = (BEGIN, END, COMPACTED)
    assert run(*head, records.request_end("failed"), *again).reconnects == 0
    assert spans(run(*head, records.request_end("failed"), *again)) == [(0, 2), (3, 6), (7, 9)]
    assert run(*head, records.request_end("timeout"), *again).reconnects == 1
    assert spans(run(*head, records.request_end("timeout"), *again)) == [(0, 2), (3, 9)]


def test_both_compaction_events_end_what_went_on() -> None:
    got = run(user(), BEGIN, CALL, END, OUTPUT, COMPACT, user("summarize"), BEGIN, END, COMPACTED, BEGIN, END)
    assert spans(got) == [(0, 4), (5, 9), (10, 11)]
    kept_on = run(user(), BEGIN, END, COMPACT, user("s"), BEGIN, CALL, END, COMPACTED, BEGIN, END)
    assert spans(kept_on) == [(0, 2), (3, 8), (9, 10)]


# 81 and 82: messages and times


def test_what_stands_before_the_first_request_is_the_first_tasks() -> None:
    ready = records.tool_list_ready([])
    assert spans(run(META, ready, user(), ready, BEGIN, END)) == [(0, 5)]


def test_a_turn_that_was_never_sent_is_an_empty_task_at_the_end() -> None:
    got = run(META, user(), BEGIN, END, user(), records.abort("by user"))
    assert spans(got) == [(0, 3), (4, 5)]
    assert (got.tasks[1].start, got.tasks[1].end, got.tasks[1].elapsed_ms) == ("", moment(5), 0)
    assert got.aborted == "by user"
    assert spans(run(META, user())) == [(0, 1)]


def test_a_task_runs_from_its_first_request_to_its_latest_moment_but_no_session_meta() -> None:
    got = run(user(), BEGIN, ANSWER, END, OUTPUT, META, at={3: 40, 4: 30, 5: 50})
    assert (got.tasks[0].start, got.tasks[0].end) == (moment(1), moment(40))
    assert got.elapsed_ms == 39_000


def test_idle_time_between_tasks_and_time_running_backwards_do_not_count() -> None:
    got = run(user(), BEGIN, END, user(), BEGIN, END, at={0: 100, 1: 100, 2: 101, 3: 200, 4: 200, 5: 150})
    assert got.elapsed_ms == 1_000
    assert got.requests[1].duration_ms == -50_000
    assert got.requests[1].active_ms == 0


# 83 and 84: requests, waits, tokens


def test_waiting_for_approval_is_no_model_time() -> None:
    allow = records.approval_decision("allow", "c")
    got = run(user(), BEGIN, CALL, allow, END, at={2: 2, 3: 7, 4: 9})
    (request,) = got.requests
    assert (request.duration_ms, request.approval_wait_ms, request.active_ms) == (8_000, 5_000, 3_000)
    assert got.tasks[0].llm_ms == 3_000


def test_a_decision_after_its_request_still_counts_there() -> None:
    got = run(user(), BEGIN, CALL, END, records.approval_decision("allow", "c"), at={3: 3, 4: 3.5})
    assert got.requests[0].approval_wait_ms == 1_500
    assert got.tasks[0].llm_ms == 500


def test_an_open_request_has_no_end() -> None:
    (request,) = run(user(), BEGIN).as_golden()["requests"]
    assert request == {"beginTs": moment(1), "taskIndex": 0}


def test_tokens_context_and_speed() -> None:
    first = records.token_usage(Usage(1, 2, 30), Usage(1, 2, 30))
    second = records.token_usage(Usage(5, 6, 40), Usage(4, 4, 10))
    compact = records.token_usage(Usage(9, 9, 41), Usage(4, 3, 1))
    got = run(
        *(user(), BEGIN, CALL, first, END, OUTPUT, BEGIN, ANSWER, second, END),
        *(COMPACT, user("s"), BEGIN, compact, END, COMPACTED),
    )
    task, compaction = got.tasks
    assert (task.tokens, task.context) == (Tokens(5, 6, 40), Tokens(4, 4, 10))
    assert (compaction.tokens, compaction.context) == (Tokens(4, 3, 1), None)
    assert got.tokens == Tokens(9, 9, 41)
    assert got.session_total == Tokens(9, 9, 41)
    assert task.tokens_per_second == 40 * 1000 / 6000
    assert [point.session_total for point in got.usage_trend] == [33, 51, 59]
    assert got.unknown_requests == 0


def test_unknown_usage_is_counted_as_unknown() -> None:
    got = run(user(), BEGIN, ANSWER, END, BEGIN, records.request_end("timeout"), BEGIN, records.request_end("aborted"))
    assert [request.usage_unknown for request in got.requests] == [True, False, True]
    assert got.tasks[0].tokens_per_second == 0.0
    assert run(user(), BEGIN, END, at={1: 5, 2: 5}).tasks[0].tokens_per_second is None


def test_the_sessions_total_is_its_last_usage_over_all_shards() -> None:
    first = trace([records.token_usage(Usage(0, 0, 5), Usage(0, 0, 5))])
    second = trace([META, records.token_usage(Usage(0, 0, 7), Usage(0, 0, 2)), ("event_msg", {"type": "token_usage"})])
    assert session_tokens([*first, *second]) == Tokens(0, 0, 7)
    assert session_tokens(trace([META])) is None


# 85: timeline


def test_segments_follow_one_another_from_the_request_on() -> None:
    got = run(user(), BEGIN, records.thinking("t"), ANSWER, CALL, END, OUTPUT, BEGIN, ANSWER)
    assert [(part.kind, part.start, part.end) for part in got.segments] == [
        ("thinking", moment(1), moment(2)),
        ("text", moment(2), moment(3)),
        ("tool_call", moment(3), moment(4)),
        ("text", moment(7), moment(8)),
    ]


def test_a_broken_call_has_no_lane_but_is_listed() -> None:
    broken = records.tool_call("c", "t", "{", stop_reason="malformed")
    got = run(user(), BEGIN, broken, END).as_golden()
    assert got["toolSpans"] == []
    assert got["toolCalls"] == [
        {"toolCallId": "c", "name": "t", "startTs": moment(2), "stopReason": "malformed"},
    ]
    assert len(got["modelSegments"]) == 1


def test_a_call_that_never_came_back() -> None:
    got = run(user(), BEGIN, CALL, records.approval_decision("allow", "c"), END).as_golden()
    assert got["toolSpans"] == [
        {
            "toolCallId": "c",
            "name": "t",
            "callTs": moment(2),
            "taskIndex": 0,
            "approvalTs": moment(3),
            "decision": "allow",
        }
    ]


def test_outputs_and_decisions_of_unknown_calls_are_passed_over() -> None:
    got = run(
        user(), BEGIN, OUTPUT, records.approval_decision("deny", "x"), END, ("event_msg", {"type": "request_end"})
    )
    assert got.tools == []
    assert len(got.requests) == 1


def test_connecting_goes_with_the_task_that_follows() -> None:
    connect: Record = ("event_msg", {"type": "mcp_connect_begin", "servers": ["s"]})
    done: Record = ("event_msg", {"type": "mcp_connect_end", "status": "completed", "results": []})
    got = run(user(), BEGIN, END, connect, done, user(), connect, BEGIN, END).as_golden()["otherSpans"]
    assert got == [
        {
            "key": f"mcp-connect-{moment(3)}",
            "name": "mcp connect",
            "startTs": moment(3),
            "endTs": moment(4),
            "taskIndex": 1,
        },
        {"key": f"mcp-connect-{moment(6)}", "name": "mcp connect", "startTs": moment(6), "taskIndex": 1},
    ]
    assert run(user(), BEGIN, END, connect).connections[0].task == 0


# Whatever stands in a trace


_KINDS = [META, user(), IMAGE, STEERING, BEGIN, ANSWER, CALL, OUTPUT, END, COMPACT, COMPACTED]
_KINDS += [records.abort(), records.request_end("timeout"), records.approval_decision("allow", "c")]
_KINDS += [records.token_usage(Usage(1, 1, 1), Usage(1, 1, 1)), ("future_type", {"type": "q"})]


@given(st.lists(st.sampled_from(_KINDS), max_size=40))
def test_any_order_of_records_gives_tasks_that_cover_them(written: list[Record]) -> None:
    got = run(*written)
    if got.tasks:
        assert got.tasks[0].first == 0
        assert got.tasks[-1].last == len(written) - 1
        for before, after in zip(got.tasks, got.tasks[1:], strict=False):
            assert before.last + 1 == after.first <= after.last
    assert [task.index for task in got.tasks] == list(range(len(got.tasks)))
    assert all(0 <= request.task < len(got.tasks) for request in got.requests)
    assert got.elapsed_ms >= 0
    json.dumps(got.as_golden(), allow_nan=False)


_ANY: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
_NAMES = ["type", "role", "text", "status", "tool_call_id", "request", "session", "decision", "mode", "stop_reason"]
_TYPES = ["text", "tool_call", "tool_call_output", "request_begin", "request_end", "token_usage", "approval_decision"]
_TYPES += ["compaction_begin", "compaction_end", "mcp_connect_begin", "mcp_connect_end", "session_meta", "image_url"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["model_msg", "event_msg", "session_meta", "?"]),
            st.dictionaries(st.sampled_from(_NAMES), _ANY, max_size=5),
            st.sampled_from(_TYPES) | _ANY,
            st.sampled_from(["", "x", moment(1), moment(2), "9999-99-99"]),
        ),
        max_size=15,
    )
)
def test_no_payload_can_raise(written: list[tuple[str, dict[str, Any], Any, str]]) -> None:
    made = [
        TraceRecord(number, 0, 0, stamp, kind, {**payload, "type": what})
        for number, (kind, payload, what, stamp) in enumerate(written)
    ]
    assert analyze(made).records == len(made)
    session_tokens(made)
    assert digest(made).records == len(made)


def test_counts_that_are_none_count_nothing() -> None:
    raw = b'{"timestamp":"t","type":"event_msg","payload":{"type":"token_usage","request":{"output":1e400}}}'
    entry = parse_line(raw, line=0, start=0)
    assert isinstance(entry, TraceRecord)
    assert math.isinf(entry.payload["request"]["output"])
    assert analyze([entry]).usage_trend == []
