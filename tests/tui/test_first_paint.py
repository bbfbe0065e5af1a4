"""What the console imports and reads before its first paint, and what that paint shows (DECISIONS 29)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from tests.tui.driving import screen_text, until
from tests.tui.home import AGENT, BENCHMARK, OPTIMIZE, ask_for_freeze, give_engine
from tui.console import Console
from tui.stores.console import ConsoleStore
from tui.stores.glance import first_facts

HEAVY = ("pydantic", "yaml", "tomllib", "tomlkit", "tarfile", "watchfiles", "httpx", "core.evolution.specs")
"""What checks files whole, or watches; it costs more than Textual itself and comes after the first paint."""


def test_nothing_heavy_is_imported_before_the_first_paint() -> None:
    code = (
        "import sys, json, tui.app, tui.console, tui.stores.glance, tui.settings; tui.settings.load(); "
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [], "import it in the function that needs it"


def test_the_first_facts_are_those_of_the_whole_reading(project: ProjectPaths) -> None:
    run, _ = ask_for_freeze(project)
    engine = give_engine(run)
    try:
        first = first_facts(project)
        store = ConsoleStore(project)
        whole = store.load()
    finally:
        engine.kill()
        engine.wait()
    assert first.reading
    assert not whole.reading
    assert first.subject == whole.subject
    assert first.subjects == whole.subjects
    assert first.versions.present == whole.versions.present == 2
    assert first.board.curve == whole.board.curve == ((1, 45.0), (2, 65.0))
    assert first.waiting == len(whole.inbox.pending) == 1
    told = [(run.run_id, run.role, run.state, run.phase, run.step, run.cases) for run in first.sessions.runs]
    assert told == [(run.run_id, run.role, run.state, run.phase, run.step, run.cases) for run in whole.sessions.runs]


def _spoilt_spec(project: ProjectPaths) -> None:
    (project.runs / OPTIMIZE / "spec.json").write_text('{"kind": ["optimize"], "agent_id": {}, "then_optimize": 7}')


def _spoilt_scoreboard(project: ProjectPaths) -> None:
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    board.write_text(board.read_text().replace("    score: 65", "    score: 165"))


def _commented_scoreboard(project: ProjectPaths) -> None:
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    board.write_text(board.read_text().replace("    score: 65", "    score: 65 # as I saw it"))


def _version_said_twice(project: ProjectPaths) -> None:
    config = project.agent(AGENT).config
    config.write_text(config.read_text() + "version: 9\n")


def _no_spec(project: ProjectPaths) -> None:
    (project.runs / OPTIMIZE / "spec.json").unlink()


@pytest.mark.parametrize(
    "spoil", [_spoilt_spec, _spoilt_scoreboard, _commented_scoreboard, _version_said_twice, _no_spec]
)
def test_what_does_not_stand_plainly_is_left_out(project: ProjectPaths, spoil: object) -> None:
    assert callable(spoil)
    spoil(project)
    first = first_facts(project)
    assert first.reading
    assert first.board.curve == (() if spoil in (_spoilt_scoreboard, _commented_scoreboard) else ((1, 45.0), (2, 65.0)))
    assert first.versions.present == (None if spoil is _version_said_twice else 2)
    assert len(first.sessions.runs) == (0 if spoil in (_spoilt_spec, _no_spec) else 1)


def test_an_empty_project_has_no_facts(tmp_path: Path) -> None:
    first = first_facts(ProjectPaths(tmp_path / "nothing"))
    assert first.subject is None
    assert first.sessions.runs == ()


async def test_the_first_frame_shows_facts_and_the_rest_follows(project: ProjectPaths) -> None:
    store = ConsoleStore(project)
    store.view = first_facts(project)
    app = Console(project, store)
    async with app.run_test(size=(120, 40)) as pilot:
        first = screen_text(app)
        assert AGENT in first
        assert "v2" in first
        assert "65.00" in first
        await until(app, pilot, lambda text: "rejected" in text and "reading..." not in text)
        assert not app.frame.view.reading
