"""The built-in tools an agent's configuration asks for, with its descriptions and limits (EVOLUTION 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from core.agents.isolation.policy import IsolationPolicy
from core.agents.session import Session
from core.agents.tool import BackgroundWork, Tool
from core.models.interface import ToolSpec

from .commands import ExecCommand, InputCommand, KillCommand, Shell
from .files import EditFile, Reach, ReadFile, WriteFile
from .subagents import ChildWish, InputSubagent, KillSubagent, RunSubagent, SubAgents

_Alone = ReadFile | WriteFile | EditFile | ExecCommand | InputCommand | KillCommand
_Known = _Alone | RunSubagent | InputSubagent | KillSubagent
_SUBAGENT_TOOLS = frozenset({"run_subagent", "input_subagent", "kill_subagent"})


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """A tool as an agent's configuration has it; empty texts and None leave our own."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    permission: Literal["r", "rw"] | None = None
    timeout_s: float | None = None
    max_output: int | None = None


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools, what they run in the background, what the configuration asked for that is not here, and the shell that
    all commands of the Session go through."""

    tools: tuple[Tool, ...]
    background: tuple[BackgroundWork, ...]
    missing: tuple[str, ...]
    shell: Shell


def builtin_tools(
    settings: Sequence[ToolSettings],
    *,
    policy: IsolationPolicy,
    workspace: Path,
    home: Path,
    extra_env: Mapping[str, str] | None = None,
    allow_unisolated: bool = False,
    open_child: Callable[[ChildWish], Session] | None = None,
) -> Toolbox:
    """Return the tools that `settings` names, in that order.

    `policy` rules files and commands alike; `home` (commands' HOME and TMPDIR) is added to what commands may write.
    Without `open_child` there are no sub-agent tools: a sub-agent has none.
    """
    reach = Reach(policy, workspace)
    shell = Shell(
        replace(policy, write=(*policy.write, home)),
        workspace,
        home,
        extra_env or {},
        allow_unisolated=allow_unisolated,
    )
    known: list[_Known] = [
        ReadFile(reach),
        WriteFile(reach),
        EditFile(reach),
        ExecCommand(shell),
        InputCommand(shell),
        KillCommand(shell),
    ]
    background: list[BackgroundWork] = [shell]
    if open_child is not None:
        subagents = SubAgents(open_child)
        known += [RunSubagent(subagents), InputSubagent(subagents), KillSubagent(subagents)]
        background.append(subagents)
    by_name = {tool.spec.name: tool for tool in known}
    tools = tuple(_as_configured(by_name[wanted.name], wanted) for wanted in settings if wanted.name in by_name)
    missing = tuple(w.name for w in settings if w.name not in by_name and w.name not in _SUBAGENT_TOOLS)
    return Toolbox(tools, tuple(background), missing, shell)


def _as_configured(tool: _Known, wanted: ToolSettings) -> Tool:
    spec = ToolSpec(
        tool.spec.name, wanted.description or tool.spec.description, wanted.parameters or tool.spec.parameters
    )
    configured: Tool = replace(
        tool,
        spec=spec,
        permission=wanted.permission or tool.permission,
        timeout_s=wanted.timeout_s or tool.timeout_s,
        max_output=wanted.max_output or tool.max_output,
    )
    return configured
