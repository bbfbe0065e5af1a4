"""Each pane shows the home's facts at each size, and Enter leads from a number to the trace behind it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from core.evolution.events import EventName, Journal
from core.evolution.specs import BuildSpec, RunPaths
from core.state.paths import ProjectPaths
from tests.tui.driving import console, screen_text, until
from tests.tui.home import CASES, ask_for_freeze, start_run

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]
SIZES = [(80, 24), (120, 40), (200, 60)]


def holds(words: tuple[str, ...], text: str) -> bool:
    return all(word in text for word in words)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_pane_shows_what_there_is(project: ProjectPaths, size: tuple[int, int], engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    expected = {
        "1": ("Builder", "waiting" if size[0] == 120 else "waits for you", "pilot 1/4"),
        "2": ("Pilot 1 of 4", "34.00", "running", "CASE-001"),
        "3": ("4 Sessions", "Target", "CASE-001"),
        "4": ("Small chores", "accepted", "rejected", "65.00", "held", "missed"),
        "5": ("now v2", "previous", "not kept", "baseline"),
        "6": ("The wanted score is met.", "predicted 60.00", "Tidy the file by the rules.", "a common phrase"),
    }
    async with console(project, size) as (app, pilot):
        for key, words in expected.items():
            await pilot.press(key)
            text = await until(app, pilot, partial(holds, words))
            assert "helper" in text
            assert "65.00" in text.split("\n")[0]
            assert all(len(line) <= size[0] for line in text.split("\n"))


async def test_t_opens_the_trace_behind_a_cell(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("2", "t")
        text = await until(app, pilot, lambda text: "3 Trace" in text and "Error: no such file" in text)
        assert "Target of CASE-001-register" in text
        await pilot.press("f")
        await until(app, pilot, lambda text: "> 2 " in text)


async def test_t_on_a_score_opens_its_first_target(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("4", "home", "t")
        await until(app, pilot, lambda text: "Target of CASE-001-register run 1 v1" in text)


async def test_brackets_flip_through_the_pages_of_the_matrix(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("2")
        await until(app, pilot, lambda text: "3/3" in text and "Pilot 1 of 4" in text)
        await pilot.press("left_square_bracket")
        await until(app, pilot, lambda text: "2/3" in text and "Evaluation of v2" in text)
        await pilot.press("right_square_bracket")
        await until(app, pilot, lambda text: "3/3" in text)


async def test_the_matrix_follows_the_journal(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("2")
        await until(app, pilot, lambda text: "~ running" in text)
        Journal(run.journal).append(
            EventName.CELL, cell=f"pilot-1-{CASES[1]}", case_id=CASES[1], run=1, version=1, stage="pilot", index=1,
            state="scored", score=77.5, duration_ms=5, session_id="s-2",
        )  # fmt: skip
        await until(app, pilot, lambda text: "77.50" in text)


async def test_a_run_that_dies_is_shown_dead(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    process = engine(run)
    async with console(project) as (app, pilot):
        await until(app, pilot, lambda text: "1 live" in text)
        process.kill()
        process.wait()
        await until(app, pilot, lambda text: "dead" in text and "idle" in text)


async def test_a_filter_shows_only_what_holds_the_text_and_esc_shows_all(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("4", "slash", *"rejected", "enter")
        text = await until(app, pilot, lambda text: "showing rows with" in text)
        assert "rejected" in text
        assert "o v1" not in text
        await pilot.press("escape")
        await until(app, pilot, lambda text: "o v1" in text)


async def test_too_small_a_terminal_says_so_and_comes_back(project: ProjectPaths) -> None:
    async with console(project, (40, 10)) as (app, pilot):
        assert "Too small: 60x15 cells are needed." in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await until(app, pilot, lambda text: "4 Scores" in text)


async def test_a_state_of_the_existing_system_opens_and_stays_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(Path(__file__).parents[1] / "fixtures" / "penguin-state", home)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    async with console(ProjectPaths(home / "default_project"), (80, 24)) as (app, pilot):
        await until(app, pilot, lambda text: "csv_helper" in text and "77.50" in text)
        await pilot.press("2")
        await until(app, pilot, lambda text: "CASE-001" in text and "85.00" in text)
        await pilot.press("t")
        await until(app, pilot, lambda text: "20 records" in text)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


async def test_an_empty_project_says_what_to_do_next(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path / "default_project")
    project.agents.mkdir(parents=True)
    async with console(project, (80, 24)) as (app, pilot):
        for key in "123456":
            await pilot.press(key)
            await pilot.pause()
        await pilot.press("1")
        await until(app, pilot, lambda text: "exuvia demo" in text)


@pytest.mark.long
async def test_damaged_and_hostile_state_is_shown_and_takes_nothing_down(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(Path(__file__).parents[1] / "fixtures" / "penguin-edge", home, symlinks=True)
    project = ProjectPaths(home / "default_project")
    async with console(project, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda text: len(app.frame.view.subjects) > 20)
        for subject in app.frame.view.subjects:
            await pilot.press("o", *(letter if letter != "-" else "minus" for letter in subject.benchmark_id), "enter")
            await until(app, pilot, lambda text, subject=subject: app.frame.view.subject == subject)  # type: ignore[misc]
            await pilot.press("2", "4", "enter", "5")
            await pilot.pause()
        assert len({subject.benchmark_id for subject in app.frame.view.subjects}) == len(app.frame.view.subjects)


async def test_a_build_is_shown_before_its_agent_exists(project: ProjectPaths, engine: GiveEngine) -> None:
    spec = BuildSpec(agent_id="newcomer", benchmark_id="first-chores", capability="tidy", requirement="tidy")
    run = start_run(project, "build-20260102-100000-dddd", spec)
    engine(run)
    async with console(project, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda text: "newcomer" in text and "Builder" in text and "1 live" in text)
        for key in "123456":
            await pilot.press(key)
            await pilot.pause()
        Journal(run.journal).append(EventName.CONTRACT, capability="tidy", planned_cases=["CASE-001-a", "CASE-002-b"])
        await pilot.press("2")
        await until(app, pilot, lambda text: "Pilot 1 of 4" in text and "CASE-002-b" in text and "planned" in text)
