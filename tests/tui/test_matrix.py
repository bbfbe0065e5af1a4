"""Pane 2: each action, cursor and filter that stay, live cells, an open cell, and text that was written to harm."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.evolution.events import EventName, Journal
from core.evolution.specs import EvaluateSpec, OptimizeSpec, RunPaths, run_paths
from core.state import atomic
from core.state.jsonlines import append_record
from core.state.paths import ProjectPaths
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, BENCHMARK, CASES, OPTIMIZE
from tests.tui.test_cell import EVALUATOR, TARGET, work
from tui.screens.panes.matrix import MatrixPane
from tui.screens.panes.matrix_words import FAILURES, left_words, strip
from tui.stores.matrix_page import MatrixPage
from tui.widgets.grid import Grid

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]
ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil [/nope][red]"
RUN = "optimize-20260103-100000-ffff"


def started(project: ProjectPaths, *, runs: int = 2) -> RunPaths:
    """Begin a round of v4 against v2, its Reference."""
    run = run_paths(project, RUN)
    run.root.mkdir(parents=True)
    spec = OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK, runs=runs, concurrency=1)
    atomic.write_text(run.spec, spec.model_dump_json())
    journal = Journal(run.journal)
    journal.append(EventName.RUN_STARTED, pid=1, kind="optimize", spec=spec.model_dump(mode="json"))
    reference = {"version": 2, "score": 65.0, "state_hash": "s", "cases": []}
    journal.append(EventName.REFERENCE, **reference)
    journal.append(
        EventName.CANDIDATE, round=1, version=4, reference_version=2, digest="sha256:4", state_hash="s4",
        edits=[], hypothesis="h", prediction={"overall": "higher", "cases": []},
    )  # fmt: skip
    return run


def tell(run: RunPaths, case_id: str, number: int, state: str, **more: Any) -> None:
    """Journal a cell of the round."""
    if state == "scored":
        more = {"duration_ms": 60_000, "session_id": f"session-2026-01-03-10-00-00-0000000{number}", **more}
    Journal(run.journal).append(
        EventName.CELL, cell=f"round-1-{case_id}-{number}", case_id=case_id, run=number, version=4, stage="round",
        index=1, state=state, **more,
    )  # fmt: skip


async def test_a_round_is_held_against_its_reference_with_counts_spread_and_time_left(
    project: ProjectPaths, engine: GiveEngine
) -> None:
    run = started(project)
    engine(run)
    tell(run, CASES[0], 1, "scored", score=70.0)
    tell(run, CASES[0], 2, "scored", score=90.0)
    tell(run, CASES[1], 1, "failed", failure_code="evaluation_failed", reason="no answer came")
    tell(run, CASES[1], 2, "queued")
    async with console(project) as (app, pilot):
        await pilot.press("2")
        text = await until(app, pilot, lambda text: "against v2, the Reference" in text)
        assert "2 scored, 1 failed, 1 queued of 4" in text
        assert "+20.00" in text  # 80 of CASE-001 against its 60, over the one Case that both have
        assert "(1 Cases)" in text
        assert "20.00" in text
        assert "about 60 s left" in text
        assert "so far" in text
        tell(run, CASES[1], 2, "scored", score=10.0)
        await until(app, pilot, lambda text: "3 scored, 1 failed" in text and "10.00" in text)


async def test_the_cursor_stays_on_its_case_and_run_through_refresh_sort_filter_and_pages(
    project: ProjectPaths, engine: GiveEngine
) -> None:
    run = started(project)
    engine(run)
    for case_id, score in ((CASES[0], 90.0), (CASES[1], 10.0)):
        for number in (1, 2):
            tell(run, case_id, number, "scored", score=score + number)
    async with console(project) as (app, pilot):
        await pilot.press("2", "right")
        grid = app.screen.query_one(Grid)
        assert grid.cell is not None
        assert (grid.cell.case_id, grid.cell.run) == (CASES[0], 2)
        await pilot.press("s")  # lowest mean first
        await until(app, pilot, lambda text: "lowest mean first" in text)
        assert grid.row == 1
        assert (grid.cell.case_id, grid.cell.run) == (CASES[0], 2)
        tell(run, CASES[0], 2, "scored", score=1.0)
        await until(app, pilot, lambda text: " 1.00" in text)
        assert (grid.cell.case_id, grid.cell.run) == (CASES[0], 2)
        await pilot.press("left_square_bracket")  # evaluation of v2, with one Run
        assert grid.cell is not None
        assert (grid.cell.case_id, grid.cell.run) == (CASES[0], 1)
        await pilot.press("right_square_bracket")
        assert (grid.cell.case_id, grid.cell.run) == (CASES[0], 2)
        await pilot.press("slash", *"gateway", "enter")
        text = await until(app, pilot, lambda text: "filter gateway: 1 of 2 Cases" in text)
        assert grid.cell.case_id == CASES[1]
        await pilot.press("escape")
        await until(app, pilot, lambda text: "filter" not in text.split("\n")[3] and "2 of 2" not in text)
        assert (grid.cell.case_id, grid.cell.run) == (CASES[0], 2)
        assert "Round 1" in text


async def test_f_goes_through_the_failed_cells_round_the_end(project: ProjectPaths, engine: GiveEngine) -> None:
    run = started(project)
    engine(run)
    tell(run, CASES[0], 1, "scored", score=70.0)
    tell(run, CASES[0], 2, "failed", failure_code="benchmark_invalid", reason="a check is broken")
    tell(run, CASES[1], 1, "failed", failure_code="version_changed", reason="it moved")
    tell(run, CASES[1], 2, "scored", score=10.0)
    async with console(project) as (app, pilot):
        await pilot.press("2", "f")
        await until(app, pilot, lambda text: "benchmark invalid" in text and "a check is broken" in text)
        await pilot.press("f")
        await until(app, pilot, lambda text: "version changed" in text)
        await pilot.press("f")
        await until(app, pilot, lambda text: "a check is broken" in text)
        await pilot.press("F")
        await until(app, pilot, lambda text: "version changed" in text)
        await pilot.press("enter")
        meaning, advice = FAILURES["version_changed"]
        text = await until(app, pilot, lambda text: meaning[:30] in text)
        assert "Versions (5)" in text
        assert "The run is live" in text
        assert advice


async def test_without_a_failure_f_goes_to_the_lowest_cell_and_says_so(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("2", "down", "f")
        await until(app, pilot, lambda text: "No cell failed; this is the lowest." in text)
        cell = app.screen.query_one(Grid).cell
        assert cell is not None
        assert cell.case_id == CASES[0]


async def test_an_all_identical_matrix_is_an_alarm(project: ProjectPaths, engine: GiveEngine) -> None:
    run = started(project)
    engine(run)
    for case_id in CASES:
        for number in (1, 2):
            tell(run, case_id, number, "scored", score=34.0)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("2")
        await until(app, pilot, lambda text: "All 4 scores are 34.00, the same: an alarm, not a result." in text)
        tell(run, CASES[0], 1, "scored", score=35.0)
        await until(app, pilot, lambda text: "alarm" not in text)


def scored_round(project: ProjectPaths) -> RunPaths:
    """Let the round's first cell be one that can be opened: with items, checks, an answer and files."""
    work(project)
    run = started(project, runs=1)
    tell(run, CASES[0], 1, "scored", score=30.0, session_id=TARGET, evaluator_session_id=EVALUATOR)
    for record in run_paths(project, OPTIMIZE).items.read_bytes().splitlines():
        append_record(run.items, json.loads(record))
    return run


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
async def test_enter_opens_the_cell_and_esc_leads_back(project: ProjectPaths, size: tuple[int, int]) -> None:
    scored_round(project)
    async with console(project, size) as (app, pilot):
        await pilot.press("2", "enter")
        text = await until(app, pilot, lambda text: "tidy as it was then" in text)
        assert "30.00 points" in text
        assert "Rubric items  30.00 of 100" in text
        assert "-70 item 1" in text
        for _ in range(3):
            await pilot.press("down")
        await until(app, pilot, lambda text: "status: ok" in text and "answer, as it came" in text)
        await pilot.press("G")
        await until(app, pilot, lambda text: "as the Case's statement has it now" in text)
        await pilot.press("up")
        text = await until(app, pilot, lambda text: "a,b" in text)
        assert "made by the Target" in text
        await pilot.press("enter")
        assert app.focused is not None
        assert app.focused.id == "cell-text"
        await pilot.press("escape")
        assert app.focused.id == "cell-list"
        await pilot.press("escape")
        await until(app, pilot, lambda text: "Enter opens the cell" in text)
        assert isinstance(app.focused, Grid)


