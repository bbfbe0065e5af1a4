"""Commands, confined for real: output, exit codes, time, background, and that nothing outlives its Session."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import probe
from core.agents.tool import ToolContext, ToolResult
from core.agents.tools.commands import ExecCommand, InputCommand, KillCommand, Shell
from core.foundation.errors import RefusedError

pytestmark = pytest.mark.skipif(probe().layer == "none", reason="this kernel confines nothing")
CONTEXT = ToolContext("s", "c", Path("/"))


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    workspace, home = (tmp_path / "ws").resolve(), (tmp_path / "home").resolve()
    workspace.mkdir()
    home.mkdir()
    (tmp_path / "secret").write_text("rubric")
    made = Shell(IsolationPolicy(write=(workspace, home)), workspace, home, {"LAB_TOKEN": "vault-value"})
    yield made
    await made.aclose()


async def run(shell: Shell, cmd: str, **more: Any) -> ToolResult:
    return await ExecCommand(shell).call({"cmd": cmd, **more}, CONTEXT)


async def test_output_exit_code_and_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-engine")
    assert (await run(shell, "echo out; echo err >&2; pwd")).output == f"out\nerr\n{shell.workspace}\n"
    assert (await run(shell, "printf part; exit 3")).output == "part\n[exit code 3]"
    assert (await run(shell, "true")).output == "[no output]"
    environment = (await run(shell, "env")).output
    assert "sk-engine" not in environment
    assert "LAB_TOKEN=vault-value" in environment
    assert f"HOME={shell.home}" in environment


async def test_a_command_sees_its_workspace_and_nothing_beside_it(shell: Shell, tmp_path: Path) -> None:
    told = (await run(shell, f"cat {tmp_path}/secret; echo made > f; cat f")).output
    assert "rubric" not in told
    assert told.endswith("made\n")
    sub = shell.workspace / "sub"
    sub.mkdir()
    assert (await run(shell, "pwd", workdir="sub")).output == f"{sub}\n"
    (shell.workspace / "round").symlink_to("about")
    (shell.workspace / "about").symlink_to("round")
    for workdir in ("..", "round/x", "nu\0l", "x" * 5000):
        with pytest.raises(RefusedError):
            await run(shell, "pwd", workdir=workdir)


async def test_what_takes_long_goes_on_in_the_background_and_is_told_once(shell: Shell) -> None:
    told = (await run(shell, "echo early; sleep 0.6; echo late", yield_time_ms=250)).output
    assert told.startswith("early\n[command running in background with process_id proc-")
    process_id = next(iter(shell.running))
    assert shell.take_notices() == []
    polled = await InputCommand(shell).call({"process_id": process_id}, CONTEXT)
    assert polled.output == "late\n"
    assert shell.take_notices() == []  # the poll has shown its end


async def test_a_background_command_that_ends_unseen_is_announced_once(shell: Shell) -> None:
    await run(shell, "echo built; exit 4", run_in_background=True)
    await asyncio.wait_for(shell.changed(), 5)
    (notice,) = shell.take_notices()
    assert notice.startswith("[background_task_done]\n")
    assert "kind: command" in notice
    assert "status: failed" in notice
    assert "exit code 4" in notice
    assert notice.endswith("built\n")
    assert shell.take_notices() == []


async def test_killing_and_closing_leave_nothing(shell: Shell) -> None:
    pids = shell.workspace / "pids"
    await run(shell, "trap '' TERM; sleep 987 & echo $$ > pids; wait; wait", run_in_background=True)
    await run(shell, "sleep 986", run_in_background=True)
    for _ in range(100):
        if pids.exists() and pids.read_text().strip():
            break
        await asyncio.sleep(0.05)
    first, second = shell.running
    told = await KillCommand(shell).call({"process_id": first}, CONTEXT)
    assert "ended" in told.output
    assert shell.take_notices() == []
    began = time.monotonic()
    await shell.aclose()
    assert time.monotonic() - began < 5
    assert shell.running[second].ended.done()
    alive = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            alive.append(path.read_bytes())
    assert not any(b"sleep\x00987" in line or b"sleep\x00986" in line for line in alive)


async def test_a_cancelled_call_kills_its_command(shell: Shell) -> None:
    task = asyncio.ensure_future(run(shell, "echo started > f; sleep 985; echo done > g"))
    for _ in range(100):
        if (shell.workspace / "f").exists():
            break
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (shell.workspace / "g").exists()
    assert shell.running == {}


async def test_unknown_processes_are_told(shell: Shell) -> None:
    with pytest.raises(RefusedError, match="no command proc-x"):
        await KillCommand(shell).call({"process_id": "proc-x"}, CONTEXT)
