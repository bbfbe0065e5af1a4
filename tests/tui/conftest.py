"""What every test of the console stands on: a home, and an app on it without a terminal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.evolution.specs import RunPaths
from core.state.paths import ProjectPaths
from tests.curation.training_files import ENDED, GiveTrainer, TrainingFiles, run_in_its_middle, whole_run
from tests.tui import home
from tests.tui.home import give_engine, make_home
from tui import boot

boot.prepare()  # before Textual is imported anywhere


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in ("NO_COLOR", "COLORTERM", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    own = tmp_path_factory.mktemp("person")  # what is copied and remembered stays out of the person's own files
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(own / name.lower()))


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    return make_home(tmp_path / "home")


@pytest.fixture
def engine() -> Iterator[Callable[[RunPaths], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def give(run: RunPaths) -> subprocess.Popen[bytes]:
        started.append(give_engine(run))
        return started[-1]

    yield give
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def empty(tmp_path: Path) -> ProjectPaths:
    """A Project without an agent."""
    project = ProjectPaths(tmp_path / "home" / "default_project")
    project.agents.mkdir(parents=True)
    return project


@pytest.fixture
def give_trainer() -> Iterator[GiveTrainer]:
    """Let a harmless process stand for a trainer, so that a run counts as live."""
    started: list[subprocess.Popen[bytes]] = []

    def give(files: TrainingFiles) -> subprocess.Popen[bytes]:
        started.append(home.give_trainer(files.job))
        return started[-1]

    yield give
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def live(empty: ProjectPaths, give_trainer: GiveTrainer) -> TrainingFiles:
    """A training run at work, and one that has ended."""
    whole_run(empty, ENDED, seed=1)
    files = run_in_its_middle(empty)
    give_trainer(files)
    return files


assert os.environ["TEXTUAL_ANIMATIONS"] == "none"
