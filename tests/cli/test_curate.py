"""`exuvia curate`: what it refuses before anything starts, each with a way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.state.agents import create_agent
from core.state.paths import ProjectPaths
from tests.cli.program import call

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


@pytest.mark.e2e
def test_without_an_evaluation_there_is_nothing_to_beat(fresh: Path) -> None:
    """The example's numbers are made up, by another runtime: the run says so and what to do."""
    ended = call("curate", AGENT, "--home", fresh, "--json")
    assert ended.code == 3, ended.err
    facts = json.loads(ended.out)
    assert facts["state"] == "blocked"
    assert "no complete evaluation" in facts["reason"]
    assert "exuvia evaluate" in facts["reason"]
