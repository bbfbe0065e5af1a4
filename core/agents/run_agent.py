"""Running a Target: a process of its own, confined before it does anything an agent wrote (DECISIONS 4, 7).

This side reads what the Session needs (configuration, prompt, policy, key, vault), starts the process, and sees to
it that nothing of it is left. The other side is `target_process`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any, get_args

from core.agents.isolation import processes
from core.agents.isolation.environment import clean_environment
from core.foundation import strict_json
from core.foundation.clock import SESSION_ID
from core.foundation.errors import NotFoundError, UsageError
from core.foundation.visible import decode
from core.models.registry import route_of
from core.state import readonly
from core.state.agents import AgentConfig, read_agent
from core.state.paths import AgentPaths
from core.state.project import read_project
from core.state.vault import vault_values

from .configured import context_limit, lacking, tool_settings
from .governed import Governed
from .orders import Orders
from .prompt import assemble_system_prompt, environment_of
from .target import OnStart, TargetOutcome, TargetSpec, TargetStarted, TargetStatus, _not_told

_BEYOND_WALL_S = 60.0
_GRACE_S = 2.0
_REPORT_BYTES = 1 << 20
_STDERR_SHOWN = 2000


async def launch_target(spec: TargetSpec, on_start: OnStart = _not_told) -> TargetOutcome:
    """Run a Target to its end. Raises ExuviaError where it could not be started: a bad agent, model or workspace.

    `on_start` hears of the process as soon as it runs, before it gets its orders. Cancelled, it ends the process.
    """
    readonly.refuse(spec.project.root)
    orders = orders_of(spec)
    began = time.monotonic()
    process = await start_process("core.agents.target_process", orders)
    who = processes.identity(process.pid) or f"{process.pid}:0:-"
    try:
        on_start(TargetStarted(spec.session_id, process.pid, who, spec.trace_path, spec.workspace))
        limit = spec.timeout_s if spec.timeout_s is not None else spec.budgets.wall_s + _BEYOND_WALL_S
        report, errors, in_time = await _attend(process, orders.to_line(), limit)
    finally:
        # Whatever happened: nothing of it lives on.
        if process.returncode is None:
            await asyncio.shield(asyncio.to_thread(processes.kill_tree, who, grace_s=_GRACE_S))
            await process.wait()
        bring_home(orders)
    duration = time.monotonic() - began
    return _outcome(spec, process.returncode or 0, duration, report, errors, in_time=in_time)


async def start_process(module: str, orders: Orders, *, limit: int = 1 << 16) -> asyncio.subprocess.Process:
    """Start the process that will confine itself by `orders`, which it is yet to be told; all its streams are pipes."""
    environment = clean_environment({}, orders.scratchpad / "home", orders.scratchpad / "home")
    # Our own modules are loaded before confinement; compiled once, the next Target starts faster.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=limit,
        start_new_session=True,
        cwd="/",
        env=environment,
    )


async def _attend(process: asyncio.subprocess.Process, orders: bytes, limit_s: float) -> tuple[bytes, bytes, bool]:
    """Give the orders and hear the report; stdin stays open, for its end tells the process that we are gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    heard = [asyncio.ensure_future(_read(stream)) for stream in (process.stdout, process.stderr)]
    try:
        try:
            process.stdin.write(orders)
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it ended before it heard us; its exit and its words on stderr say why
        done, _ = await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=limit_s)
        if not done:
            return b"", b"", False
        await asyncio.wait(heard, timeout=_GRACE_S)
        report, errors = (task.result() if task.done() else b"" for task in heard)
        return report, errors, True
    finally:
        for task in heard:
            task.cancel()
        process.stdin.close()


async def _read(stream: asyncio.StreamReader) -> bytes:
    """Read to the end, keep the head."""
    kept = bytearray()
    while piece := await stream.read(1 << 16):
        kept += piece[: max(_REPORT_BYTES - len(kept), 0)]
    return bytes(kept)


def _outcome(
    spec: TargetSpec, exit_code: int, duration_s: float, report: bytes, errors: bytes, *, in_time: bool
) -> TargetOutcome:
    told = reported(report)
    status: TargetStatus
    if not in_time:
        status, reason = "timeout", f"it did not end within {duration_s:.0f} s and was stopped"
    elif exit_code < 0:
        status, reason = "killed", f"its process was ended by signal {-exit_code}"
    elif told is None:
        words = decode(errors).strip()[-_STDERR_SHOWN:]
        status, reason = "failed", f"its process ended with exit code {exit_code} and no report: {words or 'no words'}"
    else:
        status, reason = told["status"], told["reason"]
    if status in {"completed", "stopped"} and not _has_trace(spec.trace_path):
        status, reason = "failed", f"it left no trace at {spec.trace_path}"
    told = told or {}
    return TargetOutcome(
        exit_code=exit_code,
        session_id=spec.session_id,
        trace_path=spec.trace_path,
        workspace=spec.workspace,
        status=status,
        duration_s=duration_s,
        reason=reason,
        text=told.get("text", ""),
        notices=tuple(told.get("notices", ())),
        failure=told.get("failure"),
        permanent=told.get("permanent", False),
    )


