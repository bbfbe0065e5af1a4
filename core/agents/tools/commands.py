"""Commands: exec_command in the foreground or background, input_command to look after one, kill_command to end it.

Every command runs confined by the Session's policy, by `sh -c`, with an environment that is an allow-list. What it
starts never outlives it, and what runs in the background never outlives the Session.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.agents.isolation.environment import clean_environment
from core.agents.isolation.launch import ConfinedProcess, spawn_confined
from core.agents.isolation.policy import IsolationPolicy
from core.agents.tool import ToolContext, ToolResult
from core.foundation.clock import short_id
from core.foundation.errors import RefusedError
from core.foundation.visible import decode
from core.models.interface import ToolSpec

COMMAND_LIMIT = 64
_OUTPUT_BYTES = 4 << 20
_BACKGROUND_S = 3600.0
_MARGIN_S = 5.0  # a call answers this long before its own time-out, with the command in the background
_TAIL = 4000  # characters of output in the notice of a command that ended
_COMMAND_IN_NOTICE = 200
_FOREGROUND_S = 60.0
_POLL_S = 120.0


@dataclass
class _Background:
    """A command in the background. `told` says that the model has seen its end."""

    process_id: str
    command: str
    process: ConfinedProcess
    ended: asyncio.Task[int]
    told: bool = False


@dataclass
class Shell:
    """The commands of one Session. Invariant: every process in `running` is ended by `aclose` at the latest.

    `home` is a directory of the Session's own that holds HOME and TMPDIR; `extra_env` may hold vault values.
    """

    policy: IsolationPolicy
    workspace: Path
    home: Path
    extra_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow_unisolated: bool = False
    background_s: float = _BACKGROUND_S
    running: dict[str, _Background] = field(default_factory=dict)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that commands may know and no output may show."""
        return tuple(self.extra_env.values())

    async def start(self, command: str, workdir: str | None) -> ConfinedProcess:
        """Start `sh -c command`. Raises RefusedError for too many, IsolationError where it can't be confined."""
        if sum(not entry.ended.done() for entry in self.running.values()) >= COMMAND_LIMIT:
            raise RefusedError(f"Error: {COMMAND_LIMIT} commands run in the background already; kill one first.")
        try:
            cwd = (self.workspace / workdir).resolve() if workdir else self.workspace
            usable = cwd.is_dir() and self.policy.allows(cwd, write=False)
        except (OSError, RuntimeError, ValueError):  # links in a circle, a name no system takes, a NUL
            usable = False
        if not usable:
            raise RefusedError(f"Error: {str(workdir)[:200]} is no directory that commands may run in.")
        tmp = self.home / "tmp"
        tmp.mkdir(parents=True, exist_ok=True)
        return await spawn_confined(
            ["/bin/sh", "-c", command],
            policy=self.policy,
            cwd=cwd,
            env=clean_environment(self.extra_env, self.home, tmp),
            timeout_s=self.background_s,
            max_output_bytes=_OUTPUT_BYTES,
            allow_unisolated=self.allow_unisolated,
        )

    def keep(self, command: str, process: ConfinedProcess) -> _Background:
        """Put a running command into the background."""
        entry = _Background(f"proc-{short_id()}", command, process, asyncio.ensure_future(process.wait()))
        self.running[entry.process_id] = entry
        return entry

    def find(self, process_id: str) -> _Background:
        """Return a background command, or raise RefusedError."""
        try:
            return self.running[process_id]
        except KeyError:
            known = ", ".join(self.running) or "none"
            raise RefusedError(f"Error: there is no command {process_id}. Known: {known}.") from None

    def take_notices(self) -> list[str]:
        """Give the end of each background command once, unless a call has shown it (BackgroundWork)."""
        notices = []
        for entry in self.running.values():
            if entry.ended.done() and not entry.told:
                entry.told = True
                notices.append(_notice(entry))
        return notices

    def expected(self) -> bool:
        """A model that has ended its turn is not kept waiting for a command: it may be a server."""
        return False

    async def changed(self) -> None:
        """Wait for the next command to end."""
        waits = [entry.ended for entry in self.running.values() if not entry.ended.done()]
        if waits:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)

    async def aclose(self) -> None:
        """End every command that still runs."""
        left = [entry for entry in self.running.values() if not entry.ended.done()]
        for entry in left:
            await entry.process.kill(grace_s=0.2)
        if left:
            await asyncio.wait([entry.ended for entry in left])


def _notice(entry: _Background) -> str:
    code = entry.ended.result() if not entry.ended.exception() else None
    status = "completed" if code == 0 else "failed"
    detail = _how(entry.process, code)
    shown = entry.command if len(entry.command) <= _COMMAND_IN_NOTICE else entry.command[:_COMMAND_IN_NOTICE] + "..."
    output = decode(entry.process.read())
    return (
        f"[background_task_done]\nThis comes from the harness, not from the user: work in the background has ended.\n"
        f"kind: command\nid: {entry.process_id}\nstatus: {status}\ndetail: {detail}\n[/background_task_done]\n\n"
        f"`{shown}` (process_id {entry.process_id}): {detail}\n\n{output[-_TAIL:]}"
    )


def _how(process: ConfinedProcess, code: int | None) -> str:
    if code is None:
        return "it could not be run to its end"
    if process.timed_out:
        return "stopped, it ran for too long"
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"


