"""The fold over traces that another engine wrote, cut anywhere: a valid conversation, and the tokens it told."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.agents.conversation import STOPPED, Conversation
from core.models.interface import Text, ToolCall, ToolOutput, Usage
from core.traces import records

from .scripted import read_records

FIXTURES = Path(__file__).parents[1] / "fixtures" / "penguin-state"
TRACES = sorted(FIXTURES.rglob("*_001.jsonl"))


def assert_valid(conversation: Conversation) -> None:
    """Every call is followed by its output, in call order, before anything else is said."""
    awaited: list[str] = []
    for message in conversation.messages:
        if isinstance(message, ToolCall):
            awaited.append(message.call_id)
        elif isinstance(message, ToolOutput):
            assert awaited
            assert message.call_id == awaited.pop(0)
        elif isinstance(message, Text) and message.role == "user":
            assert awaited == []
    pending = [call.call_id for call in conversation.pending_calls()]
    assert set(pending) <= set(awaited)


def test_there_are_traces_to_fold() -> None:
    assert len(TRACES) > 15


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name[-17:-6])
def test_traces_of_another_engine_fold_at_every_cut(path: Path) -> None:
    lines = read_records(path)
    for cut in range(len(lines) + 1):
        conversation = Conversation()
        for kind, payload in lines[:cut]:
            conversation.apply(kind, payload)
        assert_valid(conversation)
        conversation.apply(*records.abort("aborted by user"))
        assert_valid(conversation)
        assert conversation.pending_calls() == ()
        assert not conversation.unfinished
    whole = Conversation()
    for kind, payload in lines:
        whole.apply(kind, payload)
    told = [payload["session"] for _, payload in lines if payload.get("type") == "token_usage"]
    if told:
        last = told[-1]
        assert whole.session_usage == Usage(last["cache_read"], last["cache_write"], last["output"])


def fold(*told: records.Record) -> Conversation:
    conversation = Conversation()
    for kind, payload in told:
        conversation.apply(kind, payload)
    return conversation


def test_calls_that_a_foreign_engine_ran_in_a_cut_request_are_told() -> None:
    conversation = fold(
        records.user_text("go"),
        records.request_begin(),
        records.assistant_text("Deleting."),
        records.tool_call("c", "exec_command", '{"cmd": "rm x"}'),
        records.tool_call_output("c", "removed"),
        records.request_begin(),
        records.assistant_text("Done."),
        records.request_end(),
    )
    told = [message.text for message in conversation.messages if isinstance(message, Text)]
    assert told[1].startswith("[turn_aborted]\nDeleting.\nexec_command")
    assert "removed" in told[1]
    assert told[2] == "Done."
    assert conversation.turn is not None
    assert conversation.turn.texts == ["Done."]


def test_an_abort_answers_what_was_pending() -> None:
    conversation = fold(
        records.user_text("go"),
        records.request_begin(),
        records.tool_call("a", "x", "{}"),
        records.tool_call("b", "x", "{}"),
        records.request_end(),
        records.tool_call_output("b", "B"),
        records.abort("budget: enough"),
    )
    assert [m for m in conversation.messages if isinstance(m, ToolOutput)] == [
        ToolOutput("a", STOPPED),
        ToolOutput("b", "B"),
    ]
    assert conversation.turn is not None
    assert (conversation.turn.status, conversation.turn.reason) == ("budget", "budget: enough")


def test_odd_records_change_nothing() -> None:
    conversation = fold(
        ("event_msg", {}),
        ("event_msg", {"type": "token_usage"}),
        ("event_msg", {"type": "request_end", "status": "completed"}),
        ("model_msg", {"type": "tool_call_output"}),
        ("model_msg", {"type": "image_url", "role": "user"}),
        ("whatever", {"type": "x"}),
        records.abort(),
    )
    assert conversation.messages == []
    assert conversation.turn is None
