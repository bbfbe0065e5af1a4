"""How many bytes the console sends, which a slow link feels; and that fewer of them paint the same screen."""

from __future__ import annotations

import statistics
import sys
import time

import pytest

from core.state.paths import ProjectPaths
from tests.e2e.pty import Terminal
from tests.tui.home import ask_for_freeze, make_home

OPEN = (
    "import sys; from pathlib import Path; from core.state.paths import ProjectPaths; from tui.app import run_console; "
    "sys.exit(run_console(ProjectPaths(Path(sys.argv[1])), lean=sys.argv[2] == 'lean'))"
)
START, A_KEY, WITH_A_TEXT = 40_000, 400, 1_000
"""Bytes of a start, of a key that moves the cursor, and of one that brings another text beside it."""
WALK = (
    *("1", "down", "2", "right", "down", "enter", "escape", "3", "4", "up", "enter", "escape", "5", "down", "6", "7"),
    *("?", "escape", ":", "a", "escape", ",", "escape", "4", "/", "x", "escape", "z", "z", "\x0c", "home"),
)

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> ProjectPaths:
    project = make_home(tmp_path_factory.mktemp("home") / "home")
    ask_for_freeze(project)
    return project


def opened(project: ProjectPaths, output: str, columns: int, rows: int) -> Terminal:
    return Terminal([sys.executable, "-P", "-c", OPEN, str(project.root), output], columns=columns, rows=rows)


def settle(screen: Terminal) -> None:
    """Read until nothing has come for a while."""
    while screen.read(0.4):
        pass


def moving(screen: Terminal, pane: str, *keys: str) -> int:
    """Return the bytes that a key in a pane costs, the median of a few."""
    screen.press(pane)
    settle(screen)
    costs = []
    for key in keys * 3:
        before = len(screen.raw)
        screen.press(key)
        settle(screen)
        costs.append(len(screen.raw) - before)
    return int(statistics.median(cost for cost in costs if cost))


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_it_says_little(project: ProjectPaths, columns: int, rows: int) -> None:
    with opened(project, "lean", columns, rows) as screen:
        screen.wait_for("helper", "6 Inbox", "v2")
        screen.read(2.0)
        settle(screen)
        assert len(screen.raw) <= START
        assert moving(screen, "2", "down", "up") <= A_KEY
        assert moving(screen, "1", "up", "down") <= WITH_A_TEXT
        assert screen.read(2.0) == 0


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (200, 60)])
def test_the_lean_output_paints_every_screen_alike(project: ProjectPaths, columns: int, rows: int) -> None:
    with opened(project, "stock", columns, rows) as stock, opened(project, "lean", columns, rows) as lean:
        for screen in (stock, lean):
            screen.wait_for("helper", "6 Inbox", "v2")
            settle(screen)
        for key in WALK:
            for screen in (stock, lean):
                screen.press(key)
            assert alike(stock, lean), f"after {key!r}:\n{stock.text}\n--- lean:\n{lean.text}"
        assert len(lean.raw) < len(stock.raw) / 3


def alike(stock: Terminal, lean: Terminal, patience_s: float = 20.0) -> bool:
    """Tell whether both come to show the same cells: characters, colours and styles."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        came = stock.read(0.15) + lean.read(0.15)
        if not came and stock.screen.buffer == lean.screen.buffer:
            return True
    return False