def _result(process: ConfinedProcess, code: int) -> ToolResult:
    """Return what a command that ended has to show: its output, and how it ended where that was not exit code 0."""
    text = decode(process.read())
    if process.dropped:
        text += f"\n[{process.dropped} bytes more were dropped]"
    if code == 0 and not process.timed_out:
        return ToolResult(text or "[no output]")
    separator = "" if not text or text.endswith("\n") else "\n"
    return ToolResult(f"{text}{separator}[{_how(process, code)}]", "timeout" if process.timed_out else "completed")


async def _watch(process: ConfinedProcess, seconds: float) -> int | None:
    """Return the exit code if the command ends within `seconds`."""
    try:
        return await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        return None


_DESCRIPTION = {"type": "string", "description": "What it does, in a few words, for whoever watches."}
_PROCESS_ID = {"type": "string", "description": "The process_id that exec_command gave."}
EXEC_COMMAND = ToolSpec(
    "exec_command",
    "Run a shell command in the Workspace and return its output. One that does not end in time goes on in the "
    "background and gets a process_id.",
    {
        "type": "object",
        "properties": {
            "description": _DESCRIPTION,
            "cmd": {"type": "string", "description": "The command, run by sh -c."},
            "workdir": {"type": "string", "description": "Where to run it; the Workspace if not given."},
            "yield_time_ms": {"type": "number", "description": "How long to wait for its end; 60000 if not given."},
            "run_in_background": {"type": "boolean", "description": "Do not wait for it at all."},
        },
        "required": ["cmd"],
    },
)
INPUT_COMMAND = ToolSpec(
    "input_command",
    "Look after a command in the background: wait for more output or its end, and return what is new.",
    {
        "type": "object",
        "properties": {
            "description": _DESCRIPTION,
            "process_id": _PROCESS_ID,
            "chars": {"type": "string", "description": "Text for its input; commands here read none."},
            "yield_time_ms": {"type": "number", "description": "How long to wait for its end; 120000 if not given."},
        },
        "required": ["process_id"],
    },
)
KILL_COMMAND = ToolSpec(
    "kill_command",
    "End a command in the background and everything it started.",
    {
        "type": "object",
        "properties": {"description": _DESCRIPTION, "process_id": _PROCESS_ID},
        "required": ["process_id"],
    },
)


@dataclass(frozen=True)
class ExecCommand:
    """exec_command."""

    shell: Shell
    spec: ToolSpec = EXEC_COMMAND
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 120.0
    max_output: int = 16_000
    repeatable: bool = False

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run it; what does not end in the window goes to the background, and is not lost."""
        command = arguments["cmd"]
        process = await self.shell.start(command, arguments.get("workdir"))
        try:
            await process.started()
            if arguments.get("run_in_background"):
                return ToolResult(_running(self.shell.keep(command, process)))
            window = _seconds(arguments.get("yield_time_ms"), _FOREGROUND_S)
            code = await _watch(process, max(min(window, self.timeout_s - _MARGIN_S), 0.05))
        except asyncio.CancelledError:
            process.kill_now()
            await asyncio.shield(process.kill(grace_s=0))
            raise
        if code is not None:
            return _result(process, code)
        entry = self.shell.keep(command, process)
        return ToolResult(f"{decode(process.read())}{_running(entry)}")


@dataclass(frozen=True)
class InputCommand:
    """input_command: polling only; our commands have no input."""

    shell: Shell
    spec: ToolSpec = INPUT_COMMAND
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 130.0
    max_output: int = 16_000
    repeatable: bool = False

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Wait for the end of a background command and return what is new."""
        entry = self.shell.find(arguments["process_id"])
        if arguments.get("chars"):
            return ToolResult(
                "Error: commands here read no input; give it by a file or a pipe in the command.", "failed"
            )
        window = _seconds(arguments.get("yield_time_ms"), _POLL_S)
        await asyncio.wait({entry.ended}, timeout=max(min(window, self.timeout_s - _MARGIN_S), 0.0))
        if entry.ended.done():
            entry.told = True
            return _result(entry.process, entry.ended.result())
        return ToolResult(f"{decode(entry.process.read())}{_running(entry)}")


@dataclass(frozen=True)
class KillCommand:
    """kill_command."""

    shell: Shell
    spec: ToolSpec = KILL_COMMAND
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 30.0
    max_output: int = 16_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """End it and return what it had to say."""
        entry = self.shell.find(arguments["process_id"])
        code = await entry.process.kill()
        entry.told = True
        return ToolResult(
            f"{decode(entry.process.read())}[command {entry.process_id} ended: {_how(entry.process, code)}]"
        )


def _running(entry: _Background) -> str:
    return (
        f"[command running in background with process_id {entry.process_id}; if it ends while you work, a message "
        "says so. Use input_command to wait for it or kill_command to stop it]"
    )


def _seconds(milliseconds: object, default: float) -> float:
    value = float(milliseconds) / 1000 if isinstance(milliseconds, int | float) else default
    return value if value >= 0 else default


def private_home(scratchpad: Path) -> Path:
    """Make and return the HOME of a Session's commands, outside its Workspace (FAULTS: pollution)."""
    home = scratchpad / "home"
    home.mkdir(parents=True, exist_ok=True)
    os.chmod(home, 0o700)  # noqa: PTH101  # a path as text
    return home.resolve()
