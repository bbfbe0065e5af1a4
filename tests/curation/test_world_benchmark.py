"""A benchmark as a task stream: real cells on scratch copies; the agent itself is never touched (K6)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.curation.scratch_cells import scratch
from core.curation.world_benchmark import TARGET, BenchmarkWorld, open_benchmark
from core.foundation.errors import NotFoundError, UsageError
from core.models.rehearsal import curator
from core.models.rehearsal.lesson_library import lessons
from core.skillrepo.skill import Skill, read, write
from core.state.agents import create_agent
from core.state.fingerprint import file_hashes, state_hash
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths
from tests.e2e.loop import LIBRARY

pytestmark = pytest.mark.meets("K6")


def lesson(name: str) -> Skill:
    return read(curator._whole(next(one for one in lessons() if one.id == name)))


@pytest.fixture
def world(tmp_path: Path) -> BenchmarkWorld:
    """An agent with a benchmark of two measured Cases and one that is held out."""
    project = ensure_home(tmp_path / "home")
    agent = create_agent(project, "clerk", name="Clerk", description="chores", agents_md="# Role\n\nDo chores.\n")
    benchmark = agent.benchmark("chores")
    for source in sorted((LIBRARY / "material").iterdir()):
        for path in sorted((source / "draft").rglob("*")):
            if path.is_file():
                target = benchmark.root / source.name / path.relative_to(source / "draft")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    held_out = benchmark.case_ids()[-1]
    benchmark.config.write_text(f'title = "Chores"\nruns = 1\nheld_out = ["{held_out}"]\n', encoding="utf-8")
    benchmark.scoreboard.write_text("evaluations: []\n", encoding="utf-8")
    return open_benchmark(project, "clerk", "chores")


def everything(agent: AgentPaths) -> dict[str, str]:
    """Return a hash of each file of the agent."""
    return dict(file_hashes(agent.root))


def test_train_are_measured_cases_and_test_the_held_out_ones(world: BenchmarkWorld) -> None:
    cases = world.bench.benchmark.case_ids()
    train, test = world.stream("train", 1, 6), world.stream("test", 1, 2)
    assert {task.family for task in train} == set(cases[:-1])
    assert {task.family for task in test} == {cases[-1]}
    assert len({task.id for task in train}) == 6, "each turn of a Case is a run of its own"
    assert world.stream("train", 1, 6) == train
    assert {task.id for task in world.stream("train", 2, 6)}.isdisjoint(task.id for task in train)
    group = world.group("train", 3, 4)
    assert len({task.family for task in group}) == 1
    assert len({task.id for task in group}) == 4


def test_what_it_is_is_fixed_by_its_fingerprint(world: BenchmarkWorld) -> None:
    before = world.fingerprint
    assert before == world.fingerprint
    project = world.bench.agent.project
    assert open_benchmark(project, "clerk", "chores", success_at=80).fingerprint != before
    assert open_benchmark(project, "clerk", "chores", seed=8).fingerprint != before
    readme = world.bench.benchmark.case(world.families[0]).statement_readme
    readme.write_text(readme.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert world.fingerprint != before


def test_what_can_not_be_is_refused_with_a_way_out(world: BenchmarkWorld) -> None:
    project = world.bench.agent.project
    with pytest.raises(NotFoundError):
        open_benchmark(project, "nobody", "chores")
    with pytest.raises(NotFoundError):
        open_benchmark(project, "clerk", "nothing")
    with pytest.raises(UsageError, match="no option 'speed'"):
        open_benchmark(project, "clerk", "chores", speed=3)
    task = world.stream("train", 1, 1)[0]
    with pytest.raises(UsageError, match="no games"):
        world.play(task)
    with pytest.raises(UsageError, match="no executor 'strong'"):
        world.run(task, (), "strong")
    world.bench.benchmark.config.write_text('title = "Chores"\nruns = 1\n', encoding="utf-8")
    with pytest.raises(UsageError, match="holds none out"):
        world.stream("test", 1)


def test_a_scratch_copy_holds_the_given_skills_and_no_key(world: BenchmarkWorld) -> None:
    agent = world.bench.agent
    own = agent.skills / "own-way" / "SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text(write("own-way", "Its own.", "# Workflow\n1. Go.").content, encoding="utf-8")
    agent.vault.write_text('TOKEN = "s3cret"\n', encoding="utf-8")
    given = write("Sort the Mail", "Sorting.", "# Workflow\n1. Sort.")
    with scratch(world.bench, (given,)) as copy:
        assert [path.name for path in sorted(copy.skills.iterdir())] == ["sort-the-mail"]
        assert copy.agents_md.read_bytes() == agent.agents_md.read_bytes()
        for path in (copy.vault, copy.project.config):
            assert path.is_symlink(), "a secret is read where it lies and never copied"
        root = copy.project.root.parent
    assert not root.exists()
    assert own.is_file()


def test_real_cells_score_without_touching_the_agent(world: BenchmarkWorld) -> None:
    agent = world.bench.agent
    before, state = everything(agent), state_hash(agent.state)
    tasks = world.stream("train", 1, 2)
    bare = world.run_many([(task, ()) for task in tasks], TARGET)
    skilled = world.run_many([(task, (lesson("tidy-records"), lesson("read-logs"))) for task in tasks], TARGET)
    for task, without, with_skills in zip(tasks, bare, skilled, strict=True):
        assert without.task == task
        assert without.score is not None
        assert with_skills.score is not None
        assert with_skills.score > without.score, "a skill that was given is followed"
        assert without.used == ()
        assert len(with_skills.used) == 1
        assert with_skills.judged == with_skills.success == (with_skills.score >= 0.9)
        assert with_skills.steps == sum("says: " not in step.action for step in with_skills.trajectory)
    assert world.other_tokens > 0, "the Evaluators' tokens are told too"
    assert world.model == "rehearsal/rehearsal-1"
    assert everything(agent) == before
    assert state_hash(agent.state) == state
    assert list((agent.project.own / "scratch").iterdir()) == []


async def test_the_same_attempt_gives_the_same_episode_and_held_out_points_stay_unknown(world: BenchmarkWorld) -> None:
    """Also from inside a running loop, as another room may call it."""
    (task,) = world.stream("test", 1, 1)
    first, second = world.run(task, (), TARGET), await asyncio.to_thread(world.run, task, (), TARGET)
    assert first.success is not None
    assert (first.score, first.steps, first.success) == (second.score, second.steps, second.success)
    assert first.judged is None, "no curator hears what came of a held-out Case"


def test_a_cell_that_its_harness_lost_is_masked(world: BenchmarkWorld) -> None:
    task = world.stream("train", 1, 1)[0]
    rubric = world.bench.benchmark.case(task.family).rubric_readme
    rubric.write_text("no points here\n", encoding="utf-8")
    episode = world.run(task, (), TARGET)
    assert episode.success is None
    assert episode.score is None
    assert "benchmark_invalid" in episode.failure


def test_rules_judge_what_was_written(world: BenchmarkWorld) -> None:
    task = world.stream("train", 1, 1)[0]
    episode = world.run(task, (), TARGET)
    good = lesson("tidy-records")
    assert world.judge(good.content, episode).valid is True
    told = next(step.observation for step in episode.trajectory if len(step.observation.split()) > 40)
    named = next(word for word in task.text.split("`") if "." in word and " " not in word)
    cases = {
        "ABSTRACTION": write("a", "A.", f"# Workflow\n1. Open `{named}`.\n2. Sum."),
        "REUSABILITY": write("a", "A.", f"# Workflow\n1. Do.\n2. Do.\n\n{' '.join(told.split())}"),
        "ACTIONABILITY": write("a", "A.", "It is good to be careful."),
    }
    for criterion, skill in cases.items():
        verdict = world.judge(skill.content, episode)
        assert verdict.valid is False
        assert criterion in verdict.issues, verdict.explanation
    by_case = world.judge(write("a", "A.", f"# Workflow\n1. In {task.family}.\n2. Sum.").content, episode)
    assert by_case.issues == ("ABSTRACTION",)
    assert world.judge("no skill", episode).valid is False
