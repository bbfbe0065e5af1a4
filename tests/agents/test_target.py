"""A Target as a real process, confined by the kernel: what it does, what it cannot do, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.agents.budgets import Budgets
from core.agents.isolation import processes
from core.agents.isolation.support import probe
from core.agents.orders import Orders
from core.agents.run_agent import launch_target, orders_of, readable_state, reported
from core.agents.target import TargetOutcome, TargetSpec, TargetStarted
from core.foundation.clock import new_session_id
from core.foundation.errors import ExuviaError
from core.models.interface import ModelRef
from core.state.agents import create_agent, edit_config
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths
from core.traces.writer import new_trace_path

from ..models.chat_server import DONE, Answer, ChatServer, chat_server, chunk
from .scripted import kinds, read_records

pytestmark = pytest.mark.skipif(probe().layer == "none", reason="this kernel confines nothing")
CANARY = "canary-5ba1f0"
KEY = "sk-test-key-88112"
VAULT = "vault-value-4477"


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    project = ensure_home(tmp_path / "home")
    made = create_agent(project, "helper", name="Helper", description="Helps.", agents_md="Be exact.\n")
    made.vault.write_text(f'LAB_TOKEN = "{VAULT}"\n')
    rubric = made.benchmarks / "b" / "CASE-001-x" / "rubric"
    rubric.mkdir(parents=True)
    (rubric / "README.md").write_text(f"- 100 pts: {CANARY}\n")
    workspace = made.workspaces / "w1"
    workspace.mkdir(parents=True)
    (workspace / "README.md").write_text("Write a file.\n")
    return made


def spec_of(agent: AgentPaths, model: ModelRef, **changes: Any) -> TargetSpec:
    session_id = new_session_id()
    made = TargetSpec(
        project=agent.project,
        agent_id=agent.id,
        workspace=agent.workspaces / "w1",
        message="Read README.md.",
        model=model,
        session_id=session_id,
        trace_path=new_trace_path(agent, session_id),
        seed=7,
    )
    return replace(made, **changes)


def configured(agent: AgentPaths, server: ChatServer) -> ModelRef:
    """Put the server into the project's models."""
    config = agent.project.config
    config.write_text(
        config.read_text()
        + f'\n[[models]]\nprovider = "custom"\nmodel_id = "m"\napi_key = "{KEY}"\n'
        + f'base_url = "{server.base_url}"\ncontext_window = 32000\n'
    )
    return ModelRef("custom", "m")


@asynccontextmanager
async def model_that_runs(agent: AgentPaths, *commands: str) -> AsyncIterator[tuple[ModelRef, ChatServer]]:
    """Serve a model that runs the commands one by one, then tells what the last one gave."""

    def answer(body: dict[str, Any]) -> Answer:
        told = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        if len(told) < len(commands):
            arguments = json.dumps({"description": "d", "cmd": commands[len(told)]})
            function = {"name": "exec_command", "arguments": arguments}
            call = {"tool_calls": [{"index": 0, "id": f"c{len(told)}", "function": function}]}
            return Answer(pieces=[chunk(call), chunk({}, "tool_calls"), DONE])
        return Answer(pieces=[chunk({"content": told[-1] if told else "hello"}), chunk({}, "stop"), DONE])

    async with chat_server(of=answer) as server:
        yield configured(agent, server), server


def outputs_of(outcome: TargetOutcome) -> list[str]:
    return [p["output"] for _, p in read_records(outcome.trace_path) if p.get("type") == "tool_call_output"]


async def test_a_target_works_in_its_workspace_and_leaves_a_trace(agent: AgentPaths) -> None:
    started: list[TargetStarted] = []
    async with model_that_runs(agent, "cat README.md; echo made > made.txt", "pwd") as (model, server):
        outcome = await launch_target(spec_of(agent, model), started.append)
        headers = server.seen[0][0]
    assert (outcome.status, outcome.exit_code, outcome.reason) == ("completed", 0, "")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert outputs_of(outcome) == ["Write a file.\n", f"{outcome.workspace}\n"]
    assert outcome.text == f"{outcome.workspace}\n"
    assert (outcome.workspace / "made.txt").read_text() == "made\n"
    (kind, meta), *_ = read_records(outcome.trace_path)
    assert kind == "session_meta"
    assert meta["session_id"] == outcome.session_id == started[0].session_id
    assert meta["agent_state"] == str(agent.state)
    assert "source" not in meta
    assert "Be exact." in meta["system_prompt"]
    assert not processes.is_alive(started[0].identity)
    assert (agent.project.live / f"{outcome.session_id}.txt").read_text() == ""
    assert KEY not in outcome.trace_path.read_text()


