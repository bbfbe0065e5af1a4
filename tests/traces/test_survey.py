"""What bytes tell of each line is what its record says, and a trace as our writer makes it is not parsed for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.traces import records
from core.traces.reader import TraceFile
from core.traces.survey import FAILED, LAST_FOLDED, Code, Survey, code_of

STAMP = "2026-01-01T10:00:00.000Z"
TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "Error: no",
            "  Error: no",
            "\n\nError",
            "[interrupted by user",
            '{"ok": false}',
            '{"ok":false,"x":1}',
            "Errors",
            '{"ok": true}',
            "}}",
            '{"timestamp":"x"}}',
            "\u00a0Error: wide space",
            "fine " * 90 + '{"ok": false}',
        ]
    ),
)
STATUSES: tuple[records.Status, ...] = ("completed", "failed", "timeout", "aborted")
STATUS = st.sampled_from(STATUSES)
DECISIONS: tuple[records.Decision, ...] = ("allow", "deny", "forbidden")
DECISION = st.sampled_from(DECISIONS)


@st.composite
def record(draw: st.DrawFn) -> records.Record:
    text = draw(TEXTS)
    made: list[records.Record] = [
        records.user_text(text),
        records.assistant_text(text, stop_reason=draw(STATUS)),
        records.thinking(text),
        records.tool_call("call_1", "exec_command", text),
        records.tool_call_output("call_1", text, stop_reason=draw(STATUS)),
        records.tool_call_output("call_1", text, images=["data:image/png;base64,AAAA"]),
        records.approval_decision(draw(DECISION), "call_1"),
        records.request_begin(),
        records.request_end(draw(STATUS), error_message=text),
        records.abort(text),
        records.subagent("session-b"),
        ("event_msg", {"type": "compaction_end", "status": draw(STATUS)}),
        ("event_msg", {"type": "something_new", "text": text}),
    ]
    return draw(st.sampled_from(made))


def shaped(one: records.Record, shape: str) -> bytes:
    """Return a line as one of several writers would put it, or broken."""
    raw = records.encode(one, STAMP).rstrip(b"\n")
    value: dict[str, Any] = json.loads(raw)
    match shape:
        case "spaced":
            return json.dumps(value).encode()
        case "escaped":
            return json.dumps(value, separators=(",", ":")).encode()
        case "turned":
            return json.dumps(dict(reversed(value.items())), separators=(",", ":")).encode()
        case "cut":
            return raw[: len(raw) // 2]
        case "glued":
            return raw[: len(raw) // 2] + raw
        case "nul":
            return raw[:5] + b"\0" * 7 + raw[5:]
        case "crlf":
            return raw + b"\r"
        case _:
            return raw


SHAPES = st.sampled_from(
    ["ours", "ours", "ours", "spaced", "escaped", "turned", "cut", "glued", "nul", "crlf", "blank"]
)


@given(lines=st.lists(st.tuples(record(), SHAPES), max_size=12), split=st.integers(0, 12))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_bytes_tell_what_the_records_say(
    tmp_path: Path, lines: list[tuple[records.Record, str]], split: int
) -> None:
    path = tmp_path / "a.jsonl"
    raw = [b"" if shape == "blank" else shaped(one, shape) for one, shape in lines]
    path.write_bytes(b"".join(line + b"\n" for line in raw[:split]))
    with TraceFile(path) as file:
        survey = Survey(file)
        file.index()
        list(survey.grow())
        with path.open("ab") as more:
            more.write(b"".join(line + b"\n" for line in raw[split:]))
        file.refresh()
        list(survey.grow())
        assert list(survey.codes) == [code_of(file.entry(number)) for number in range(len(file))]


def test_lines_of_our_own_are_told_without_parsing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    turn: list[records.Record] = [
        records.request_begin(),
        records.thinking("Look first."),
        records.tool_call("call_1", "exec_command", '{"cmd": "ls"}'),
        records.approval_decision("allow", "call_1"),
        records.request_end(),
        records.tool_call_output("call_1", "a.txt\n"),
    ]
    path.write_bytes(b"".join(records.encode(one, STAMP) for one in turn * 2_000))
    with TraceFile(path) as file:
        file.index()
        survey = Survey(file)
        steps = list(survey.grow())
    assert steps[-1] == len(survey.codes) == 12_000
    assert survey.parsed == 0
    assert not any(code & FAILED for code in survey.codes)
    assert sum(code > LAST_FOLDED for code in survey.codes) == 6_000
    assert list(survey.codes[:6]) == [
        Code.REQUEST_BEGIN, Code.THOUGHT, Code.CALL, Code.ALLOWED, Code.REQUEST_END, Code.ANSWER,
    ]  # fmt: skip


def test_a_very_long_line_is_told_by_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    long = records.encode(records.tool_call_output("call_1", "x" * 3_000_000), STAMP)
    failed = records.encode(records.tool_call_output("call_2", "y" * 3_000_000, stop_reason="timeout"), STAMP)
    path.write_bytes(records.encode(records.request_begin(), STAMP) + long + failed)
    with TraceFile(path) as file:
        file.index()
        survey = Survey(file)
        list(survey.grow())
    assert list(survey.codes) == [Code.REQUEST_BEGIN, Code.ANSWER, Code.ANSWER | FAILED]
