"""The console on a directory in which another program works: it fills by traces and scoreboard alone."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.state.paths import ProjectPaths
from core.state.scoreboard import read_scoreboard
from tests.cli.program import tree_hash
from tests.evolution.foreign import BENCHMARK, BUILDER, CASES, SOLVER, World
from tests.evolution.replay import FIXTURE, Event, Replay
from tests.tui.driving import console, until
from tui.screens.deeds import is_anothers
from tui.screens.starting import StartScreen
from tui.stores import start_form
from tui.stores.console import WAKES, ConsoleStore, ConsoleView
from tui.stores.matrix import Cell, MatrixPage
from tui.stores.runs import Subject
from tui.widgets import prompt

CSV = Subject("csv_helper", "csv-cleanup")
OPTIMIZE = "Use the agent-optimization Skill on solver with riddles."
Key = tuple[int | None, str, int]


def _on(page: MatrixPage) -> list[Cell]:
    return [cell for row in page.rows for cell in row.cells if cell is not None]


def _cells(view: ConsoleView) -> dict[Key, tuple[str, float | None]]:
    """Return the best of what any page says of a cell."""
    found: dict[Key, tuple[str, float | None]] = {}
    for page in view.matrix.pages:
        for cell in _on(page):
            key = (page.version, cell.case_id, cell.run)
            if key not in found or cell.score is not None:
                found[key] = (cell.state, cell.score)
    return found


def _of_board(pages: tuple[MatrixPage, ...]) -> list[MatrixPage]:
    return [page for page in pages if page.key.startswith("evaluation:")]


def _steps(replay: Replay) -> Iterator[Event]:
    """Play it; stop at every record of a loop, and at every twentieth of the rest."""
    loop = ("-20-17-34-", "-20-19-35-")
    for number, event in enumerate(replay.play()):
        if number % 20 == 0 or any(mark in event.session_id for mark in loop) or not event.session_id:
            yield event


def test_the_matrix_fills_as_it_goes_and_ends_as_the_scoreboard(tmp_path: Path) -> None:
    replay = Replay(tmp_path / "home")
    project = ProjectPaths(tmp_path / "home" / "default_project")
    store = ConsoleStore(project)
    before: dict[Key, tuple[str, float | None]] = {}
    sizes: set[int] = set()
    lived: list[str] = []
    for event in _steps(replay):
        view = store.load(WAKES["trace" if event.session_id else "scoreboard"])  # as the feed would
        if view.subject != CSV:
            assert not before, "once something is measured, it stays in sight"
            continue
        cells = _cells(view)
        for key, (state, score) in before.items():
            assert key in cells, f"{key} is gone"
            assert score is None or cells[key] == (state, score), (key, state, score, cells[key])
        sessions = [cell.session_id for page in view.matrix.pages for cell in _on(page) if cell.score]
        assert len(sessions) == len(set(sessions)), "nothing is shown twice"
        before = cells
        sizes.add(sum(score is not None for _, score in cells.values()))
        lived += [run.phase for run in view.sessions.live if not lived or lived[-1] != run.phase]
    assert sizes == {0, 1, 2, 4}, "the second matrix is stored before its Evaluators answered"
    assert lived[-2:] == ["evaluating Candidate v2", "Candidate v2 is on the scoreboard"]

    view = store.load()
    board = read_scoreboard(project.agent("csv_helper").benchmark("csv-cleanup").scoreboard).evaluations
    pages = _of_board(view.matrix.pages)
    assert [(page.version, page.mean) for page in pages] == [(e.version, e.score) for e in board]
    for page, evaluation in zip(pages, board, strict=True):
        assert [
            (cell.case_id, cell.run, cell.score, cell.cost, cell.duration_ms, cell.session_id) for cell in _on(page)
        ] == [
            (case.case, number, run.score, run.cost, run.duration_ms, run.session_id)
            for case in evaluation.cases
            for number, run in enumerate(case.runs, 1)
        ]
        assert all(cell.evaluator_id for cell in _on(page)), "each score leads to who gave it"
    (rest,) = [page for page in view.matrix.pages if page not in pages]
    assert rest.note == "observed, not on the scoreboard"
    assert [cell.score for cell in _on(rest)] == [75], "a second run of v1 that nobody recorded"
    assert [row.what for row in view.board.rows] == ["baseline", "accepted"]
    assert ConsoleStore(project).load().matrix == view.matrix, "following ends where reading begins"


def test_looking_at_it_writes_nothing(tmp_path: Path) -> None:
    home = Path(shutil.copytree(FIXTURE, tmp_path / "home"))
    before = tree_hash(home)
    view = ConsoleStore(ProjectPaths(home / "default_project")).load()
    assert [(run.role, run.state, run.observed) for run in view.sessions.runs] == [("Optimizer", "finished", True)] * 2
    assert view.subject == CSV
    assert tree_hash(home) == before


def test_a_candidate_that_was_not_kept_is_on_the_scores_page(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.score(1, {CASES[0]: [(50, "session-base")]})
    optimizer = world.session(BUILDER, OPTIMIZE)
    optimizer.evaluator(CASES[0], version=2).answer(40)
    optimizer.say("It was worse.")
    view = ConsoleStore(world.project).load()
    assert [(row.version, row.what, row.score) for row in view.board.rows] == [
        (1, "baseline", 50),
        (2, "rejected", 40),
    ]
    assert "not on the scoreboard" in view.board.rows[1].note


def _wrong(session_id: str, record: dict[str, Any]) -> dict[str, Any] | None:
    """Let the second Evaluator of v2 never give a plain answer, and let nobody record anything of v2."""
    if session_id.endswith("87db1ee0") and record["payload"].get("role") == "assistant":
        record["payload"]["text"] = "I would say 85."
    return record


def test_an_answer_that_is_none_is_no_zero_in_the_matrix(tmp_path: Path) -> None:
    replay = Replay(tmp_path / "home", rewrite=_wrong)
    rows = [event for event in replay.events if event.path.parent.name == "csv-cleanup"]
    replay.events.remove(rows[1])
    for _ in replay.play():
        pass
    page = ConsoleStore(ProjectPaths(tmp_path / "home" / "default_project")).load().matrix.pages[-1]
    first, second = _on(page)
    assert (first.state, first.score) == ("scored", 70)
    assert (second.state, second.score, second.failure) == ("failed", None, "malformed")
    assert page.mean == 70, "a failed cell is left out, not counted as nothing"
    assert not page.complete


async def test_an_open_console_follows_another_programs_loop(tmp_path: Path) -> None:
    """It is opened on an empty directory; the loop then happens under its eyes."""
    home = tmp_path / "home"
    home.mkdir()
    project = ProjectPaths(home / "default_project")
    async with console(project, (120, 40)) as (app, pilot):
        replay = Replay(home)
        playing = replay.play()
        for _ in range(346):  # up to where both Evaluators of v2 have launched their Targets
            next(playing)
        text = await until(app, pilot, lambda text: "evaluating Candidate v2" in text, 20)
        assert "Optimizer running" in text
        assert "observed" in text
        await pilot.press("2")
        await until(app, pilot, lambda text: "2 running of 2" in text)
        for _ in playing:
            pass
        text = await until(app, pilot, lambda text: "mean 77.50" in text and "idle" in text, 20)
        assert "70.00" in text
        assert "85.00" in text
    assert not project.own.exists()


async def test_what_needs_a_journal_is_refused_in_words(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    before = tree_hash(tmp_path)
    async with console(world.project, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda text: "observed" in text)
        await pilot.press("1")
        for key, words in (("K", "stop it there"), ("C", "goes on there"), ("i", "Another program runs it")):
            await pilot.press(key)
            await until(app, pilot, lambda text, words=words: words in text)  # type: ignore[misc]
            await pilot.press("escape")
        await asyncio.sleep(0.1)
    assert tree_hash(tmp_path) == before


async def test_a_rollback_under_another_programs_loop_asks_first(tmp_path: Path) -> None:
    playing = Replay(tmp_path / "home").play()
    for _ in range(346):
        next(playing)
    project = ProjectPaths(tmp_path / "home" / "default_project")
    agent = project.agent("csv_helper")
    before = agent.config.read_bytes()
    async with console(project, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda text: "evaluating Candidate v2" in text)
        await pilot.press("5")
        await until(app, pilot, lambda text: "now v2" in text)
        await pilot.press("R")
        await until(app, pilot, lambda text: "Another program seems at work on csv_helper" in text)
        await asyncio.sleep(0.5)  # a question takes no key that was meant for what was there before
        await pilot.press("n")
        await until(app, pilot, lambda text: "Nothing was changed" in text)
    assert agent.config.read_bytes() == before
    assert not project.own.exists()


async def test_a_start_under_another_programs_loop_asks_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, bool]] = []
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)
    world = World(tmp_path)
    case = world.benchmark.case(CASES[0])
    case.statement_readme.parent.mkdir(parents=True)
    case.statement_readme.write_text("do it\n")
    world.session(BUILDER, OPTIMIZE).evaluator(CASES[0])
    async with console(world.project, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda text: "observed" in text)
        form = StartScreen(
            start_form.gather(world.project, ()),
            {"kind": "optimize", "agent_id": SOLVER, "benchmark_id": BENCHMARK, "model": "rehearsal/rehearsal-1"},
            lambda spec, beside: sent.append((spec.kind, beside)),
            lambda agent_id: is_anothers(app.frame.view, agent_id),
        )
        await app.push_screen(form)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Another program seems at work on solver. Start the Optimizer" in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "Not started" in text)
        assert sent == []
        await pilot.press("enter", "y")
        await until(app, pilot, lambda text: sent == [("optimize", True)])


@pytest.mark.parametrize("inside", ["", SOLVER])
def test_a_run_that_begins_to_design_is_seen_at_once(tmp_path: Path, inside: str) -> None:
    world = World(tmp_path)
    store = ConsoleStore(world.project)
    assert store.load().sessions.runs == ()
    world.session(BUILDER, f"Use the benchmark-design Skill for {inside or 'somebody'}.")
    view = store.load(frozenset({"sessions"}))
    (run,) = view.sessions.runs
    assert (run.role, run.state, run.phase, run.agent_id) == ("Builder", "running", "designing", inside or BUILDER)
