"""The Training pane over a slow link: a run that writes ten records a second costs less than 2 kB a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from core.state.paths import ProjectPaths
from tests.curation.training_files import TrainingFiles, whole_run
from tests.e2e.pty import Terminal
from tests.e2e.test_bytes import OPEN, settle
from tests.tui.home import give_trainer, make_home

A_SECOND = 2_000
RATE, WATCHED_S = 10, 8.0

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> ProjectPaths:
    project = make_home(tmp_path_factory.mktemp("home") / "home")
    whole_run(project, "cpu-demo-20251231-100000-bbbb", seed=1)
    return project


@contextmanager
def at_work(files: TrainingFiles) -> Iterator[list[int]]:
    """Let a run write RATE steps a second, each with all its figures; gives the steps written so far."""
    written: list[int] = []
    over = threading.Event()

    def work() -> None:
        step, due = 30, time.monotonic()
        while not over.is_set():
            step += 1
            files.step(step)
            written.append(step)
            due += 1 / RATE
            time.sleep(max(0.0, due - time.monotonic()))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield written
    finally:
        over.set()
        thread.join()


@pytest.mark.meets("K17")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
@pytest.mark.parametrize("keys", [("8",), ("8", "\r"), ("8", "p", "down")], ids=["overview", "figures", "curves"])
def test_watching_a_run_at_work_says_little(
    project: ProjectPaths, columns: int, rows: int, keys: tuple[str, ...]
) -> None:
    files = TrainingFiles(project, steps=600)
    files.begin()
    for step in range(1, 31):
        files.step(step)
    engine = give_trainer(files.job)
    try:
        with Terminal(
            [sys.executable, "-P", "-c", OPEN, str(project.root), "lean"], columns=columns, rows=rows
        ) as screen:
            screen.wait_for("helper", "8 Train")
            settle(screen)
            for key in keys:
                screen.press(key)
                settle(screen)
            with at_work(files) as written:
                screen.read(1.5)
                before, begun, first = len(screen.raw), time.monotonic(), len(written)
                while time.monotonic() - begun < WATCHED_S:
                    screen.read(0.2)
                spent, took = len(screen.raw) - before, time.monotonic() - begun
                steps = len(written) - first
            assert steps >= 0.8 * RATE * took, f"the run itself was too slow: {steps} steps in {took:.1f} s"
            assert spent > 0, "the screen followed nothing"
            assert spent / took <= A_SECOND, f"{spent / took:.0f} bytes a second"
    finally:
        engine.kill()
        engine.wait()
