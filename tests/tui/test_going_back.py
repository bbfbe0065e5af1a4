"""From pane to pane: what opened a trace or a diff is gone back to; the cursor stays in sight."""

from __future__ import annotations

import json

import pytest

from core.state.paths import ProjectPaths
from core.traces import records
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, write_trace
from tui.screens.panes.base import TraceWanted
from tui.screens.panes.trace import TracePane

LONG = "session-2026-01-04-10-00-00-aaaaaaaa"


def write_long(project: ProjectPaths) -> None:
    """Write a trace of more records than any screen shows."""
    calls = [records.tool_call(f"c{n}", "exec_command", json.dumps({"cmd": f"step {n}"})) for n in range(80)]
    write_trace(project.agent(AGENT), LONG, "A long task.", *calls)


@pytest.mark.parametrize("key", ["escape", "b"])
async def test_a_trace_leads_back_to_the_pane_that_opened_it(project: ProjectPaths, key: str) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("2", "t")
        await until(app, pilot, lambda text: "Target of CASE-001-register" in text and app.frame.active == "trace")
        await pilot.press("4", "home", "t")
        await until(app, pilot, lambda text: "run 1 v1" in text and app.frame.active == "trace")
        await pilot.press(key)
        await until(app, pilot, lambda text: app.frame.active == "scores")
        await pilot.press("3")
        await until(app, pilot, lambda text: app.frame.active == "trace")
        await pilot.press(key)
        await until(app, pilot, lambda text: app.frame.query_one(TracePane).sight == "tree")
        assert app.frame.active == "trace", "who came by the number of the pane stays in it"


@pytest.mark.parametrize("key", ["escape", "b"])
async def test_a_diff_leads_back_to_the_pane_that_opened_it(project: ProjectPaths, key: str) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("5", "end", "d")
        await until(app, pilot, lambda text: app.frame.active == "diff")
        await pilot.press(key)
        await until(app, pilot, lambda text: app.frame.active == "versions")
        await pilot.press("7")
        await pilot.press("b")
        await until(app, pilot, lambda text: "There is nothing before this." in text)


async def test_what_was_said_of_one_pane_is_not_said_in_the_next(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1", "space")
        await until(app, pilot, lambda text: "Live is held" in text)
        await pilot.press("4")
        assert "is held" not in await until(
            app, pilot, lambda text: "4 Scores" in text and app.frame.active == "scores"
        )
        await pilot.press("space")
        await until(app, pilot, lambda text: "There is nothing here that streams." in text)


async def test_a_live_trace_opens_at_its_end_with_the_cursor_in_sight(project: ProjectPaths) -> None:
    write_long(project)
    async with console(project, (80, 24)) as (app, pilot):
        app.frame.post_message(TraceWanted(LONG, "a live one", at_end=True))
        text = await until(app, pilot, lambda text: "84 records" in text and "> 83 " in text)
        assert "step 79" in text
        await pilot.press("home")
        await until(app, pilot, lambda text: ">  0 " in text)


async def test_the_cursor_stays_in_sight_when_the_terminal_shrinks(project: ProjectPaths) -> None:
    write_long(project)
    async with console(project, (200, 60)) as (app, pilot):
        app.frame.post_message(TraceWanted(LONG, "a long one"))
        await until(app, pilot, lambda text: "84 records" in text)
        await pilot.press(*["down"] * 40)
        await until(app, pilot, lambda text: "> 40 " in text)
        await pilot.resize_terminal(80, 24)
        await until(app, pilot, lambda text: "> 40 " in text)
        assert "step" in screen_text(app)
