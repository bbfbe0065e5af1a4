"""Nothing that an agent wrote is obeyed by a terminal: every screen, every command's output, what is copied, reports.

The home is a recorded rehearsal run with the attack appended to every free text of every file (FAULTS: escape
injection; TERMINAL 3.9).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.curation import promotion
from core.evolution import report, runs
from core.foundation.errors import ExuviaError
from core.state import approvals
from core.state.paths import ProjectPaths
from tests.curation.training_files import RUN, run_in_its_middle, whole_run
from tests.e2e.corpus import SHOWN, poison, raw_controls
from tests.e2e.pty import Terminal
from tests.tui.recorded import unpack

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

EXUVIA = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()"]
LOOK_AROUND = ("down", "enter", "pagedown", "pagedown", "G", "g", "v", "escape", "escape")
TOUR: dict[str, Sequence[str]] = {
    "sessions": ("1", *LOOK_AROUND, "1", "s", "i", "escape"),
    "matrix": ("2", "[", "[", "enter", "pagedown", "tab", "down", "down", "escape", "e", "pagedown"),
    "trace": ("2", "[", "t", "down", "down", "down", "p", "w", "w", "t", "down", "f", "F"),
    "scores": ("4", "p", "p", "c", "up", "m", "up", "d", "escape", *LOOK_AROUND),
    "versions": ("5", "down", "d", "pagedown", "]", "s", "n", "escape", "5", *LOOK_AROUND),
    "inbox": ("6", "enter", "tab", "pagedown", "tab", "pagedown", "escape", *LOOK_AROUND),
    "training": (
        *(
            "8",
            "enter",
            "G",
            "slash",
            "x",
            "escape",
            "p",
            "down",
            " ",
            "escape",
            "escape",
            "e",
            "down",
            "enter",
            "pagedown",
        ),
        *("escape", "s", "s", "n", "[", "[", "escape", "m", "down", "d", "escape", "c", "escape", *LOOK_AROUND),
    ),
    "palette": (":", "v", "down", "pagedown", "escape"),
    "form": ("S", "down", "down", "pagedown", "escape", "n", "escape"),
}


@pytest.fixture(params=["waiting", "ended"])
def poisoned(request: pytest.FixtureRequest, tmp_path: Path) -> ProjectPaths:
    project = unpack(request.param, tmp_path / "home")
    whole_run(project)
    run_in_its_middle(project, "cpu-demo-20260102-100000-bbbb").event("end", 99, state="failed", reason="no more room")
    promotion.propose(project, RUN)
    assert poison(tmp_path / "home") > 500
    return project


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_no_screen_lets_a_control_through(poisoned: ProjectPaths, tmp_path: Path, size: tuple[int, int]) -> None:
    environ = {"HOME": str(tmp_path), "TERM": "xterm-256color", "PAGER": "true"}
    seen = ""
    with Terminal([*EXUVIA, "open", str(poisoned.root)], columns=size[0], rows=size[1], environ=environ) as screen:
        screen.wait_for("data_helper", "7 Diff")
        for pane, keys in TOUR.items():
            for key in keys:
                screen.press(key)
                screen.read(1.0 if key == "v" else 0.12)  # a key in the pager's second is echoed by the terminal itself
                seen += screen.text
            assert screen.status is None, f"the console ended in {pane}"
        screen.press("q")
        assert screen.wait_for_end() == 0
    assert raw_controls(bytes(screen.raw), is_screen=True) == []
    assert seen.count(SHOWN[:6]) > 20, "the attack was hardly anywhere on screen: this test looks at nothing"
    assert "MarkupError" not in seen
    assert "[/nope][red]" in seen


def test_no_command_prints_a_control(poisoned: ProjectPaths) -> None:
    project, home = poisoned, str(poisoned.root.parent)
    agent = project.agent("data_helper")
    session = sorted(path.name for path in agent.traces.rglob("*.jsonl"))[0].removesuffix("_001.jsonl")
    run = runs.list_runs(project)[-1].run_id
    asked = [path.stem for path in project.approvals.glob("*.json") if not path.name.endswith(".decision.json")]
    commands: list[list[str]] = [
        ["agent", "list"], ["agent", "show", agent.id], ["runs", "list"], ["runs", "show", run],
        ["trace", "list", "--agent", agent.id], ["trace", "show", session], ["trace", "analyze", session],
        ["trace", "tree", session], ["trace", "search", "ALL PASSED"], ["scoreboard", "data_helper", "data-chores"],
        ["snapshot", "list", agent.id], ["snapshot", "history", agent.id], ["skill", "list", "--agent", agent.id],
        ["train", "list"], ["train", "show", RUN], ["train", "compare", RUN, "cpu-demo-20260102-100000-bbbb"],
        ["train", "show", "cpu-demo-20260102-100000-bbbb"], ["train", "show", "no such run \x1b[2J"],
        ["approvals", "list"], *(["approvals", "show", one] for one in asked), ["--plain", "--once"], ["doctor"],
        ["runs", "show", "no such run \x1b[2J"], ["agent", "show", "\x1b]0;x\x07"],
    ]  # fmt: skip
    attacked = 0
    for command in commands:
        done = subprocess.run(
            [*EXUVIA, "--home", home, *command],
            capture_output=True,
            check=False,
            env={**os.environ, "HOME": home, "COLUMNS": "200"},
            timeout=120,
        )
        output = done.stdout + done.stderr
        assert raw_controls(output, is_screen=False) == [], command
        assert b"Traceback" not in output, (command, output[-2000:])
        attacked += SHOWN.encode() in output
    assert attacked >= 4, "hardly any command showed the attack: this test looks at nothing"


def test_no_report_and_no_error_holds_a_control(poisoned: ProjectPaths) -> None:
    for view in runs.list_runs(poisoned):
        assert raw_controls(report.render(view).encode(), is_screen=False) == []
    with pytest.raises(ExuviaError) as caught:
        approvals.get(poisoned, "freeze-\x1b[2J")
    assert raw_controls(str(caught.value).encode(), is_screen=False) == []
