"""Records have the field names, the order and the bytes of the shared format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.interface import ToolSpec, Usage
from core.traces import records

STATE = Path(__file__).parents[1] / "fixtures" / "penguin-state" / "default_project" / "agents"
TRACES = sorted(STATE.glob("*/traces/*/*.jsonl"))


def rebuilt(kind: str, payload: dict[str, Any]) -> records.Record:
    """Build a sample's record again from its values alone."""
    fields = dict(payload)
    what = fields.pop("type", None) if kind != "session_meta" else "session_meta"
    fields.pop("role", None)
    if what == "session_meta":
        return records.session_meta(**fields)
    if what == "text":
        build = records.user_text if payload["role"] == "user" else records.assistant_text
        return build(fields.pop("text"), **fields)
    if what == "thinking":
        return records.thinking(fields.pop("thinking"), **fields)
    if what == "tool_call":
        return records.tool_call(fields.pop("tool_call_id"), fields.pop("name"), fields.pop("arguments"), **fields)
    if what == "tool_call_output":
        return records.tool_call_output(fields.pop("tool_call_id"), fields.pop("output"), **fields)
    if what == "approval_decision":
        return records.approval_decision(fields["decision"], fields["tool_call_id"])
    if what == "token_usage":
        sums = [Usage(u["cache_read"], u["cache_write"], u["output"]) for u in (fields["session"], fields["request"])]
        return records.token_usage(*sums)
    if what == "tool_list_ready":
        return records.tool_list_ready([ToolSpec(**tool) for tool in fields["tools"]])
    if what == "compaction_begin":
        return records.compaction_begin(
            fields["reason"], fields["mode"], context=fields["context"], turns=fields["turns"]
        )
    if what == "compaction_end":
        return records.compaction_end(fields["reason"], fields["mode"], fields["status"], attempt=fields.get("attempt"))
    if what == "goal_finished":
        return kind, payload  # no engine of ours runs goals
    builders: dict[str, Callable[..., records.Record]] = {
        "abort": records.abort,
        "request_begin": records.request_begin,
        "request_end": records.request_end,
        "subagent": records.subagent,
    }
    return builders[str(what)](**fields)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem[-12:])
def test_builders_give_back_every_sample_line_byte_for_byte(trace: Path) -> None:
    for line in trace.read_bytes().splitlines(keepends=True):
        sample = json.loads(line)
        assert records.encode(rebuilt(sample["type"], sample["payload"]), sample["timestamp"]) == line


def test_there_are_samples() -> None:
    assert len(TRACES) == 24


@given(st.text(alphabet=st.characters()))
def test_any_text_a_model_writes_becomes_one_line_and_comes_back(text: str) -> None:
    line = records.encode(records.assistant_text(text), "2026-01-01T00:00:00.000Z")
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    back = json.loads(line)["payload"]["text"]
    assert back.encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


def test_a_lone_surrogate_is_escaped_and_text_beside_it_stays_as_it_is() -> None:
    line = records.encode(records.assistant_text("é\ud800\U0001f600"), "t")
    assert "é\\ud800\U0001f600".encode() in line


def test_the_two_halves_of_one_character_are_joined() -> None:
    assert "\U0001f600".encode() in records.encode(records.assistant_text("\ud83d\ude00"), "t")


def test_non_finite_numbers_become_null_and_deep_nesting_is_cut() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"in": deep}
    line = records.encode(records.assistant_text("x", fidelity={"n": float("nan"), "deep": deep}), "t")
    fidelity = json.loads(line)["payload"]["fidelity"]
    assert fidelity["n"] is None
    assert "(nested too deep)" in line.decode()


def test_what_is_unknown_or_absent_is_left_out() -> None:
    assert list(records.abort()[1]) == ["type"]
    assert "source" not in _meta(None, None)
    assert _meta(None, None)["model_context_window"] == "unknown"
    assert list(_meta(4096, "subagent"))[-1] == "source"
    assert "sender" not in records.user_text("hi")[1]


def _meta(window: int | None, source: str | None) -> dict[str, Any]:
    return records.session_meta(
        session_id="s",
        provider="p",
        model_id="m",
        model_context_window=window,
        system_prompt="",
        agent_state=Path("/a"),
        workspace=Path("/w"),
        source=source,
    )[1]
