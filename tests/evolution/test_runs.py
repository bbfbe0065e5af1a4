"""Runs as real processes: detached, killed, resumed, stopped, asked and answered; with the rehearsal model."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.agents.isolation import processes
from core.evolution import runs
from core.evolution.run_view import RunView
from core.evolution.runs import BuildSpec, EvaluateSpec, OptimizeSpec, TrySpec
from core.foundation.errors import ConflictError, NotFoundError, UsageError
from core.state import approvals, ledger
from core.state.agents import read_agent
from core.state.fresh import ensure_home
from core.state.paths import HomePaths, ProjectPaths
from core.state.scoreboard import read_scoreboard
from tests.once import once

pytestmark = pytest.mark.e2e
AGENT, BENCHMARK = "data_clerk", "chores"


def build_spec(**changes: object) -> BuildSpec:
    settings: dict[str, object] = {
        "agent_id": AGENT,
        "benchmark_id": BENCHMARK,
        "requirement": "A clerk who cleans up and converts data files as asked.",
        "capability": "Careful everyday data chores",
        "baseline_score": 100,
        "pilots": 1,
        "cases": 1,
        "approve": "auto",
        **changes,
    }
    return BuildSpec.model_validate(settings)


def until(project: ProjectPaths, run_id: str, met: Callable[[RunView], bool], timeout_s: float = 120.0) -> RunView:
    """Return the first view that meets a condition."""
    deadline = time.monotonic() + timeout_s
    while True:
        view = runs.read_run(project, run_id)
        if met(view):
            return view
        assert time.monotonic() < deadline, (view.state, view.phase, view.reason, _log(project, run_id))
        time.sleep(0.02)


def ended(view: RunView) -> bool:
    return view.state in {"finished", "blocked", "failed", "stopped", "dead"}


def _log(project: ProjectPaths, run_id: str) -> str:
    path = project.runs / run_id / "engine.log"
    return path.read_text(encoding="utf-8", errors="replace")[-2000:] if path.exists() else ""


def gone(view: RunView) -> bool:
    """Tell whether the engine's process has left."""
    return view.pid is None or processes.start_time(view.pid) is None


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a finished one-Case benchmark, made once and copied by each test that changes it."""

    def make(home: Path) -> Path:
        project = ensure_home(home)
        view = until(project, runs.start(project, build_spec()), ended)
        assert view.state == "finished", (view.reason, _log(project, view.run_id))
        return home

    return once(tmp_path_factory, "built", make)


@pytest.fixture
def project(built: Path, tmp_path: Path) -> ProjectPaths:
    shutil.copytree(built, tmp_path / "home", symlinks=True)
    return HomePaths(tmp_path / "home").project("default_project")


def test_a_finished_build_has_a_baseline_a_report_and_links(built: Path) -> None:
    project = HomePaths(built).project("default_project")
    (view,) = runs.list_runs(project)
    assert runs.exit_of(view) == 0
    assert view.baseline is not None
    assert view.result is not None
    benchmark = project.agent(AGENT).benchmark(BENCHMARK)
    (evaluation,) = read_scoreboard(benchmark.scoreboard).evaluations
    assert evaluation.score == view.baseline["score"] == view.pilots[0]["score"]
    report = (project.runs / view.run_id / "report.md").read_text(encoding="utf-8")
    assert evaluation.cases[0].runs[0].session_id in report
    assert "rehearsal: an offline stand-in" in report
    rubric = benchmark.case(benchmark.case_ids()[0]).rubric_readme.read_text(encoding="utf-8")
    items = [line for line in rubric.splitlines() if line.startswith("- ")]
    assert items
    assert not [line for line in items if line in report]
    assert {session.role for session in view.sessions} == {"builder", "evaluator", "target"}
    assert (project.agent(AGENT).snapshots / "v1.tar.gz").is_file()
    with pytest.raises(UsageError, match="nothing to resume"):
        runs.resume(project, view.run_id)


def test_killed_asked_approved_and_resumed_it_comes_to_its_baseline(tmp_path: Path) -> None:
    project = ensure_home(tmp_path)
    run_id = runs.start(project, build_spec(approve="ask", detached_ask="exit"))
    with pytest.raises(ConflictError):
        runs.resume(project, run_id)
    until(project, run_id, lambda view: any(cell.state == "running" for cell in view.cells))
    view = runs.read_run(project, run_id)
    assert view.pid is not None
    os.kill(view.pid, signal.SIGKILL)
    view = until(project, run_id, lambda v: v.state == "dead")
    assert "ended on its own" in view.reason
    assert run_id in view.reason
    runs.resume(project, run_id)
    view = until(project, run_id, lambda v: ended(v) and gone(v))
    assert view.state == "blocked", (view.reason, _log(project, run_id))
    assert runs.exit_of(view) == 3
    (approval,) = approvals.pending(project)
    assert view.approval_id == approval.id
    approvals.decide(project, approval.id, "approve", actor="operator")
    runs.resume(project, run_id)
    view = until(project, run_id, lambda v: ended(v) and gone(v))
    assert view.state == "finished", (view.reason, _log(project, run_id))
    scored = [cell.cell for cell in view.cells if cell.state == "scored"]
    assert len(scored) == len(set(scored)) == 1
    assert len(read_scoreboard(project.agent(AGENT).benchmark(BENCHMARK).scoreboard).evaluations) == 1
    assert approvals.pending(project) == ()


def test_stop_ends_everything_and_resume_goes_on(project: ProjectPaths) -> None:
    spec = OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK, runs=2, rounds=1, target_score=100)
    run_id = runs.start(project, spec)
    until(project, run_id, lambda view: any(cell.state == "running" for cell in view.cells))
    assert runs.live_run(project.agent(AGENT)) == run_id
    with pytest.raises(ConflictError, match="is working on agent"):
        runs.start(project, spec)
    view = runs.stop(project, run_id)
    assert view.state == "stopped"
    assert runs.exit_of(view) == 130
    assert gone(view)
    assert runs.live_run(project.agent(AGENT)) is None
    runs.resume(project, run_id)
    view = until(project, run_id, lambda v: ended(v) and gone(v))
    assert view.state == "finished", (view.reason, _log(project, run_id))
    assert view.result is not None
    (entry,) = view.result["rounds"]
    (record,) = ledger.read(project, AGENT)
    assert record.decision == entry["decision"]
    assert read_agent(project.agent(AGENT)).version == view.result["final"]["version"]


def test_the_operators_edit_is_measured_and_taken_back_where_it_is_no_better(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    before = agent.agents_md.read_bytes()
    agent.agents_md.write_bytes(before + b"\nBe kind.\n")
    run_id = runs.start(project, TrySpec(agent_id=AGENT, benchmark_id=BENCHMARK, runs=1))
    view = until(project, run_id, lambda v: ended(v) and gone(v))
    assert view.state == "finished", (view.reason, _log(project, run_id))
    assert [(entry.decision, entry.proposer) for entry in view.rounds] == [("rejected", "operator")]
    assert agent.agents_md.read_bytes() == before
    (record,) = ledger.read(project, AGENT)
    assert record.proposer == "operator"
    assert "+Be kind." in record.diff


def test_a_try_without_an_edit_is_blocked_with_the_reason(project: ProjectPaths) -> None:
    run_id = runs.start(project, TrySpec(agent_id=AGENT, benchmark_id=BENCHMARK, runs=1))
    view = until(project, run_id, lambda v: ended(v) and gone(v))
    assert view.state == "blocked"
    assert "nothing was edited" in view.reason


def test_an_evaluation_is_appended_or_kept_as_evidence(project: ProjectPaths) -> None:
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    for append, count in ((False, 1), (True, 2)):
        run_id = runs.start(project, EvaluateSpec(agent_id=AGENT, benchmark_id=BENCHMARK, append=append))
        view = until(project, run_id, lambda v: ended(v) and gone(v))
        assert view.state == "finished", (view.reason, _log(project, run_id))
        evaluations = read_scoreboard(board).evaluations
        assert len(evaluations) == count
        assert view.result is not None
        assert view.result["score"] == evaluations[0].score


def test_what_cannot_lead_anywhere_is_refused_before_it_starts(project: ProjectPaths) -> None:
    with pytest.raises(ConflictError, match="benchmark chores already"):
        runs.start(project, build_spec())
    with pytest.raises(UsageError, match="no requirement"):
        runs.start(project, build_spec(agent_id="nobody", requirement=None))
    with pytest.raises(NotFoundError):
        runs.start(project, OptimizeSpec(agent_id="nobody", benchmark_id=BENCHMARK))
    with pytest.raises(NotFoundError):
        runs.start(project, OptimizeSpec(agent_id=AGENT, benchmark_id="nothing"))
    assert len(runs.list_runs(project)) == 1
