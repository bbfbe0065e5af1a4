"""Sub-agents: asked, waited for, asked again, killed; told once; one level deep."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.agents.isolation.policy import IsolationPolicy
from core.agents.session import Session
from core.agents.tools.builtin import ToolSettings, builtin_tools
from core.agents.tools.subagents import ChildWish, InputSubagent, KillSubagent, RunSubagent, SubAgents
from core.foundation.errors import RefusedError
from core.models.interface import ProviderError, Request, StreamEvent, Text
from core.traces.writer import TraceWriter

from ..scripted import Scripted, call, calls, kinds, make_spec, outputs, read_records, say

Events = list[StreamEvent | ProviderError | float]


class House:
    """A parent whose children answer "<prompt> done" after the pause that the prompt names."""

    def __init__(self, root: Path, script: Any, *, limit_children: int = 99) -> None:
        self.root = root
        self.opened: list[Session] = []
        self.subagents = SubAgents(self.open_child)
        tools = (RunSubagent(self.subagents), InputSubagent(self.subagents), KillSubagent(self.subagents))
        self.provider = Scripted(script)
        spec = make_spec(root, self.provider, tools, background=[self.subagents])
        self.session = Session(spec)
        self.spec = spec

    def open_child(self, wish: ChildWish) -> Session:
        if wish.agent_id == "stranger":
            raise RefusedError("Error: only the same agent.")
        number = len(self.opened)
        name = f"session-child-{number:08x}"

        def answer(request: Request) -> Events:
            last = request.messages[-1]
            assert isinstance(last, Text)
            pause = float((re.search(r"pause (\S+)", last.text) or [0, 0.0])[1])
            return [pause, *say(f"{last.text} done")]

        child = replace(
            self.spec,
            session_id=name,
            provider=Scripted(answer),
            trace=TraceWriter(self.root / f"{name}.jsonl"),
            tools=(),
            background=(),
            source="subagent",
        )
        self.opened.append(Session(child))
        return self.opened[-1]


async def test_the_answer_comes_back_and_the_child_can_be_asked_again(tmp_path: Path) -> None:
    def script(request: Request) -> Events:
        told = outputs(request)
        if not told:
            return calls(call("c1", "run_subagent", description="d", prompt="count"))
        if len(told) == 1:
            return calls(call("c2", "input_subagent", subagent_id="subagent-00000000", prompt="again"))
        return say("ok")

    house = House(tmp_path, script)
    assert (await house.session.run("go")).status == "completed"
    first, second = outputs(house.provider.requests[-1])
    idle = "[subagent idle with subagent_id subagent-00000000; send a follow-up prompt to continue]"
    assert first == f"count done\n{idle}"
    assert second == f"again done\n{idle}"
    trace = tmp_path / "trace.jsonl"
    assert kinds(trace).count("subagent") == 1
    position = kinds(trace).index("subagent")
    assert kinds(trace)[position - 1].startswith("request_end")
    head, prompt = read_records(tmp_path / "session-child-00000000.jsonl")[:2]
    assert head[1]["source"] == "subagent"
    assert (prompt[1]["text"], prompt[1]["sender"]) == ("count", "parent_agent")
    await house.session.aclose()


async def test_a_background_child_is_waited_for_and_told_exactly_once(tmp_path: Path) -> None:
    def script(request: Request) -> Events:
        last = request.messages[-1]
        if not outputs(request):
            return calls(call("c1", "run_subagent", prompt="slow pause 0.2", run_in_background=True))
        if isinstance(last, Text) and "[background_task_done]" in last.text:
            return say("Heard of it.")
        return say("I wait.")

    house = House(tmp_path, script)
    outcome = await house.session.run("go")
    assert outcome.text == "I wait.\nHeard of it."
    told = [p["text"] for _, p in read_records(tmp_path / "trace.jsonl") if p.get("sender") == "harness"]
    assert len(told) == 1
    assert "slow pause 0.2 done" in told[0]
    assert "id: subagent-00000000" in told[0]


async def test_what_a_poll_has_shown_is_not_announced_again(tmp_path: Path) -> None:
    def script(request: Request) -> Events:
        told = outputs(request)
        if not told:
            return calls(call("c1", "run_subagent", prompt="slow pause 0.1", run_in_background=True))
        if len(told) == 1:
            return calls(call("c2", "input_subagent", subagent_id="subagent-00000000", yield_time_ms=5000))
        return say("ok")

    house = House(tmp_path, script)
    await house.session.run("go")
    assert outputs(house.provider.requests[-1])[1].startswith("slow pause 0.1 done\n[subagent idle")
    assert not [p for _, p in read_records(tmp_path / "trace.jsonl") if p.get("sender") == "harness"]


async def test_a_killed_child_stops_and_a_refused_one_is_told(tmp_path: Path) -> None:
    def script(request: Request) -> Events:
        told = outputs(request)
        if not told:
            return calls(
                call("c1", "run_subagent", prompt="slow pause 60", run_in_background=True),
                call("c2", "run_subagent", prompt="x", agent_id="stranger"),
                call("c3", "run_subagent", prompt="x", model_id="half"),
            )
        if len(told) == 3:
            return calls(call("c4", "kill_subagent", subagent_id="subagent-00000000"))
        return say("ok")

    house = House(tmp_path, script)
    outcome = await asyncio.wait_for(house.session.run("go"), 10)
    told = outputs(house.provider.requests[-1])
    assert "only the same agent" in told[1]
    assert "belong together" in told[2]
    assert told[3] == "[subagent subagent-00000000 ended]"
    assert outcome.status == "completed"
    assert house.subagents.children == {}
    assert kinds(tmp_path / "session-child-00000000.jsonl")[-1] in {"request_begin", "abort"}


async def test_there_are_at_most_eight(tmp_path: Path) -> None:
    def script(request: Request) -> Events:
        if not outputs(request):
            return calls(*(call(f"c{n}", "run_subagent", prompt="p", run_in_background=True) for n in range(9)))
        return say("ok")

    house = House(tmp_path, script)
    await house.session.run("go")
    told = [text for text in outputs(house.provider.requests[1]) if text.startswith("Error")]
    assert len(told) == 1
    assert "8 sub-agents already" in told[0]
    await house.session.aclose()
    assert house.subagents.children == {}


def test_a_child_gets_no_subagent_tools_and_unknown_tools_are_named(tmp_path: Path) -> None:
    settings = [ToolSettings(name) for name in ("read_file", "run_subagent", "read_image")]
    settings.append(ToolSettings("exec_command", "Run it.", permission="r", timeout_s=7, max_output=99))
    policy = IsolationPolicy(write=(tmp_path,))
    child = builtin_tools(settings, policy=policy, workspace=tmp_path, home=tmp_path)
    assert [tool.spec.name for tool in child.tools] == ["read_file", "exec_command"]
    assert child.missing == ("read_image",)
    command = child.tools[1]
    assert (command.spec.description, command.permission, command.timeout_s, command.max_output) == (
        "Run it.",
        "r",
        7,
        99,
    )

    def never(wish: ChildWish) -> Session:
        raise AssertionError(wish)

    parent = builtin_tools(settings, policy=policy, workspace=tmp_path, home=tmp_path, open_child=never)
    assert [tool.spec.name for tool in parent.tools] == ["read_file", "run_subagent", "exec_command"]


async def test_interrupting_a_caller_in_the_window_ends_the_child(tmp_path: Path) -> None:
    house = House(tmp_path, lambda request: calls(call("c1", "run_subagent", prompt="slow pause 60")))
    running = asyncio.ensure_future(house.session.run("go"))
    await asyncio.sleep(0.1)
    house.session.interrupt()
    outcome = await asyncio.wait_for(running, 5)
    assert outcome.status == "aborted"
    assert house.subagents.children == {}
