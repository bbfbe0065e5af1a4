"""What a run tells of its talk with the operator: strict events, one fold, ids that a resumed run finds again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.agents.approval import Ruling
from core.agents.asking import approval_id, question_of, ruling_of, tool_call_of
from core.agents.tools.ask import Reply
from core.evolution.asking import RoleAsking, listening
from core.evolution.event_shapes import problem
from core.evolution.events import EventName
from core.evolution.run_view import fold_view
from core.evolution.specs import parse_spec
from core.foundation.clock import IDENTIFIER
from core.foundation.errors import UsageError
from core.models.interface import ToolCall
from core.state import approvals, mailbox
from tests.evolution.bench import Bench, LeftError, make_bench

TIME = "2026-01-01T00:00:00.000Z"
SESSION = "session-2026-01-01-00-00-00-0badcafe"
ASKED = {
    "time": TIME, "event": "asked", "approval_id": "question-1", "kind": "question", "session_id": SESSION,
    "call_id": "c1", "title": "Which?",
}  # fmt: skip
ANSWERED = {
    "time": TIME, "event": "answered", "approval_id": "question-1", "kind": "question", "verdict": "answer",
    "actor": "cli", "signature": "ada@mill",
}  # fmt: skip
TOLD = {
    "time": TIME, "event": "told", "session_id": SESSION, "word": "000001-aa", "text": "be brief", "actor": "cli",
    "signature": "ada@mill", "sent": TIME,
}  # fmt: skip


def _asking(bench: Bench) -> RoleAsking:
    return RoleAsking(bench.desk, SESSION, "builder")


@pytest.mark.parametrize("event", [ASKED, ANSWERED, TOLD], ids=lambda event: event["event"])
def test_an_event_of_the_talk_is_whole_or_none(event: dict[str, Any]) -> None:
    assert problem(event) is None
    for name in event:
        if name not in {"time", "event"}:
            assert problem({**event, name: 5}) is not None, name
    assert problem({**TOLD, "session_id": "../x"}) is not None


def test_a_run_waits_while_anything_is_asked_and_tells_what_it_heard() -> None:
    started = {"time": TIME, "event": "run_started", "pid": 1, "spec": {}}
    call = {**ASKED, "approval_id": "tool-call-2", "kind": "tool_call"}
    view = fold_view("r", {}, [started, ASKED, call, TOLD], alive=True)
    assert (view.state, view.approval_id, view.waiting_for) == ("waiting", "question-1", ("question-1", "tool-call-2"))
    assert [word["text"] for word in view.told] == ["be brief"]
    view = fold_view("r", {}, [started, ASKED, call, ANSWERED], alive=True)
    assert (view.state, view.approval_id) == ("waiting", "tool-call-2")
    heard = {**ANSWERED, "approval_id": "tool-call-2", "kind": "tool_call", "verdict": "reject"}
    view = fold_view("r", {}, [started, ASKED, call, ANSWERED, heard], alive=True)
    assert (view.state, view.approval_id, view.waiting_for) == ("running", None, ())
    assert fold_view("r", {}, [started, ASKED, ASKED], alive=True).waiting_for == ("question-1",)


def test_an_id_follows_from_session_and_call_whatever_a_model_calls_it() -> None:
    ids = {approval_id("question", SESSION, call) for call in ("c1", "c2", "a/../b", "\x00", "é" * 500)}
    assert len(ids) == 5
    assert all(IDENTIFIER.fullmatch(one) for one in ids)
    assert approval_id("tool_call", SESSION, "c1") == approval_id("tool_call", SESSION, "c1")
    assert approval_id("tool_call", SESSION, "c1") != approval_id("question", SESSION, "c1")
    assert approval_id("question", SESSION, "1c") != approval_id("question", SESSION + "1", "c")


def test_a_title_is_one_short_line() -> None:
    asked = question_of(SESSION, "c1", "Why\n" + "x" * 500, (), agent_id="a", role="chat")
    assert len(asked.title) == 200
    assert "\n" not in asked.title
    assert asked.run_id == ""
    call = tool_call_of(SESSION, ToolCall("c1", "exec_command", '{"cmd":\n"ls"}'), "rw", agent_id="a", role="chat")
    assert call.title == 'exec_command (change things): {"cmd": "ls"}'


async def test_a_question_waits_for_its_answer_and_is_journalled_once(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, approve="ask")
    work = asyncio.ensure_future(_asking(bench).question("c1", "Which?", ("a", "b")))
    async with asyncio.timeout(10):
        while not bench.desk.person.now:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0.01)
    (asked,) = approvals.waiting(bench.project)
    assert (asked.run_id, asked.benchmark_id, asked.options) == (bench.run.id, bench.desk.benchmark.id, ("a", "b"))
    assert asked.agent_id == bench.agent.id, "the agent that the run is about, as for a freeze"
    approvals.answer(bench.project, asked.id, "b")
    assert await work == Reply("b")
    again = bench.again()  # killed before the trace had the answer
    assert await _asking(again).question("c1", "Which?", ("a", "b")) == Reply("b")
    assert not again.desk.person.now
    events = [e["event"] for e in again.journal.events if e["event"] in {"asked", "answered"}]
    assert events == ["asked", "answered"]


async def test_a_run_that_nobody_attends_leaves_and_finds_the_decision(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, approve="ask", detached_ask="exit")
    call = ToolCall("c1", "exec_command", '{"cmd": "ls"}')
    with pytest.raises(LeftError, match="exuvia approvals approve tool-call-"):
        await _asking(bench).tool_call(call, "rw")
    (asked,) = approvals.waiting(bench.project)
    approvals.decide(bench.project, asked.id, "reject", "no")
    assert await _asking(bench.again()).tool_call(call, "rw") == Ruling("deny", "no")


def test_a_decision_is_a_ruling() -> None:
    base = {"id": "x", "actor": "a", "signature": "s", "time": "t"}
    assert ruling_of(approvals.Decision(**base, verdict="approve")) == Ruling("allow")
    assert ruling_of(approvals.Decision(**base, verdict="reject", reason="r")) == Ruling("deny", "r")


def test_a_word_is_told_once_though_the_box_forgot_that_it_was_taken(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    facts = {"run_id": bench.run.id, "agent_id": "exuvia_operator", "role": "builder"}
    with listening(bench.project, bench.journal, SESSION, **facts) as mail:
        word = mailbox.send(bench.project, bench.run.id, "be brief", actor="console")
        assert mail.words() == (word,)
        read = mail.box.root / "read" / f"{word.id}.json"
        mail.taken(word)
        read.rename(mail.box.root / read.name)  # killed between journal and box
        mail.taken(word)
        assert mail.words() == ()
    (told,) = (e for e in bench.journal.events if e["event"] == EventName.TOLD)
    assert (told["word"], told["text"], told["actor"]) == (word.id, "be brief", "console")
    assert problem(told) is None


@pytest.mark.parametrize("kind", ["build", "optimize"])
def test_a_spec_says_how_its_role_asks(kind: str) -> None:
    base = {"kind": kind, "agent_id": "a", "benchmark_id": "b"} | ({"capability": "c"} if kind == "build" else {})
    spec: Any = parse_spec(base)
    assert (spec.tool_approval, spec.detached_ask) == ("allow-all", "wait")
    spec = parse_spec({**base, "tool_approval": "always-ask", "detached_ask": "exit", "rehearsal": {"asks": True}})
    assert (spec.tool_approval, spec.detached_ask) == ("always-ask", "exit")
    for odd in ({"tool_approval": "maybe"}, {"detached_ask": "never"}, {"rehearsal": {"asks": "yes"}}):
        with pytest.raises(UsageError):
            parse_spec({**base, **odd})
