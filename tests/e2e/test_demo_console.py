"""`exuvia demo` makes its home, starts the Builder and opens the console; called again it finds the same run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.evolution import runs
from core.state.paths import HomePaths
from tests.e2e.pty import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_the_demonstration_opens_goes_on_and_is_found_again(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    project = HomePaths(home).project("default_project")
    exuvia = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()", "demo", "--home", str(home)]
    try:
        with Terminal(exuvia, columns=80, rows=24) as screen:
            screen.wait_for("data_helper", "Builder", "rehearsal", timeout_s=120)
            screen.press("q")
            assert screen.wait_for_end() == 0
        (view,) = runs.list_runs(project)
        assert view.state in {"running", "waiting"}
        with Terminal(exuvia, columns=120, rows=40) as screen:
            screen.wait_for("data_helper", "Builder", timeout_s=120)
            screen.press("q")
            assert screen.wait_for_end() == 0
        assert [again.run_id for again in runs.list_runs(project)] == [view.run_id]
    finally:
        for view in runs.list_runs(project):
            runs.stop(project, view.run_id)
    assert all(view.state == "stopped" for view in runs.list_runs(project))
