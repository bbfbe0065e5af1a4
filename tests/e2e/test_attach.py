"""`exuvia open DIR` on a directory in which another program is at work, in a real terminal, from nothing to its end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.pty import Terminal
from tests.evolution.replay import Replay

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

EXUVIA = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()"]


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _played(home: Path) -> dict[str, bytes]:
    """Return what is there when nobody looks on."""
    for _ in Replay(home).play():
        pass
    return _files(home)


def test_another_programs_loop_is_followed_from_an_empty_directory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Terminal([*EXUVIA, "open", str(home)], columns=120, rows=40) as screen:
        screen.wait_for("no agent yet", "default_project")
        replay = Replay(home)
        playing = replay.play()
        for event in playing:
            if event.session_id.endswith("38f8d4fe"):  # the second Evaluator of v1 is at work
                break
        screen.wait_for("evaluating v1", "observed", timeout_s=30)
        screen.press("2")
        screen.wait_for("Measured: v1", "being measured")
        for event in playing:
            if event.session_id.endswith("88a7fd51"):  # the second Target of v2 as well
                break
        screen.wait_for("evaluating Candidate v2", "2 running of 2", timeout_s=30)
        for _ in playing:
            pass
        screen.wait_for("Evaluation of v2", "70.00", "85.00", "77.50", " idle", timeout_s=30)
        screen.press("[")
        screen.wait_for("Evaluation of v1", "60.00")
        written = _files(home)
        assert written == _played(tmp_path / "again"), "the console adds nothing to what the other program wrote"
        screen.press("q")
        assert screen.wait_for_end() == 0
    assert _files(home) == written


def test_what_is_no_state_directory_says_what_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "music" / "songs").mkdir(parents=True)
    with Terminal([*EXUVIA, "open", str(tmp_path / "music")], columns=120, rows=30) as screen:
        screen.wait_for("is no state directory", "agent_state/system_config.yaml")
        assert screen.wait_for_end() == 2