async def test_t_and_e_open_the_two_traces_of_an_open_cell(project: ProjectPaths) -> None:
    scored_round(project)
    async with console(project) as (app, pilot):
        await pilot.press("2", "enter", "t")
        await until(app, pilot, lambda text: f"Target of {CASES[0]} run 1" in text)
        await pilot.press("2")
        await until(app, pilot, lambda text: "Rubric items" in text)  # it is still open
        await pilot.press("e")
        await until(app, pilot, lambda text: f"Evaluator of {CASES[0]}" in text)


async def test_d_sets_the_cell_beside_that_of_the_reference(project: ProjectPaths) -> None:
    scored_round(project)
    async with console(project) as (app, pilot):
        await pilot.press("2", "d")
        text = await until(app, pilot, lambda text: "beside v2, the Reference" in text)
        assert "-30.00 against 60.00" in text
        await pilot.press("d")
        await until(app, pilot, lambda text: "beside" not in text)
        await pilot.press("left_square_bracket", "left_square_bracket")
        await until(app, pilot, lambda text: "Evaluation of v1" in text)
        await pilot.press("d")
        await until(app, pilot, lambda text: "no earlier measurement" in text)


async def test_a_cell_of_a_scoreboard_says_what_is_not_known(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("2", "enter")
        await until(app, pilot, lambda text: "The scoreboard tells scores alone" in text)


async def test_an_open_cell_follows_its_run(project: ProjectPaths, engine: GiveEngine) -> None:
    run = started(project)
    engine(run)
    tell(run, CASES[0], 1, "running")
    async with console(project) as (app, pilot):
        await pilot.press("2", "enter")
        await until(app, pilot, lambda text: "running now" in text and "No Target has worked on it yet" in text)
        tell(run, CASES[0], 1, "scored", score=12.5)
        await until(app, pilot, lambda text: "12.50 points" in text)


async def test_copies_and_pager_get_the_matrix_or_the_cell(project: ProjectPaths) -> None:
    scored_round(project)
    async with console(project) as (app, pilot):
        await pilot.press("2")
        pane = app.screen.query_one(MatrixPane)
        assert pane.copied(whole=False) == (TARGET, "the Target's session id")
        assert f"{CASES[0]}\t30.00\t30.00\t\t-30.00" in pane.reading()
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Rubric items" in text)
        assert "status: ok\nscore: 30" in pane.reading()
        assert "tidy as it was then" in pane.reading()


async def test_many_runs_scroll_sideways_while_the_cases_stay(project: ProjectPaths, engine: GiveEngine) -> None:
    run = started(project, runs=20)
    engine(run)
    for number in range(1, 21):
        tell(run, CASES[0], number, "scored", score=float(number), session_id=f"s-{number}")
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("2")
        text = await until(app, pilot, lambda text: "20 scored" in text)
        assert ">" in next(line for line in text.split("\n") if " Case " in line)
        for _ in range(19):
            await pilot.press("right")
        text = await until(app, pilot, lambda text: "run 20" in text)
        heading = next(line for line in text.split("\n") if " Case " in line)
        assert "<" in heading
        assert " 20 " in heading
        assert "CASE-001" in next(line for line in text.split("\n") if line.startswith("> "))
        assert all(len(line) <= 80 for line in text.split("\n"))


async def test_a_key_paints_only_what_it_changes(project: ProjectPaths, engine: GiveEngine) -> None:
    run = started(project)
    engine(run)
    for case_id in CASES:
        tell(run, case_id, 1, "scored", score=50.0)
    async with console(project) as (app, pilot):
        await pilot.press("2")
        grid = app.screen.query_one(Grid)
        painted: list[int] = []
        draw = grid.render_line
        grid.render_line = lambda y: painted.append(y) or draw(y)  # type: ignore[func-returns-value,method-assign]
        await pilot.press("down")
        await pilot.pause()
        assert sorted(set(painted)) == [1, 2]


async def test_a_scoreboard_that_cannot_be_read_is_said_to_be(project: ProjectPaths) -> None:
    agent = project.agent("helper")
    agent.benchmark("chores").scoreboard.write_text('evaluations:\n  - "\\ud83d": 1\n')
    shutil.rmtree(project.runs)
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("2")
        await until(app, pilot, lambda text: "scoreboard.yaml, line" in text and "Nothing measured yet" not in text)
        await pilot.press("4")
        await until(app, pilot, lambda text: "dropped" in text)


async def test_hostile_names_reasons_and_files_are_shown_and_do_nothing(
    project: ProjectPaths, engine: GiveEngine
) -> None:
    work(project)
    agent = project.agent(AGENT)
    agent.benchmark(BENCHMARK).case(CASES[0]).statement_readme.write_text(f"# {ATTACK}\n")
    (agent.workspaces / "ws-0123456789ab" / f"[red]{ATTACK.replace('/', '')}").write_text(ATTACK)
    run = started(project)
    engine(run)
    tell(run, CASES[0], 1, "scored", score=30.0, session_id=TARGET, evaluator_session_id=EVALUATOR)
    tell(run, CASES[1], 1, "failed", failure_code="evaluation_failed", reason=ATTACK)
    async with console(project) as (app, pilot):
        await pilot.press("2", "down")
        await until(app, pilot, lambda text: "[/nope]" in text)
        await pilot.press("up", "enter")
        await until(app, pilot, lambda text: "Sessions" in text)
        for _ in range(12):
            await pilot.press("down")
            await pilot.pause()
            text = screen_text(app)
            assert not any(character in text for character in "\x1b\x07\x9b\u202e")


async def test_an_evaluation_is_held_against_the_one_before_with_the_same_runtime(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("2")
        await until(app, pilot, lambda text: "+20.00 against v1, the evaluation before" in text)
        assert "one Run each: noise unknown" in screen_text(app)


async def test_a_run_of_another_model_is_not_compared_with_the_reference(project: ProjectPaths) -> None:
    run = run_paths(project, RUN)
    run.root.mkdir(parents=True)
    model = {"provider": "openai", "model_id": "gpt-x"}
    spec = EvaluateSpec(agent_id=AGENT, benchmark_id=BENCHMARK).model_dump(mode="json") | {"model": model}
    atomic.write_text(run.spec, json.dumps(spec))
    started_ = Journal(run.journal)
    started_.append(EventName.RUN_STARTED, pid=1, kind="evaluate", spec=spec)
    tell(run, CASES[0], 1, "scored", score=99.0)
    async with console(project) as (app, pilot):
        await pilot.press("2")
        text = await until(app, pilot, lambda text: "99.00" in text)
        assert "against" not in text.split("\n")[4]


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (4000, "a few seconds left"),
        (42_000, "about 40 s left"),
        (130_000, "about 2 min left"),
        (7.2e6, "about 2.0 h left"),
    ],
)
def test_a_time_left_is_said_roughly(milliseconds: int, words: str) -> None:
    assert left_words(milliseconds) == words


