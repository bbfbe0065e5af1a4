"""`exuvia --plain` tells of training too: how it stands, then each line once, by plain characters only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.curation.training_run import OVER
from core.state.paths import ProjectPaths
from tests.cli.program import call, tree_hash
from tests.curation.training_files import ENDED, RUN, TrainingFiles, run_in_its_middle, whole_run
from tests.tui.home import give_trainer
from tui.cli.news import Watcher

PLAIN = re.compile(r"[\x20-\x7e\n]+")


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path / "home" / "default_project")
    found.agents.mkdir(parents=True)
    return found


@pytest.fixture
def live(project: ProjectPaths) -> Iterator[TrainingFiles]:
    """A run at work, and one that has ended."""
    whole_run(project, ENDED, seed=1)
    files = run_in_its_middle(project)
    trainer = give_trainer(files.job)
    yield files
    trainer.kill()
    trainer.wait()


def told(watcher: Watcher) -> list[str]:
    return [f"{news.run_id}: {news.line.text}" for news in watcher.look()]


def test_once_says_how_training_stands(project: ProjectPaths, live: TrainingFiles) -> None:
    before = tree_hash(project.root.parent)
    out = call("--plain", "--once", "--home", project.root.parent).out
    (line,) = [line for line in out.splitlines() if line.startswith("training ")]
    assert line.startswith(f"training {RUN}: running, step 34 of 60, reward ")
    assert line.endswith("no memory 42.9 % solved, base 47.4 % solved")
    assert "No run is at work" not in out
    assert PLAIN.fullmatch(out)
    (facts,) = call("--plain", "--once", "--json", "--home", project.root.parent).document["training"]
    assert (facts["run_id"], facts["state"], facts["step"], facts["trained"]) == (RUN, "running", 34, None)
    assert tree_hash(project.root.parent) == before


def test_without_one_at_work_the_newest_is_said(project: ProjectPaths) -> None:
    whole_run(project, ENDED, seed=1)
    out = call("--plain", "--once", "--home", project.root.parent).out
    assert "No run is at work." in out
    assert f"training {ENDED}: finished, step 60 of 60" in out
    assert "trained 70.7 % solved" in out


def test_what_a_run_does_is_told_once_and_no_more_of_one_that_is_over(
    project: ProjectPaths, live: TrainingFiles
) -> None:
    watcher = Watcher(project)
    assert watcher.look() == ()  # what was before is the standing
    live.step(35)
    (line,) = told(watcher)
    assert line.startswith(f"{RUN}: step 35/60  reward ")
    live.event("alarm", 95, step=35, kind="insert_collapse", text="Hardly any updates.")
    live.event("pause", 96)
    assert told(watcher) == [
        f"{RUN}: ALARM at step 35, insert collapse: Hardly any updates.",
        f"{RUN}: {RUN} is paused",
    ]
    assert watcher.look() == ()
    live.event("resume", 97, step=35)
    assert told(watcher) == [f"{RUN}: training is running"]
    live.job.engine.unlink()  # its process is gone
    live.event("end", 98, state="stopped", reason="the operator asked", summary=None)
    assert told(watcher) == [f"{RUN}: {RUN} is stopped: the operator asked"]
    assert {run.state for run in watcher._training.runs} <= OVER
    assert watcher.look() == ()


def test_what_is_no_run_takes_nothing_down(project: ProjectPaths, live: TrainingFiles) -> None:
    (project.training / "no run").mkdir()
    (project.training / "cpu-demo-20260103-100000-cccc").mkdir()
    hurt = TrainingFiles(project, "cpu-demo-20260104-100000-dddd")
    hurt.job.spec.write_text("{")
    watcher = Watcher(project)
    watcher.look()
    live.step(35)
    assert [line.partition("  ")[0] for line in told(watcher)] == [f"{RUN}: step 35/60"]
