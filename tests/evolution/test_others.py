"""A start is refused where somebody else works on the agent: another program, or an engine out of sight."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.evolution import others, runs
from core.evolution.observed import QUIET_S
from core.evolution.observed_project import Observer
from core.evolution.others import BesideError
from core.evolution.runs import BuildSpec, CurateSpec, EvaluateSpec, OptimizeSpec, RunSpec, TrySpec
from core.evolution.specs import RunPaths, run_paths
from core.foundation.errors import ConflictError
from core.state.locks import held
from core.state.paths import ProjectPaths
from tests.cli.program import call, tree_hash
from tests.evolution.foreign import BENCHMARK, BUILDER, CASES, SOLVER, World
from tests.tui.home import AGENT, make_home
from tests.tui.home import BENCHMARK as CHORES

OPTIMIZE = "Use the agent-optimization Skill for solver on riddles."
SPECS: tuple[RunSpec, ...] = (
    BuildSpec(agent_id=SOLVER, benchmark_id="new", capability="c", baseline_score=45, pilots=1),
    OptimizeSpec(agent_id=SOLVER, benchmark_id=BENCHMARK),
    TrySpec(agent_id=SOLVER, benchmark_id=BENCHMARK),
    CurateSpec(agent_id=SOLVER, benchmark_id=BENCHMARK),
    EvaluateSpec(agent_id=SOLVER, benchmark_id=BENCHMARK),
)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have been started: no process is."""
    found: list[str] = []
    monkeypatch.setattr(runs, "_launch", lambda run, kind: found.append(kind))
    return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A solver with a Case to measure."""
    made = World(tmp_path)
    case = made.benchmark.case(CASES[0])
    case.statement_readme.parent.mkdir(parents=True)
    case.statement_readme.write_text("do it\n")
    case.rubric_readme.parent.mkdir(parents=True)
    case.rubric_readme.write_text("- one: 100 points\n")
    return made


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
def test_a_start_on_an_agent_that_another_program_works_on_is_refused_with_who_and_the_way_out(
    world: World, launched: list[str], spec: RunSpec
) -> None:
    loop = world.session(BUILDER, OPTIMIZE)
    loop.evaluator(CASES[0])
    before = tree_hash(world.project.root)
    with pytest.raises(BesideError, match=f"agent {SOLVER} on {BENCHMARK}: optimize, Session {loop.id}") as refused:
        runs.start(world.project, spec)
    assert "with lab / lab-1, last heard of 2026-09-21T" in str(refused.value)
    assert "10 minutes" in refused.value.hint
    assert "--beside" in refused.value.hint
    assert launched == []
    assert tree_hash(world.project.root) == before
    runs.start(world.project, spec, beside=True)
    assert launched == [spec.kind]


def test_a_loop_that_ended_went_quiet_or_is_of_another_agent_hinders_nobody(
    world: World, launched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = world.session(BUILDER, OPTIMIZE)
    evaluator = loop.evaluator(CASES[0])
    known = runs.list_runs(world.project)
    agent = world.project.agent(SOLVER)
    with pytest.raises(BesideError):
        others.refuse_company(agent, known)
    others.refuse_company(world.project.agent(BUILDER), known)
    old = time.time() - QUIET_S - 60
    for path in world.project.root.rglob("*.jsonl"):
        os.utime(path, (old, old))
    monkeypatch.setattr(Observer, "read", _never)  # what is old is not even looked at
    others.refuse_company(agent, known)
    monkeypatch.undo()
    monkeypatch.setattr(runs, "_launch", lambda run, kind: launched.append(kind))
    os.utime(evaluator.session.path)
    with pytest.raises(BesideError):
        runs.start(world.project, SPECS[1])
    evaluator.session.say("I stop here.")
    loop.say("done")
    runs.start(world.project, SPECS[1])
    assert launched == ["optimize"]


def test_a_run_is_not_resumed_beside_another_program(world: World, launched: list[str]) -> None:
    run_id = runs.start(world.project, SPECS[1])
    world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    with pytest.raises(BesideError):
        runs.resume(world.project, run_id)
    assert launched == ["optimize"]


Begin = Callable[[ProjectPaths, RunPaths], str]


@pytest.mark.parametrize(
    "begin",
    [
        lambda project, run: runs.resume(project, run.id),
        lambda project, run: runs.start(project, OptimizeSpec(agent_id=AGENT, benchmark_id=CHORES)),
    ],
    ids=["resume", "start"],
)
def test_an_engine_out_of_sight_is_known_by_its_lock(tmp_path: Path, launched: list[str], begin: Begin) -> None:
    project = make_home(tmp_path / "home")
    run = run_paths(project, runs.start(project, OptimizeSpec(agent_id=AGENT, benchmark_id=CHORES)))
    assert runs.read_run(project, run.id).state == "dead"  # no process of it is to be seen from here
    with held(run.lock), pytest.raises(ConflictError, match=f"Run {run.id} is at work out of sight") as refused:
        begin(project, run)
    assert "another container" in refused.value.hint
    assert launched == ["optimize"]
    begin(project, run)  # once it has let go
    assert launched == ["optimize", "optimize"]


def test_the_command_line_names_the_way_out_and_takes_it(world: World) -> None:
    world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    words = ("optimize", SOLVER, BENCHMARK, "--detach", "--home", world.project.root.parent)
    refused = call(*words)
    assert refused.code == 1
    assert "Another program is at work on agent solver on riddles" in refused.err
    assert "say --beside" in refused.err
    assert not list(world.project.runs.iterdir()) if world.project.runs.exists() else True


def _never(*_: object) -> tuple[object, ...]:
    raise AssertionError("nothing was written lately")