def reported(report: bytes) -> dict[str, Any] | None:
    """Return what a Target's process says of its end, or None where it says nothing that can be believed."""
    try:
        told = strict_json.parse(report)
    except ValueError:
        return None
    believable = (
        isinstance(told, dict)
        and isinstance(told.get("status"), str)
        and told["status"] in get_args(TargetStatus)
        and isinstance(told.get("reason"), str)
        and isinstance(told.get("text", ""), str)
        and isinstance(told.get("notices", []), list)
    )
    return told if believable else None


def _has_trace(path: Path) -> bool:
    """Tell whether there is a trace that begins as one should: a run that left none has no result."""
    try:
        with path.open("rb") as file:
            head = file.readline(1 << 24)
        return bool(strict_json.parse(head)["type"] == "session_meta")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def orders_of(spec: TargetSpec) -> Orders:
    """Read what the Session needs, and make its scratchpad. Raises ExuviaError for what is not there or not usable."""
    agent = spec.project.agent(spec.agent_id)
    config = read_agent(agent)
    project = read_project(spec.project)
    if not SESSION_ID.fullmatch(spec.session_id):
        raise UsageError(f"{spec.session_id!r} is no session id.")
    if not spec.workspace.is_absolute() or not spec.workspace.is_dir():
        raise NotFoundError(f"There is no workspace {spec.workspace}.", hint="Make it first; its path is absolute.")
    route = route_of(spec.project, spec.model.provider, spec.model.model_id, seed=spec.seed, rehearsal=spec.rehearsal)
    workspace = spec.workspace.resolve()
    scratchpad = agent.scratchpad / spec.session_id
    for directory in (scratchpad, scratchpad / "home", scratchpad / "traces", scratchpad / "truncated-tool-output"):
        directory.mkdir(parents=True, exist_ok=True)
    environment = environment_of(
        spec.project, spec.agent_id, workspace=workspace, model=spec.model, session_id=spec.session_id
    )
    vault = vault_values(agent) if config.vault.enabled else {}
    wanted = config.model_max_tokens
    return Orders(
        project=spec.project,
        agent_id=spec.agent_id,
        agent_state=agent.state.resolve(),
        readable=readable_state(agent),
        workspace=workspace,
        scratchpad=scratchpad.resolve(),
        session_id=spec.session_id,
        trace_path=spec.trace_path,
        live_path=spec.project.live / f"{spec.session_id}.txt",
        message=spec.message,
        route=route,
        system_prompt=assemble_system_prompt(agent, config, environment, message=spec.message),
        tools=tool_settings(config, vision=route.entry.vision),
        vault={name: value.get_secret_value() for name, value in vault.items()},
        command_policy=project.command_policy,
        notices=lacking(config),
        approval=spec.approval,
        thinking_level=spec.thinking_level or config.thinking_level,
        max_tokens=min(wanted, route.entry.max_tokens or wanted),
        request_timeout_s=config.timeout_ms / 1000,
        context_limit=context_limit(config, route.entry),
        budgets=spec.budgets.with_max_turns(config.max_turns),
        seed=spec.seed,
        allow_unisolated=spec.allow_unisolated,
        governed=_governed(agent, config, spec),
    )


def _governed(agent: AgentPaths, config: AgentConfig, spec: TargetSpec) -> Governed | None:
    if config.skills.selection != "strategy":
        return None
    from .in_force import governed

    return governed(agent, config, spec.user, spec.model.model_id)


def readable_state(agent: AgentPaths) -> tuple[Path, ...]:
    """Return what of the agent's state its Session may read: all but the vault, whose values are for commands alone.

    Links are left out: a state must not reach beyond itself (DECISIONS 13).
    """
    return tuple(
        sorted(
            entry.resolve()
            for entry in agent.state.iterdir()
            if entry.name != agent.vault.name and not entry.is_symlink()
        )
    )


def bring_home(orders: Orders) -> None:
    """Move the traces of sub-agents, which a confined process can write in its scratchpad only, to their place."""
    made = orders.scratchpad / "traces"
    target = orders.trace_path.parent
    for trace in sorted(made.glob("*.jsonl")) if made.is_dir() else ():
        name = trace.name.removesuffix("_001.jsonl")
        taken = (target / trace.name).exists()
        if taken or trace.is_symlink() or not trace.is_file() or not SESSION_ID.fullmatch(name):
            continue
        trace.rename(target / trace.name)
    if orders.governed is not None:
        from .traffic import bring_turns_home

        bring_turns_home(orders)
