"""A budget that ends amid a matrix: finished cells stay and a resume goes on with the rest (FAULTS: lost paid work)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.evolution import runs
from core.evolution.events import EventName, read_journal
from core.evolution.runs import EvaluateSpec
from core.evolution.specs import run_paths
from core.state.paths import AgentPaths
from tests.evolution.cells_home import AGENT, make_home
from tests.evolution.test_runs import ended, gone, until

pytestmark = pytest.mark.e2e


def _small(home: Path) -> AgentPaths:
    """Return an agent with a benchmark of three Cases that take no time."""
    agent = make_home(home)
    benchmark = agent.benchmark("small")
    for number in (1, 2, 3):
        case = benchmark.case(f"CASE-00{number}")
        case.statement.mkdir(parents=True)
        case.rubric.mkdir()
        case.statement_readme.write_text("# Nothing\n\nWrite the word done into done.txt.\n", encoding="utf-8")
        case.rubric_readme.write_text("- 100 pts: it is done\n", encoding="utf-8")
    shutil.copy(agent.benchmark("data-chores").config, benchmark.config)
    benchmark.config.write_text('title = "Small"\ndescription = "d"\n', encoding="utf-8")
    return agent


def test_a_budget_that_ends_amid_a_matrix_keeps_what_is_done(tmp_path: Path) -> None:
    project = _small(tmp_path / "home").project
    spec = EvaluateSpec.model_validate(
        {"agent_id": AGENT, "benchmark_id": "small", "concurrency": 1, "budgets": {"tokens": 1}, "append": False}
    )
    run_id = runs.start(project, spec)
    done: list[str] = []
    for life in (1, 2, 3):
        view = until(project, run_id, lambda view: ended(view) and gone(view))
        scored = [cell.cell for cell in view.cells if cell.state == "scored"]
        assert len(scored) == life, (view.state, view.reason)
        assert scored[: len(done)] == done  # nothing finished is lost or run again
        done = scored
        if life < 3:
            assert view.state == "blocked"
            assert "token budget is used: " in view.reason
            assert f"{life} of 3 cells" in view.reason
            runs.resume(project, run_id)
    assert view.state == "finished", view.reason
    events, damaged = read_journal(run_paths(project, run_id).journal)
    assert damaged == ()
    assert sum(event["event"] == EventName.TARGET_STARTED for event in events) == 3
    assert sum(event["event"] == EventName.GRANTED for event in events) == 2