async def test_a_target_reaches_no_rubric_no_key_and_no_network(agent: AgentPaths) -> None:
    search = f"grep -r {CANARY[:6]} {agent.root} 2>/dev/null; find / -name README.md -path '*rubric*' 2>/dev/null"
    connect = "import socket; socket.create_connection(('127.0.0.1', int(open('port').read())), 2); print('CONNECTED')"
    commands = (
        f"cat ../../benchmarks/*/*/rubric/*; {search}; cat {agent.vault} {agent.project.config}",
        "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'",
        f"echo x >> {agent.agents_md} || echo no write",
        f'python3 -c "{connect}"',
    )
    async with model_that_runs(agent, *commands) as (model, server):
        (agent.workspaces / "w1" / "port").write_text(server.base_url.rsplit(":", 1)[1].split("/")[0])
        model_commands = outputs_of(await launch_target(spec_of(agent, model)))
    assert len(model_commands) == 4
    told = "\n".join(model_commands)
    assert CANARY not in told
    assert KEY not in told
    assert "sk-" not in told
    assert VAULT not in told
    assert "LAB_TOKEN=[redacted]" in told  # a command has it, no text shows it
    assert "no write" in told
    assert "CONNECTED" not in told
    assert "Error" in model_commands[3]  # it ran, and was refused
    assert agent.agents_md.read_text() == "Be exact.\n"


async def test_the_file_tools_and_the_engine_itself_stay_within_the_policy(agent: AgentPaths) -> None:
    orders = orders_of(spec_of(agent, ModelRef("rehearsal", "rehearsal-1")))
    assert agent.vault not in orders.readable
    assert agent.agents_md in orders.readable
    (agent.state / "link").symlink_to("/etc")
    assert agent.state / "link" not in readable_state(agent)
    again = Orders.from_line(orders.to_line())
    assert again.to_line() == orders.to_line()
    assert VAULT not in repr(orders)
    assert orders.to_line().count(b"\n") == 1


async def test_the_rehearsal_model_runs_as_a_target(agent: AgentPaths) -> None:
    outcome = await launch_target(spec_of(agent, ModelRef("rehearsal", "rehearsal-1")))
    assert outcome.status == "completed", outcome.reason
    assert kinds(outcome.trace_path)[:3] == ["session_meta", "text:user", "tool_list_ready"]


async def test_its_own_turn_limit_stops_a_target_and_its_work_stands(agent: AgentPaths) -> None:
    edit_config(agent, {"max_turns": 2})
    async with model_that_runs(agent, "echo 1 > a", "echo 2 > b", "echo 3 > c") as (model, _):
        outcome = await launch_target(spec_of(agent, model))
    assert (outcome.status, outcome.exit_code) == ("stopped", 0)
    assert outcome.reason.startswith("budget: 2 requests")
    assert (outcome.workspace / "b").exists()
    assert not (outcome.workspace / "c").exists()


async def test_a_target_over_its_time_is_ended_with_all_it_started(agent: AgentPaths) -> None:
    async with model_that_runs(agent, "trap '' TERM; sleep 9981 & sleep 9982") as (model, _):
        began = time.monotonic()
        started: list[TargetStarted] = []
        outcome = await launch_target(spec_of(agent, model, timeout_s=2.0), started.append)
    assert outcome.status == "timeout"
    assert time.monotonic() - began < 15
    assert not processes.is_alive(started[0].identity)
    assert not _alive(b"sleep\x009981")


async def test_the_wall_budget_ends_it_from_within(agent: AgentPaths) -> None:
    async with model_that_runs(agent, "sleep 9983") as (model, _):
        outcome = await launch_target(spec_of(agent, model, budgets=Budgets(wall_s=1.5)))
    assert outcome.status == "stopped"
    assert "the time is up" in outcome.reason
    assert kinds(outcome.trace_path)[-1] == "abort"
    assert not _alive(b"sleep\x009983")


async def test_a_killed_target_is_no_result(agent: AgentPaths) -> None:
    async with model_that_runs(agent, "sleep 9984") as (model, _):

        def kill(started: TargetStarted) -> None:
            asyncio.get_running_loop().call_later(1.5, os.kill, started.pid, signal.SIGKILL)

        outcome = await launch_target(spec_of(agent, model), kill)
    assert (outcome.status, outcome.exit_code) == ("killed", -signal.SIGKILL)
    await asyncio.sleep(0.5)
    assert not _alive(b"sleep\x009984")


