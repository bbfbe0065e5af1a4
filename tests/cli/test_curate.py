"""`exuvia curate`: what it refuses before anything starts, each with a way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.evolution.run_view import CellView, HeldOutView, RoundView, RunView, SessionView
from core.state.agents import create_agent
from core.state.paths import ProjectPaths
from tests.cli.program import call
from tui.cli.curate_lines import candidate_lines, silent_line

AGENT, BENCH = "default_agent", "example-benchmark"


def test_an_agent_without_a_benchmark_is_told_to_build_one(project: ProjectPaths, fresh: Path) -> None:
    create_agent(project, "newcomer", name="New", description="new", agents_md="# Role\n")
    ended = call("curate", "newcomer", "--home", fresh)
    assert ended.code in (1, 2)
    assert "no benchmark to measure on" in ended.err
    assert "exuvia build" in ended.err
    assert not project.runs.exists()


def test_of_several_benchmarks_one_must_be_named(project: ProjectPaths, fresh: Path) -> None:
    agent = project.agent(AGENT)
    other = agent.benchmarks / "other"
    other.mkdir()
    (other / "scoreboard.yaml").write_bytes(agent.benchmark(BENCH).scoreboard.read_bytes())
    ended = call("curate", AGENT, "--home", fresh)
    assert ended.code == 2
    assert f"--benchmark: {BENCH}, other" in ended.err


@pytest.mark.parametrize(
    ("words", "told", "way"),
    [
        (("--curator", "nowhere"), "no policy 'nowhere'", "training run"),
        (("--curator", "in-use"), "No trained curator is in use", "exuvia train promote"),
        (("--curator-model", "openai"), "half a model", "PROVIDER/ID"),
        (("--sessions", "0"), "--sessions", ""),
        (("--benchmark", "nothing"), "nothing", "exuvia"),
    ],
)
def test_what_can_not_be_is_said(
    project: ProjectPaths, fresh: Path, words: tuple[str, ...], told: str, way: str
) -> None:
    ended = call("curate", AGENT, *words, "--home", fresh)
    assert ended.code in (1, 2)
    assert told in ended.err
    assert way in ended.err
    assert not project.runs.exists(), "nothing was started"


def test_a_real_model_needs_a_budget(penguin: Path) -> None:
    ended = call("curate", "csv_helper", "--benchmark", "csv-cleanup", "--model", "custom/mock-1", "--home", penguin)
    assert ended.code == 2
    assert "--max-cost USD" in ended.err
    assert not (penguin / "default_project/.exuvia").exists()


def test_read_only_changes_nothing(fresh: Path, project: ProjectPaths) -> None:
    ended = call("--read-only", "curate", AGENT, "--dry-run", "--home", fresh)
    assert ended.code != 0
    assert not project.runs.exists()


def cells(version: int, **scores: float) -> tuple[CellView, ...]:
    return tuple(
        CellView(f"{version}-{case}", case, 1, version, "round", version, "scored", score)
        for case, score in scores.items()
    )


def test_what_became_of_candidates_is_told_by_case_by_prediction_and_on_held_out_cases() -> None:
    predicted = {"overall": "higher", "cases": [{"case_id": "a", "expected_score": 90.0}]}
    view = RunView(
        "run", "curate", "finished", AGENT, BENCH,
        cells=cells(7, a=80, b=74) + cells(8, a=80, b=60),
        sessions=tuple(SessionView("curator", name, "x") for name in ("s1", "s2", "s3")),
        operations=({"session_id": "s1"},),
        rounds=(
            RoundView(1, 7, (), "", predicted, "curator", "accepted", 77.0, 64.67, None, False),
            RoundView(2, 8, (), "", {}, "curator", "rejected", 70.0, 77.0),
        ),
        heldout=(HeldOutView("baseline", 6, 77.0, {}, 1), HeldOutView("final", 7, 92.0, {}, 1)),
    )  # fmt: skip
    assert silent_line(view) == "2 of 3 sessions that the curator read led to no operation."
    first, cases, missed, second, moved, held_out = candidate_lines(view)
    assert first == "Candidate v7 is accepted: 77 against 64.67."
    assert cases == "  by Case: a 80, b 74"
    assert "expected a 90, came to 80" in missed
    assert second == "Candidate v8 is rejected: 70 against 77."
    assert moved == "  by Case: a 80, b 60 (before 74)"
    assert "77 -> 92 (v7)" in held_out


@pytest.mark.e2e
def test_without_an_evaluation_there_is_nothing_to_beat(fresh: Path) -> None:
    """The example's numbers are made up, by another runtime: the run says so and what to do."""
    ended = call("curate", AGENT, "--home", fresh, "--json")
    assert ended.code == 3, ended.err
    facts = json.loads(ended.out)
    assert facts["state"] == "blocked"
    assert "no complete evaluation" in facts["reason"]
    assert "exuvia evaluate" in facts["reason"]
