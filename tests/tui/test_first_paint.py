"""What the console imports and reads before its first paint, and what that paint shows (DECISIONS 29)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.evolution import runs
from core.evolution.events import EventName
from core.evolution.specs import OptimizeSpec
from core.foundation import strict_json
from core.state.paths import ProjectPaths
from tests.tui.driving import screen_text, until
from tests.tui.home import AGENT, BENCHMARK, BUILD, CASES, OPTIMIZE, ask_for_freeze, cell, give_engine, start_run
from tui.console import Console
from tui.screens.panes.base import Pane
from tui.screens.panes.coming import Coming
from tui.screens.panes.scores import ScoresPane
from tui.screens.panes.session_rows import run_row
from tui.screens.panes.tail import Lane
from tui.stores import glance
from tui.stores.console import ConsoleStore
from tui.stores.glance import first_facts
from tui.stores.session_lines import RunLine, line_of

HEAVY = ("pydantic", "yaml", "tomllib", "tomlkit", "tarfile", "watchfiles", "httpx", "core.evolution.specs")
"""What checks files whole, or watches; it costs more than Textual itself and comes after the first paint."""
LATER = (
    *("hashlib", "secrets", "tui.stores.board", "tui.stores.board_rows", "tui.stores.versions", "tui.stores.sessions"),
    *("tui.screens.panes.scores", "tui.screens.panes.inbox", "tui.screens.panes.matrix", "tui.screens.deeds"),
)
"""What the first picture can do without; each costs some milliseconds."""


def test_nothing_heavy_is_imported_before_the_first_paint() -> None:
    code = (
        "import sys, json, tui.app, tui.console, tui.stores.glance, tui.settings; tui.settings.load(); "
        "from tui.screens.panes.coming import first_panes; list(first_panes('scores')); "
        f"print(json.dumps([name for name in {HEAVY + LATER!r} if name in sys.modules]))"
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


@pytest.fixture
def live(project: ProjectPaths) -> Iterator[ProjectPaths]:
    """A home in which a Builder's run waits for a decision."""
    run, _ = ask_for_freeze(project)
    engine = give_engine(run)
    yield project
    engine.kill()
    engine.wait()


def _lines(project: ProjectPaths) -> tuple[tuple[RunLine, RunLine], ...]:
    """Return each run's line of the first facts beside the one that its whole journal gives."""
    whole = [line_of(runs.read_run(project, run.run_id)) for run in first_facts(project).sessions.runs]
    return tuple(zip(first_facts(project).sessions.runs, whole, strict=True))


def test_a_short_journal_tells_the_first_facts_all(live: ProjectPaths) -> None:
    assert [first == whole for first, whole in _lines(live)] == [True, True]


@pytest.mark.parametrize("torn", [False, True])
def test_of_a_long_journal_the_first_facts_are_right_or_left_out(
    live: ProjectPaths, monkeypatch: pytest.MonkeyPatch, torn: bool
) -> None:
    if torn:
        journal = live.runs / BUILD / "journal.jsonl"
        last = journal.read_bytes().splitlines()[-1]
        journal.write_bytes(journal.read_bytes()[: -len(last) // 2])
    monkeypatch.setattr(glance, "LONG", 0)
    build, optimize = (first for first, _ in _lines(live))
    for first, whole in _lines(live):
        left_out = {"cases": (), "cost": 0.0, "unknown": 0, "tokens": 0, "session_id": ""}
        assert first == replace(whole, **left_out, step=first.step)  # type: ignore[arg-type]  # names from a table
        assert first.step in ("", whole.step)
    assert (build.state, build.phase, build.step) == ("running" if torn else "waiting", "freeze", "")
    assert (optimize.state, optimize.step) == ("finished", "round 2/5")
    for width in (40, 80, 120):
        for line in run_row(build, width).lines:
            shown = "".join(text for text, _ in line)
            assert "$" not in shown, "nothing is known of its cost, so nothing is said, and never 0"
            assert "pilot" not in shown


def test_a_long_journal_is_read_in_outline(live: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = live.runs / BUILD / "journal.jsonl"
    event = json.dumps({"time": "2026-01-01T10:00:00.000Z", "event": EventName.CELL, **cell(CASES[1], "running")})
    whole = journal.read_bytes()
    journal.write_bytes(whole + (event.encode() + b"\n") * (1 + glance.LONG // len(event)) + whole.splitlines()[-1])
    parsed: list[bytes] = []

    def counted(text: bytes) -> object:
        parsed.append(text)
        return json.loads(text)

    monkeypatch.setattr(strict_json, "parse", counted)
    build = first_facts(live).sessions.runs[0]
    assert (build.run_id, build.state, build.phase) == (BUILD, "waiting", "freeze")
    assert len(parsed) < 30


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


def _opening(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> Console:
    """Return a console that stays at its first paint."""

    async def nothing_yet(console: Console) -> None:
        return

    monkeypatch.setattr(Console, "on_ready", nothing_yet)
    store = ConsoleStore(project)
    store.view = first_facts(project)
    return Console(project, store)


async def test_keys_of_a_pane_that_is_coming_wait_for_it(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _opening(project, monkeypatch)
    async with app.run_test(size=(120, 40), tooltips=True, notifications=True) as pilot:
        assert "4 Scores  reading..." in screen_text(app)
        await pilot.press("down", "p", "2")
        assert isinstance(app.focused, Coming)
        assert app.frame._early == ["scores.plot", "pane.matrix"]
        app.frame._early = ["scores.plot"]
        await app.frame.complete()
        assert not app.frame.query(Coming)
        assert app.frame.pane() is app.frame.query_one(ScoresPane)
        assert app.frame.query_one(ScoresPane).is_plotting
        await pilot.pause()
        assert app.focused is not None
        assert app.focused.id == "scores-series"
        assert app.frame.active == "scores"


async def test_nothing_jumps_when_the_panes_come(live: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in live.approvals.glob("*.json"):
        name.unlink()  # so that the live runs come first, and the matrix is in the middle
    app = _opening(live, monkeypatch)
    async with app.run_test(size=(120, 40), tooltips=True, notifications=True) as pilot:
        before = {pane.pane_id: pane.region for pane in app.frame.query(Pane) if pane.display}
        assert before.keys() == {"sessions", "matrix", "summary", "tail"}
        focused = app.focused
        await app.frame.complete()
        await pilot.pause()
        assert {pane.pane_id: pane.region for pane in app.frame.query(Pane) if pane.display} == before
        assert app.focused is focused
        assert app.frame.active == "sessions"


async def test_two_live_runs_have_a_lane_each_from_the_first_paint(
    live: ProjectPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = start_run(live, "optimize-20260101-120000-dddd", OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    engine = give_engine(other)
    try:
        app = _opening(live, monkeypatch)
        async with app.run_test(size=(120, 40), tooltips=True, notifications=True):
            assert [lane.run.run_id for lane in app.frame.query(Lane) if lane.run] == [BUILD, other.id]
            await app.frame.complete()
            assert len(app.frame.query(Lane)) == 2
    finally:
        engine.kill()
        engine.wait()


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