async def test_a_target_dies_with_the_engine_that_started_it(agent: AgentPaths, tmp_path: Path) -> None:
    async with model_that_runs(agent, "sleep 9985") as (model, _):
        spec = spec_of(agent, model)
        engine = tmp_path / "engine.py"
        engine.write_text(
            "import asyncio, pathlib, sys\n"
            "from core.agents.run_agent import launch_target\n"
            "from core.agents.target import TargetSpec\n"
            "from core.models.interface import ModelRef\n"
            "from core.state.paths import ProjectPaths\n"
            "P = pathlib.Path\n"
            f"spec = TargetSpec(project=ProjectPaths(P({str(agent.project.root)!r})), agent_id='helper',\n"
            f"    workspace=P({str(spec.workspace)!r}), message='go', model=ModelRef('custom', 'm'),\n"
            f"    session_id={spec.session_id!r}, trace_path=P({str(spec.trace_path)!r}))\n"
            "asyncio.run(launch_target(spec, lambda s: print(s.identity, flush=True)))\n"
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(engine), stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        identity = (await process.stdout.readline()).decode().strip()
        for _ in range(100):
            if _alive(b"sleep\x009985"):
                break
            await asyncio.sleep(0.1)
        assert processes.is_alive(identity)
        process.kill()
        await process.wait()
        for _ in range(50):
            if not processes.is_alive(identity) and not _alive(b"sleep\x009985"):
                break
            await asyncio.sleep(0.1)
    assert not processes.is_alive(identity)
    assert not _alive(b"sleep\x009985")


async def test_cancelling_ends_the_process(agent: AgentPaths) -> None:
    async with model_that_runs(agent, "sleep 9986") as (model, _):
        started: list[TargetStarted] = []
        running = asyncio.ensure_future(launch_target(spec_of(agent, model), started.append))
        await asyncio.sleep(1.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not processes.is_alive(started[0].identity)


async def test_a_bad_key_fails_for_good(agent: AgentPaths) -> None:
    refuse = Answer(401, {"Content-Type": "application/json"}, [b'{"error": {"message": "no"}}'])
    async with chat_server(refuse) as server:
        outcome = await launch_target(spec_of(agent, configured(agent, server)))
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert (outcome.failure, outcome.permanent) == ("auth", True)
    assert "401 no" in outcome.reason


async def test_subagents_of_a_confined_target_leave_their_traces_in_place(agent: AgentPaths) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        child = body["messages"][-1]["content"] == "count the files"
        if child or any(m["role"] == "tool" for m in body["messages"]):
            return Answer(pieces=[chunk({"content": "three"}), chunk({}, "stop"), DONE])
        arguments = json.dumps({"description": "d", "prompt": "count the files"})
        function = {"name": "run_subagent", "arguments": arguments}
        call = {"tool_calls": [{"index": 0, "id": "c0", "function": function}]}
        return Answer(pieces=[chunk(call), chunk({}, "tool_calls"), DONE])

    async with chat_server(of=answer) as server:
        outcome = await launch_target(spec_of(agent, configured(agent, server)))
    assert outputs_of(outcome)[0].startswith("three\n[subagent idle")
    (child_id,) = (p["session_id"] for _, p in read_records(outcome.trace_path) if p.get("type") == "subagent")
    child = outcome.trace_path.parent / f"{child_id}_001.jsonl"
    records = read_records(child)
    assert records[0][1]["source"] == "subagent"
    names = next(p["tools"] for _, p in records if p.get("type") == "tool_list_ready")
    assert not any("subagent" in tool["name"] for tool in names)


async def test_what_the_configuration_asks_and_is_not_here_is_said(agent: AgentPaths) -> None:
    text = agent.config.read_text()
    assert "mcpServers" not in text or "mcpServers: []" in text
    if "mcpServers: []" in text:
        text = text.replace(
            "mcpServers: []", "mcpServers:\n    - name: weather\n      transport: stdio\n      command: x"
        )
    else:
        text = text.rstrip("\n") + "\n  mcpServers:\n    - name: weather\n      transport: stdio\n      command: x\n"
    agent.config.write_text(text)
    outcome = await launch_target(spec_of(agent, ModelRef("rehearsal", "rehearsal-1")))
    assert any("weather" in notice for notice in outcome.notices)


@pytest.mark.parametrize(
    "changes",
    [{"agent_id": "nobody"}, {"model": ModelRef("custom", "unknown")}, {"workspace": Path("/no/such")}],
)
async def test_what_cannot_start_says_so_before_anything_runs(agent: AgentPaths, changes: dict[str, Any]) -> None:
    spec = replace(spec_of(agent, ModelRef("rehearsal", "rehearsal-1")), **changes)
    with pytest.raises(ExuviaError):
        await launch_target(spec)
    assert not spec.trace_path.exists()


async def test_nothing_outside_the_project_changes(agent: AgentPaths, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    async with model_that_runs(agent, "touch ~/mine; mktemp; pip --version; git init -q .; echo $HOME") as (model, _):
        outcome = await launch_target(spec_of(agent, model))
    assert outcome.status == "completed"
    made = {path for path in tmp_path.rglob("*") if path.is_file() and path not in before}
    scratchpad = agent.scratchpad / outcome.session_id
    allowed = (scratchpad, outcome.workspace, agent.traces, agent.project.live)
    assert all(any(path.is_relative_to(root) for root in allowed) for path in made)
    assert (scratchpad / "home" / "mine").exists()
    assert not Path("~/mine").expanduser().exists()


def _alive(command: bytes) -> bool:
    found = False
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found = found or command in path.read_bytes()
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    "report",
    [
        b"",
        b"[" * 100_000,
        b"\xff",
        b"[]",
        b'{"status": "completed"}',
        b'{"status": true, "reason": ""}',
        b'{"status": ["completed"], "reason": ""}',
        b'{"status": "perfect", "reason": ""}',
        b'{"status": "completed", "reason": "", "notices": "abc"}',
        b'{"status": "completed", "reason": "", "text": NaN}',
    ],
    ids=lambda report: repr(report)[:50],
)
def test_what_is_no_report_is_none(report: bytes) -> None:
    assert reported(report) is None
    assert reported(b'{"status": "completed", "reason": ""}') is not None