def test_the_strip_of_pages_fits_and_shows_the_one_in_sight() -> None:
    pages = tuple(
        MatrixPage(str(n), f"Round {n}", "", n, 1, (), None, complete=True, short=f"v{n}x") for n in range(60)
    )
    for at in (0, 30, 59):
        line = strip(pages, at, 60)
        assert sum(len(text) for text, _ in line) <= 60
        assert (f" v{at}x ", "bar") in line


async def test_an_empty_matrix_tells_what_to_do(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path / "default_project")
    project.agents.mkdir(parents=True)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("2")
        await until(app, pilot, lambda text: "exuvia demo" in text and "Nothing measured yet" in text)
        for key in ("enter", "s", "f", "F", "d", "t", "e", "slash", "escape", "left", "right", "y", "v"):
            await pilot.press(key)
        await until(app, pilot, lambda text: "Nothing measured yet" in text)


async def test_an_open_cell_has_its_own_footer_and_gets_the_keys_back_from_its_text(project: ProjectPaths) -> None:
    scored_round(project)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("2")
        text = await until(app, pilot, lambda text: "Enter opens the cell" in text)
        assert "s sort   f failed" in text.splitlines()[-1]
        await pilot.press("enter")
        text = await until(app, pilot, lambda text: "tidy as it was then" in text)
        assert "sort" not in text.splitlines()[-1]
        assert "t trace   e evaluator" in text.splitlines()[-1]
        await pilot.press("f")
        await until(app, pilot, lambda text: "Esc leads back" in text)
        await pilot.press("tab")
        await until(app, pilot, lambda text: "Esc to the rows" in text)
        await pilot.press("escape", "escape")
        await until(app, pilot, lambda text: "s sort   f failed" in text.splitlines()[-1])
        await pilot.press("enter")
        text = await until(app, pilot, lambda text: f"{CASES[0]} run 1" in text)
        assert "Esc to the rows" not in text
        assert app.focused is not None
        assert app.focused.id == "cell-list"
