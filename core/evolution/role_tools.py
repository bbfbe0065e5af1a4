"""The tools of files and commands that a role has beside its protocol's, and what they may reach (DECISIONS 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from core.agents.isolation.launch import ConfinedProcess
from core.agents.isolation.policy import IsolationPolicy
from core.agents.tool import BackgroundWork, Tool, ToolContext, ToolResult
from core.agents.tools.commands import ExecCommand, InputCommand, KillCommand, Shell, private_home
from core.agents.tools.files import READ_FILE, EditFile, Reach, ReadFile, WriteFile
from core.evolution import strategy_edits
from core.evolution.case_files import oddities
from core.evolution.events import EventName, Journal
from core.evolution.optimizer_view import visible_sessions
from core.evolution.trials import Trials, measured_cases
from core.foundation.errors import BlockedError
from core.models.interface import ToolSpec
from core.state.paths import AgentPaths, BenchmarkPaths
from core.traces.listing import session_head


def public_state(agent: AgentPaths) -> tuple[Path, ...]:
    """Return what a role may read of an Agent State: never its vault, memory or schedules."""
    strategies = agent.state / strategy_edits.ROOT
    return tuple(path.resolve() for path in (agent.agents_md, agent.config, agent.skills, strategies))


def builtin_library() -> Path | None:
    """Return the directory of Case material that comes with the program, if it is there."""
    root = resources.files("benchmarks") / "data-chores"
    return Path(str(root)) if isinstance(root, Path) and root.is_dir() else None


def builder_tools(
    *,
    agent: AgentPaths,
    benchmark: BenchmarkPaths,
    operator: AgentPaths,
    library: Path | None,
    workspace: Path,
    scratchpad: Path,
    allow_unisolated: bool,
) -> tuple[tuple[Tool, ...], tuple[BackgroundWork, ...]]:
    """Return file and command tools: the benchmark and a scratch directory to write, the Target's public state, its
    traces and workspaces, the skills and the library to read.
    """
    readable = [*public_state(agent), agent.traces, agent.workspaces, operator.skills]
    if library is not None:
        readable.append(library)
    policy = IsolationPolicy(
        read=tuple(path.resolve() for path in readable),
        write=(benchmark.root.resolve(), workspace.resolve()),
    )
    home = private_home(scratchpad)
    commands = IsolationPolicy(read=policy.read, write=(*policy.write, home))
    reach = Reach(policy, workspace.resolve())
    shell = RoleShell(commands, workspace.resolve(), home, allow_unisolated=allow_unisolated)
    tools = (ReadFile(reach), WriteFile(reach), EditFile(reach), ExecCommand(shell), InputCommand(shell))
    return (*tools, KillCommand(shell)), (shell,)


@dataclass
class RoleShell(Shell):
    """A shell whose policy names places that come into being later: the agent, its benchmark, the first workspace."""

    async def start(self, command: str, workdir: str | None) -> ConfinedProcess:
        """Start a command that may reach what exists of `policy` now; the kernel layer takes only what is there."""
        whole = self.policy
        self.policy = replace(
            whole, read=tuple(p for p in whole.read if p.exists()), write=tuple(p for p in whole.write if p.exists())
        )
        try:
            return await super().start(command, workdir)
        finally:
            self.policy = whole


@dataclass(frozen=True)
class ReadPublicFile:
    """read_file for an Optimizer: what it may see grows with the cells that were scored."""

    reach: Callable[[], Reach]
    spec: ToolSpec = READ_FILE
    permission: Literal["r", "rw"] = "r"
    timeout_s: float = 30.0
    max_output: int = 64_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Return the file's text, judged by what is visible at this moment."""
        return await ReadFile(self.reach()).call(arguments, context)


def optimizer_reach(trials: Trials, operator: AgentPaths, statements: Path, workspace: Path) -> Callable[[], Reach]:
    """Return what an Optimizer may read: the agent's public state, public statements, its skills, and the Target
    workspaces behind visible scores. Never a rubric, an Evaluator's trace or a held-out Case.
    """
    agent = trials.desk.agent
    known: dict[str, Path] = {}

    def reach() -> Reach:
        sessions = visible_sessions(trials.state())
        started = _workspaces(trials.desk.journal)
        for session_id in sessions - known.keys():
            place = started.get(session_id) or _traced_workspace(agent, session_id)
            if place is not None and place.resolve().is_relative_to(agent.workspaces.resolve()):
                known[session_id] = place.resolve()
        visible = tuple(known[session_id] for session_id in sessions & known.keys())
        policy = IsolationPolicy(
            read=(*public_state(agent), operator.skills.resolve(), statements.resolve(), workspace.resolve(), *visible)
        )
        return Reach(policy, workspace.resolve())

    return reach


def _workspaces(journal: Journal) -> dict[str, Path]:
    return {
        event["session_id"]: Path(event["workspace"])
        for event in journal.events
        if event["event"] == EventName.TARGET_FINISHED
    }


def _traced_workspace(agent: AgentPaths, session_id: str) -> Path | None:
    head = session_head(agent, session_id)
    return Path(head.workspace) if head is not None and head.workspace else None


def publish_statements(benchmark: BenchmarkPaths, target: Path) -> None:
    """Copy the public statements of the measured Cases to `target/<CASE>/`, the only Cases an Optimizer sees."""
    import shutil  # once a run

    incoming = target.with_name(target.name + ".incoming")
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    for case_id in measured_cases(benchmark):
        if (odd := oddities(benchmark.case(case_id))) is not None:
            raise BlockedError(f"{case_id} {odd}.", hint="Replace it by a file, then resume the run.")
        shutil.copytree(benchmark.case(case_id).statement, incoming / case_id, symlinks=True)
    shutil.rmtree(target, ignore_errors=True)
    incoming.rename(target)
