"""The loop as an operator sees it: the freeze approved by key in a terminal, the score rising, `R` and `u`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from core.state.agents import read_agent
from core.state.approvals import pending
from core.state.scoreboard import read_scoreboard
from tests.e2e.loop import PATIENCE_S, Loop
from tests.e2e.pty import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def score_in(text: str) -> float:
    found = re.search(r"score +(\d+\.\d\d)", text.split("\n")[0])
    return float(found[1]) if found else -1.0


def test_approve_see_the_score_rise_roll_back_and_undo(tmp_path: Path) -> None:
    loop = Loop.at(tmp_path / "home")
    loop.start(loop.build_spec(approve="ask", then_optimize=loop.optimize_spec()))
    exuvia = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()", "open", "--home", str(loop.home)]
    with Terminal(exuvia, columns=120, rows=40) as screen:
        screen.wait_for("house_helper", "6 Inbox(1)", timeout_s=PATIENCE_S)
        screen.press("6")
        screen.wait_for("freeze small-chores for house_helper?", "statement, for the", "rubric", "would be frozen")
        screen.press("a")
        screen.wait_for("Freeze small-chores as it stands")
        screen.read(0.4)
        screen.press("y")
        screen.wait_for("Approved: freeze of small-chores")
        assert pending(loop.project) == ()
        screen.press("4")
        baseline = score_in(screen.wait_until(lambda text: score_in(text) >= 0, PATIENCE_S, "a baseline"))
        screen.wait_until(lambda text: score_in(text) > baseline, PATIENCE_S, "a score above the baseline")

        # Leaving in the middle stops nothing; the console finds everything again.
        screen.press("q")
        assert screen.wait_for_end() == 0
    with Terminal(exuvia, columns=120, rows=40) as screen:
        screen.wait_for("Optimizer", "finished", " idle", timeout_s=PATIENCE_S)
        present = read_agent(loop.agent).version
        screen.press("5")
        screen.wait_for(f"now v{present}")
        screen.read(0.5)
        screen.press("R")
        screen.wait_for(f"Rolled house_helper back: v{present} to v", "undo")
        assert read_agent(loop.agent).version < present
        screen.read(0.6)
        screen.press("u")
        screen.wait_for(f"house_helper is v{present} again", f"now v{present}")
        assert read_agent(loop.agent).version == present
        screen.press("q")
        assert screen.wait_for_end() == 0
    scores = [evaluation.score for evaluation in read_scoreboard(loop.benchmark.scoreboard).evaluations]
    assert scores[-1] > scores[0] == baseline
