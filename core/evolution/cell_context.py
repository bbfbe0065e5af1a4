"""What the cells of one run share, and the Session that evaluates one of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.agents.budgets import Budgets
from core.agents.isolation.policy import IsolationPolicy
from core.agents.prompt import assemble_system_prompt, environment_of
from core.agents.run_agent import launch_target
from core.agents.session import Session, SessionSpec
from core.agents.target import TargetLauncher
from core.agents.tools.files import Reach, ReadFile
from core.evolution.evaluator_tools import CellBench, LaunchTargetTool, RecordItemsTool, RunChecksTool
from core.models.interface import ModelEntry, ModelRef, Provider
from core.models.rehearsal.options import RehearsalOptions
from core.state.agents import read_agent
from core.state.paths import AgentPaths, BenchmarkPaths, ProjectPaths
from core.traces.writer import TraceWriter


def _no_child(session_id: str) -> None:
    """Nobody points to the Evaluator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixContext:
    """Everything cells need beyond themselves.

    `agent` is the Target's, `operator` the one under which Evaluators run. `events` are the journal's so far, `emit`
    appends to it, `on_child` records a started Evaluator in the caller's trace. `provider` serves all Evaluators.
    """

    project: ProjectPaths
    agent: AgentPaths
    benchmark: BenchmarkPaths
    operator: AgentPaths
    provider: Provider
    model: ModelRef
    entry: ModelEntry
    emit: Callable[..., object]
    items: Path
    events: Sequence[Mapping[str, Any]] = ()
    seed: int = 7
    concurrency: int = 2
    rehearsal: RehearsalOptions | None = None
    over_budget: Callable[[], str | None] = lambda: None  # why no further cell may begin
    evaluator_budgets: Budgets = field(default_factory=Budgets)
    target_budgets: Budgets = field(default_factory=Budgets)
    allow_unisolated: bool = False
    on_child: Callable[[str], object] = _no_child
    launcher: TargetLauncher = launch_target


def target_seed(seed: int, case_id: str, run: int) -> int:
    """Return the seed of a Target: of the run's seed, Case and run number, never of the version.

    So two versions meet the same luck, and an edit without effect scores exactly the same.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}/{case_id}/{run}".encode()).digest()[:4])


def evaluator_session(
    context: MatrixContext, bench: CellBench, session_id: str, trace: TraceWriter, readable: Sequence[Path]
) -> Session:
    """Return the leaf Session that evaluates one cell.

    It reads its own agent's skills, the Case with its rubric, and what lies in `readable`: the cell's workspace and
    the Target's trace (DECISIONS 4). It writes nothing but through its tools.
    """
    operator = context.operator
    config = read_agent(operator)
    workspace = operator.scratchpad / session_id
    workspace.mkdir(parents=True, exist_ok=True)
    policy = IsolationPolicy(
        read=tuple(path.resolve() for path in (operator.skills, bench.case.root, workspace, *readable))
    )
    environment = environment_of(
        context.project, operator.id, workspace=workspace, model=context.model, session_id=session_id
    )
    return Session(
        SessionSpec(
            project=context.project,
            agent_id=operator.id,
            session_id=session_id,
            workspace=workspace,
            agent_state=operator.state,
            provider=context.provider,
            model=context.model,
            entry=context.entry,
            system_prompt=assemble_system_prompt(operator, config, environment),
            trace=trace,
            tools=(
                ReadFile(Reach(policy, workspace)),
                LaunchTargetTool(bench),
                RunChecksTool(bench),
                RecordItemsTool(bench),
            ),
            thinking_level=config.thinking_level,
            budgets=context.evaluator_budgets,
            seed=context.seed,
            source="subagent",
            live=context.project.live / f"{session_id}.txt",
            archive=workspace / "truncated-tool-output",
            max_tokens=config.model_max_tokens,
            request_timeout_s=config.timeout_ms / 1000,
        )
    )
