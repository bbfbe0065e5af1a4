"""A Session and its operator: words read once across a kill, calls asked about, and time that nobody is charged for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from core.agents.approval import Permission, Ruling
from core.agents.budgets import Budgets
from core.agents.session import Session, recorded
from core.agents.tool import Tool, ToolContext
from core.agents.tools.ask import AskOperator, Reply
from core.agents.waiting import PersonWait
from core.foundation.errors import RefusedError
from core.models.interface import Text, ToolCall
from core.state.command_policy import CommandPolicy, command_rule
from tests.agents.scripted import Echo, Scripted, call, calls, kinds, make_spec, outputs, read_records, say


class KilledError(Exception):
    """Here the process would have ended."""


@dataclass(frozen=True)
class Sent:
    id: str
    text: str


@dataclass
class Mail:
    """A box in memory. `dies` plays a kill between the trace's record and the box's."""

    waiting: list[Sent] = field(default_factory=list)
    dies: bool = False

    def words(self) -> list[Sent]:
        return list(self.waiting)

    def taken(self, word: Sent) -> None:
        if self.dies:
            raise KilledError
        self.waiting.remove(word)


def _texts(root: Path) -> list[str]:
    return [p["text"] for _, p in read_records(root / "trace.jsonl") if p.get("type") == "text" and p["role"] == "user"]


async def test_a_word_is_read_before_the_next_request(tmp_path: Path) -> None:
    mail = Mail()

    def answer(arguments: Mapping[str, Any]) -> str:
        mail.waiting += [Sent("000001-aa", "first"), Sent("000002-bb", "second")]
        return "heard"

    provider = Scripted([calls(call("c1", "echo", text="x")), say("ok")])
    spec = replace(make_spec(tmp_path, provider, [Echo(answer=answer)]), mail=mail)
    await Session(spec).run("go")
    assert _texts(tmp_path) == [
        "go",
        "[user_steering]\nfirst\n[/user_steering]",
        "[user_steering]\nsecond\n[/user_steering]",
    ]
    assert [m.text for m in provider.requests[1].messages if isinstance(m, Text)][-2:] == _texts(tmp_path)[1:]
    assert mail.waiting == []


async def test_a_word_that_comes_with_the_last_reply_goes_on_with_the_turn(tmp_path: Path) -> None:
    mail = Mail()
    provider = Scripted(
        lambda request: say("and more") if mail.waiting == [] and len(provider.requests) > 1 else _late()
    )

    def _late() -> Any:
        mail.waiting.append(Sent("000001-aa", "wait"))
        return say("done")

    outcome = await Session(replace(make_spec(tmp_path, provider), mail=mail)).run("go")
    assert (outcome.final_text, outcome.turns) == ("and more", 2)


async def test_a_kill_between_trace_and_box_neither_loses_nor_doubles_a_word(tmp_path: Path) -> None:
    mail = Mail([Sent("000001-aa", "once")], dies=True)
    provider = Scripted([say("ok")])
    spec = replace(make_spec(tmp_path, provider), mail=mail)
    with pytest.raises(KilledError):
        await Session(spec).run("go")
    assert mail.waiting, "the box still has it"
    mail.dies = False
    mail.waiting.append(Sent("000002-bb", "once"))  # the same words, sent again: another word
    resumed = Session.resume(replace(make_spec(tmp_path, provider), mail=mail), tmp_path / "trace.jsonl")
    await resumed.finish()
    assert [p["mail"] for _, p in read_records(tmp_path / "trace.jsonl") if "mail" in p] == ["000001-aa", "000002-bb"]
    assert mail.waiting == []
    assert resumed.conversation.words == {"000001-aa", "000002-bb"}


async def test_hearing_takes_up_what_came_while_nobody_worked(tmp_path: Path) -> None:
    mail = Mail([Sent("000001-aa", "hello")])
    provider = Scripted([say("heard you"), say("again")])
    session = Session(replace(make_spec(tmp_path, provider), mail=mail))
    outcome = await session.hear()
    assert outcome is not None
    assert outcome.final_text == "heard you"
    assert kinds(tmp_path / "trace.jsonl")[:3] == ["session_meta", "text:user", "tool_list_ready"]
    assert await session.hear() is None
    mail.waiting.append(Sent("000001-aa", "hello"))  # a box that a kill left behind
    assert await session.hear() is None
    assert len(provider.requests) == 1


async def test_a_person_is_asked_when_the_reply_is_whole_and_their_reason_reaches_the_model(tmp_path: Path) -> None:
    asked: list[tuple[str, Permission, str]] = []

    async def ask(about: ToolCall, permission: Permission) -> Ruling:
        asked.append((about.name, permission, kinds(tmp_path / "trace.jsonl")[-1]))
        return Ruling("deny", "too wide")

    provider = Scripted([calls(call("c1", "change", text="x")), say("ok")])
    spec = make_spec(tmp_path, provider, [Echo("change", "rw")], approval="always-ask", ask=ask)
    await Session(spec).run("go")
    assert asked == [("change", "rw", "request_end:completed")], "no connection is held open meanwhile"
    assert outputs(provider.requests[1]) == ["Tool call denied by user. Reason: too wide"]
    decision = next(p for _, p in read_records(tmp_path / "trace.jsonl") if p.get("type") == "approval_decision")
    assert (decision["decision"], decision["reason"]) == ("deny", "too wide")
    assert Session.restored(spec, recorded(tmp_path / "trace.jsonl")).conversation.reasons == {"c1": "too wide"}


async def test_nobody_is_asked_about_what_the_policy_forbids_or_about_asking(tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(about: ToolCall, permission: Permission) -> Ruling:
        asked.append(about.name)
        return Ruling("allow")

    async def answer(call_id: str, text: str, options: tuple[str, ...]) -> Reply:
        return Reply(f"{call_id} {text} {options}")

    policy = CommandPolicy(rules=(command_rule("rm", r"rm\s+-rf"),))
    provider = Scripted(
        [
            calls(call("c1", "exec_command", text="x", cmd="rm -rf /"), call("c2", "ask_operator", question="Why?")),
            say("ok"),
        ]
    )
    tools: list[Tool] = [Echo("exec_command", "rw"), AskOperator(answer)]
    await Session(make_spec(tmp_path, provider, tools, approval="always-ask", ask=ask, policy=policy)).run("go")
    assert asked == []
    assert outputs(provider.requests[1]) == ["Tool call denied by policy.", "c2 Why? ()"]


async def test_a_call_that_waited_for_a_person_runs_after_a_kill(tmp_path: Path) -> None:
    """It was never begun, so it is no interrupted one, repeatable or not; one that was allowed may have run."""
    waiting = asyncio.Event()

    async def never(about: ToolCall, permission: Permission) -> Ruling:
        waiting.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def now(about: ToolCall, permission: Permission) -> Ruling:
        return Ruling("allow")

    tool = Echo("change", "rw", repeatable=False)
    provider = Scripted([calls(call("c1", "change", text="x")), say("ok")])
    first = Session(make_spec(tmp_path, provider, [tool], approval="always-ask", ask=never))
    work = asyncio.ensure_future(first.run("go"))
    await waiting.wait()
    work.cancel()
    await asyncio.wait({work})
    spec = make_spec(tmp_path, provider, [tool], approval="always-ask", ask=now)
    await Session.resume(spec, tmp_path / "trace.jsonl").finish()
    assert outputs(provider.requests[1]) == ["heard x"]
    assert tool.seen == ["c1"]


async def test_no_budget_of_time_runs_while_a_person_is_waited_for(tmp_path: Path) -> None:
    person = PersonWait()

    async def slowly(about: ToolCall, permission: Permission) -> Ruling:
        with person.waiting():
            await asyncio.sleep(0.8)
        return Ruling("allow")

    def spec(root: Path, pause: float) -> Any:
        provider = Scripted([calls(call("c1", "echo", text="x", pause=pause)), say("ok")])
        made = make_spec(root, provider, [Echo()], approval="always-ask", ask=slowly, budgets=Budgets(wall_s=0.5))
        return replace(made, person=person)

    outcome = await Session(spec(tmp_path / "a", 0.0)).run("go")
    assert outcome.status == "completed"
    outcome = await Session(spec(tmp_path / "b", 2.0)).run("go")
    assert outcome.status == "budget", "the work itself is still bounded"


async def test_waits_that_overlap_count_once() -> None:
    person = PersonWait()

    async def wait(seconds: float) -> None:
        with person.waiting():
            assert person.now
            await asyncio.sleep(seconds)

    await asyncio.gather(wait(0.2), wait(0.3), wait(0.1))
    assert not person.now
    assert 0.29 <= person.seconds < 0.5


async def test_a_question_nobody_could_answer_is_refused(tmp_path: Path) -> None:
    async def answer(call_id: str, text: str, options: tuple[str, ...]) -> Reply:
        return Reply("because I say so", declined=text == "Why not?")

    tool, context = AskOperator(answer), ToolContext("s", "c1", tmp_path)
    for arguments in ({"question": " "}, {"question": "x" * 5000}, {"question": "?", "options": ["a"] * 10}):
        with pytest.raises(RefusedError):
            await tool.call(arguments, context)
    assert (await tool.call({"question": "Why?"}, context)).output == "because I say so"
    declined = (await tool.call({"question": "Why not?"}, context)).output
    assert declined == "The operator gives no answer; decide by yourself. Reason: because I say so"
