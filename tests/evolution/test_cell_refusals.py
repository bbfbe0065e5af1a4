"""A cell whose files are not what they seem gets no score, and nothing is spent on it (FAULTS: rubric reachable)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.evolution import runs
from core.evolution.cells import known_cells
from core.evolution.evaluator import evaluate_cell
from core.evolution.role_tools import publish_statements
from core.evolution.specs import EvaluateSpec, OptimizeSpec
from core.foundation.errors import BlockedError, UsageError
from core.state.benchmark import write_benchmark_config
from core.state.paths import AgentPaths, CasePaths
from tests.evolution.cells_home import AGENT, BENCHMARK, Events, cell, context_of, make_home

CASE = "CASE-001"


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    return make_home(tmp_path / "home")


def _case(agent: AgentPaths) -> CasePaths:
    benchmark = agent.benchmark(BENCHMARK)
    return benchmark.case(benchmark.case_ids()[0])


def _statement_is_the_rubric(case: CasePaths) -> None:
    case.statement.rename(case.root / "elsewhere")
    case.statement.symlink_to(case.rubric)


def _statement_holds_a_pipe(case: CasePaths) -> None:
    os.mkfifo(case.statement / "pipe")


def _rubric_is_elsewhere(case: CasePaths) -> None:
    case.rubric_readme.rename(case.root.parent / "rubric.md")
    case.rubric_readme.symlink_to(case.root.parent / "rubric.md")


def _rubric_holds_a_link(case: CasePaths) -> None:
    (case.rubric / "more").symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    "spoil", [_statement_is_the_rubric, _statement_holds_a_pipe, _rubric_is_elsewhere, _rubric_holds_a_link]
)
async def test_a_case_with_a_link_or_a_pipe_is_no_case(agent: AgentPaths, spoil: Callable[[CasePaths], None]) -> None:
    case, events = _case(agent), Events()
    spoil(case)
    result = await evaluate_cell(cell(case.id), context_of(agent, events), known_cells([]))
    assert (result.status, result.score, result.failure_code) == ("failed", None, "benchmark_invalid")
    assert "no regular file" in result.reason
    assert events.of("target_started") == []
    assert not list(agent.workspaces.glob("*"))
    with pytest.raises(BlockedError, match="no regular file"):
        publish_statements(agent.benchmark(BENCHMARK), agent.root / "public")
    assert not (agent.root / "public").exists()


async def test_a_state_with_a_link_is_not_measured(agent: AgentPaths) -> None:
    agent.agents_md.unlink()
    agent.agents_md.symlink_to("/etc/passwd")
    events = Events()
    result = await evaluate_cell(cell(_case(agent).id), context_of(agent, events), known_cells([]))
    assert (result.status, result.failure_code) == ("failed", "version_changed")
    assert "AGENTS.md" in result.reason
    assert events.of("target_started") == []


@pytest.mark.parametrize("kept", ["none", "all held out"])
def test_a_benchmark_without_a_case_to_measure_starts_nothing(agent: AgentPaths, kept: str) -> None:
    benchmark = agent.benchmark("bare")
    write_benchmark_config(benchmark, "Bare", "d", held_out=[CASE] if kept != "none" else [])
    if kept != "none":
        benchmark.case(CASE).statement.mkdir(parents=True)
    for spec in (EvaluateSpec, OptimizeSpec):
        with pytest.raises(UsageError, match="no Case to measure"):
            runs.start(agent.project, spec(agent_id=AGENT, benchmark_id="bare"))
    assert runs.list_runs(agent.project) == ()
