"""Training runs as files: listed, read, told apart by their state; started and stopped as processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.agents.isolation import processes
from core.curation import jobs, promotion, training
from core.curation.training_removal import remove
from core.curation.training_run import shared_split
from core.curation.training_samples import read_samples
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import readonly
from core.state.paths import ProjectPaths
from tests.curation.training_files import RUN, TrainingFiles, run_in_its_middle, whole_run


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path / "home" / "default_project")
    found.root.mkdir(parents=True)
    return found


@pytest.fixture
def engine() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_a_run_is_read_whole(project: ProjectPaths) -> None:
    whole_run(project)
    run = training.read_run(project, RUN)
    assert (run.state, run.preset, run.world, run.seed) == ("finished", "cpu-demo", "household", 0)
    assert len(run.history.steps) == 60
    assert run.last is not None
    assert run.last.step == 60
    trained, none = run.heldout("trained"), run.heldout("none")
    assert trained is not None
    assert none is not None
    assert (trained.success_micro, none.success_micro) == (0.707, 0.429)
    assert run.best is not None
    assert run.best.step == 50
    assert run.summary == {"wall_s": 200}
    assert run.damaged_lines == 0


def test_runs_are_listed_newest_first_and_what_is_none_is_left_out(project: ProjectPaths) -> None:
    whole_run(project, "b-20260101-100000-aaaa")
    whole_run(project, "a-20260102-100000-aaaa")
    (project.training / "notes").mkdir()
    hurt = TrainingFiles(project, "c-20260103-100000-aaaa")
    hurt.job.spec.write_text("{")
    assert [run.id for run in training.list_runs(project)] == ["a-20260102-100000-aaaa", "b-20260101-100000-aaaa"]
    with pytest.raises(DamagedError, match=r"spec\.json"):
        training.read_run(project, hurt.job.id)


def test_a_run_whose_process_is_gone_without_a_word_is_dead_and_says_its_last_words(project: ProjectPaths) -> None:
    files = run_in_its_middle(project)
    files.job.log.write_text("Traceback\nMemoryError: no more\n")
    run = training.read_run(project, RUN)
    assert run.state == "dead"
    assert "MemoryError: no more" in run.reason


def test_a_run_that_lives_is_running_paused_or_about_to_pause(
    project: ProjectPaths, engine: subprocess.Popen[bytes]
) -> None:
    files = run_in_its_middle(project)
    processes.record(files.job.engine, engine.pid)
    assert training.read_run(project, RUN).state == "running"
    training.pause(project, RUN)
    run = training.read_run(project, RUN)
    assert (run.state, run.pausing) == ("running", True)
    files.event("pause", 95)
    assert training.read_run(project, RUN).state == "paused"
    training.resume(project, RUN)
    assert jobs.ordered(files.job.root) == "run"
    files.event("resume", 99, step=34)
    with pytest.raises(ConflictError, match="is at work"):
        training.resume(project, RUN)
    assert training.read_run(project, RUN).seconds_left == pytest.approx(2.1 * 26)


async def test_following_tells_each_change_and_ends_with_the_run(
    project: ProjectPaths, engine: subprocess.Popen[bytes]
) -> None:
    files = run_in_its_middle(project)
    processes.record(files.job.engine, engine.pid)
    seen: list[tuple[str, int]] = []

    async def look() -> None:
        seen.extend([(run.state, len(run.history.steps)) async for run in training.follow(project, RUN)])

    task = asyncio.create_task(look())
    await asyncio.sleep(0.5)
    files.step(35)
    await asyncio.sleep(0.5)
    files.end("stopped", "asked")
    engine.kill()
    engine.wait()
    await asyncio.wait_for(task, 10)
    assert seen == [("running", 34), ("running", 35), ("stopped", 35)]


def test_samples_are_read_and_hurt_ones_refused(project: ProjectPaths) -> None:
    files = run_in_its_middle(project)
    run = training.read_run(project, RUN)
    path = files.job.root / run.history.samples[-1].file
    found = read_samples(path)
    assert found.step == 30
    position = found.rollouts[0].positions[3]
    assert position.operations[0].kind == "update"
    assert position.repository[0].title == "heat things"
    assert found.rollouts[1].positions[3].success is None  # lost, not failed
    with pytest.raises(NotFoundError):
        read_samples(path.with_name("step-00031.json"))
    path.write_text(json.dumps({"step": 30, "rollouts": [{"group": 0, "rollout": 0, "positions": [{"ops": [{}]}]}]}))
    with pytest.raises(DamagedError, match=r"position: nothing"):
        read_samples(path)


def test_ids_that_lead_elsewhere_are_none(project: ProjectPaths) -> None:
    with pytest.raises(UsageError):
        training.read_run(project, "../runs")
    with pytest.raises(NotFoundError, match="no training run"):
        training.read_run(project, "nothing")


def test_nothing_starts_or_stops_in_a_home_that_is_read_only(project: ProjectPaths) -> None:
    whole_run(project)
    with readonly.sealed(project.root):
        for act in (
            lambda: training.start(project, "cpu-demo"),
            lambda: training.resume(project, RUN),
            lambda: training.stop(project, RUN),
            lambda: training.pause(project, RUN),
        ):
            with pytest.raises(readonly.ReadOnlyError):
                act()


def test_what_cannot_begin_is_refused_in_the_trainers_words_and_leaves_nothing(project: ProjectPaths) -> None:
    with pytest.raises(UsageError, match="no preset 'no-such-preset'") as refused:
        training.start(project, "no-such-preset", seed=3)
    assert "cpu-demo" in refused.value.hint
    assert not project.training.exists()


def test_a_run_is_removed_where_nobody_needs_it(project: ProjectPaths, engine: subprocess.Popen[bytes]) -> None:
    files = whole_run(project)
    with pytest.raises(ConflictError, match="6 checkpoints"):
        remove(project, RUN)
    processes.record(files.job.engine, engine.pid)
    with pytest.raises(ConflictError, match="at work"):
        remove(project, RUN, weights=True)
    files.job.engine.unlink()
    asked = promotion.propose(project, RUN)
    with pytest.raises(ConflictError, match="waits in the inbox"):
        remove(project, RUN, weights=True)
    promotion.decide(project, asked.id, "approve")
    with pytest.raises(ConflictError, match="the curator in use"):
        remove(project, RUN, weights=True)
    promotion.dismiss(project)
    remove(project, RUN, weights=True)
    assert list(project.training.iterdir()) == []
    with pytest.raises(NotFoundError):
        remove(project, RUN)
    unborn = project.training / "cpu-demo-20260103-100000-cccc"
    unborn.mkdir()
    remove(project, unborn.name)  # a directory that a start left without a request
    assert not unborn.exists()


def test_arms_are_set_beside_each_other_on_the_same_tasks_only(project: ProjectPaths) -> None:
    files = TrainingFiles(project)
    files.event("start", 0, spec=files.spec, parameters=1, device="cpu")
    for arm, step, success in (("none", 0, 0.44), ("base", 0, 0.52)):
        files.arm(arm, step, success, 20.0, 0.0, split="validation", tasks=360, streams=6)
    files.train(1, 10)
    files.arm("trained", 10, 0.68, 20.0, 0.0, split="validation", tasks=360, streams=6, weights=10)
    files.arm("none", 10, 0.395, 20.0, 0.0, split="test")  # the final measurement has begun
    run = training.read_run(project, RUN)
    none = run.heldout("none")
    assert run.split == "validation"
    assert none is not None
    assert none.success_micro == 0.44
    assert run.gain("none") == pytest.approx(0.24)
    assert run.gain("none", "test") is None
    files.arm("base", 10, 0.5, 20.0, 0.0, split="test", weights=0)
    files.arm("trained", 10, 0.73, 20.0, 0.0, split="test", weights=10)
    done = training.read_run(project, RUN)
    assert done.split == "test"
    assert done.gain("none") == pytest.approx(0.335)
    assert done.gain("base") == pytest.approx(0.23)
    measured = done.heldout("trained", split="validation")  # same step, arm and stream: both are kept
    assert measured is not None
    assert measured.success_micro == 0.68
    assert shared_split(run, done) == "validation"
    assert shared_split(done, done) == "test"
    assert shared_split(training.read_run(project, RUN), replace(done, spec={"world": "shop"})) is None


def test_a_run_without_a_step_has_no_gain_and_no_best_checkpoint(project: ProjectPaths) -> None:
    files = TrainingFiles(project)
    files.event("start", 0, spec=files.spec, parameters=1, device="cpu")
    files.checkpoint(0, 0.6)
    files.arm("none", 0, 0.4, 20.0, 0.0, split="test")
    files.arm("trained", 0, 0.63, 20.0, 0.0, split="test", weights=0)
    run = training.read_run(project, RUN)
    assert run.untrained
    assert run.gain("none") is None
    assert run.best is None


def test_a_run_that_is_stopped_without_an_answer_is_stopped_not_dead(
    project: ProjectPaths, engine: subprocess.Popen[bytes]
) -> None:
    files = run_in_its_middle(project)
    processes.record(files.job.engine, engine.pid)
    run = training.stop(project, RUN)
    assert run.state == "stopped"
    assert "after its checkpoint of step 30 is done again" in run.reason
    with pytest.raises(UsageError, match="it is stopped") as refused:
        training.stop(project, RUN)
    assert "resume" in refused.value.hint


def test_a_finished_run_is_not_stopped_and_one_that_cannot_begin_is_not_resumed(project: ProjectPaths) -> None:
    files = whole_run(project)
    with pytest.raises(UsageError, match="it is finished") as refused:
        training.stop(project, RUN)
    assert "resume" not in refused.value.hint
    files.job.spec.unlink()
    files.job.events.unlink()
    files.job.request.write_text('{"preset": "cpu-demo", "seed": 0, "settings": {"foo": 3}}')
    with pytest.raises(UsageError, match="no setting 'foo'"):
        training.resume(project, RUN)
