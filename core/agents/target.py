"""A Target run as a request and its outcome: what a launcher is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from core.models.interface import ModelRef, StopReason, ThinkingLevel
from core.models.rehearsal.options import RehearsalOptions
from core.state.paths import ProjectPaths

from .approval import ApprovalMode
from .budgets import Budgets

if TYPE_CHECKING:
    from core.strategy.bank.assign import User  # most runs have no user and need nothing of the bank

TargetStatus = Literal["completed", "stopped", "failed", "timeout", "killed"]
"""stopped: ended by its own budget or as a loop, so its work stands as it is; the last three are no work to score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """One Target run. `workspace` exists and is absolute; the trace goes to `trace_path`, made by the run.

    `thinking_level` None is the agent's own. The agent's `max_turns` narrows `budgets`. `timeout_s` bounds the
    process beyond the Session's own wall budget; None is that plus a minute. `user` is who the run is for, where it
    is traffic and no measurement.
    """

    project: ProjectPaths
    agent_id: str
    workspace: Path
    message: str
    model: ModelRef
    session_id: str
    trace_path: Path
    seed: int | None = None
    rehearsal: RehearsalOptions | None = None
    thinking_level: ThinkingLevel | None = None
    approval: ApprovalMode = "allow-all"
    budgets: Budgets = field(default_factory=Budgets)
    allow_unisolated: bool = False
    timeout_s: float | None = None
    user: User | None = None


@dataclass(frozen=True, slots=True)
class TargetStarted:
    """A Target process that runs: `identity` names it so that no later process can be taken for it."""

    session_id: str
    pid: int
    identity: str
    trace_path: Path
    workspace: Path


@dataclass(frozen=True, slots=True)
class TargetOutcome:
    """How a Target run ended. `exit_code` is the process's own, negative for a signal; `text` what it said.

    `failure` and `permanent` tell of a request that failed for good (see `TurnOutcome`).
    """

    exit_code: int
    session_id: str
    trace_path: Path
    workspace: Path
    status: TargetStatus
    duration_s: float
    reason: str = ""
    text: str = ""
    notices: tuple[str, ...] = ()
    failure: StopReason | None = None
    permanent: bool = False


OnStart = Callable[[TargetStarted], None]


def _not_told(started: TargetStarted) -> None:
    """Nobody wants to know."""


class TargetLauncher(Protocol):
    """One way to run a Target; `run_agent.launch_target` is the one that the command line takes too."""

    async def __call__(self, spec: TargetSpec, on_start: OnStart = _not_told) -> TargetOutcome: ...
