"""Keys that change the world change the real files, ask first where they must, and can be undone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from core.evolution import runs
from core.evolution.specs import RunPaths
from core.state import approvals, rollback
from core.state.agents import read_agent
from core.state.paths import ProjectPaths
from tests.tui.driving import console, until
from tests.tui.home import AGENT, BUILD, FREEZE, ask_for_freeze
from tui.widgets import prompt

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]


@pytest.fixture(autouse=True)
def no_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


def decision(project: ProjectPaths) -> approvals.Decision | None:
    return approvals.get(project, FREEZE)[1]


async def test_approve_by_key(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("6", "a")
        await until(app, pilot, lambda text: "Freeze chores as it stands" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: "Approved: freeze of chores" in text and "Decided lately" in text)
    made = decision(project)
    assert made is not None
    assert (made.verdict, made.actor) == ("approve", "console")


@pytest.mark.parametrize("answer", ["n", "escape", "a", "enter"])
async def test_anything_but_y_approves_nothing(project: ProjectPaths, engine: GiveEngine, answer: str) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("6", "a", answer)
        await until(app, pilot, lambda text: "Not approved" in text)
    assert decision(project) is None


async def test_a_key_that_comes_at_once_is_no_answer(
    project: ProjectPaths, engine: GiveEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 30.0)
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("6", "a", "y")
        await until(app, pilot, lambda text: "Freeze chores as it stands" in text)
    assert decision(project) is None


async def test_reject_needs_its_reason(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("6", "x", "enter")
        await until(app, pilot, lambda text: "Not rejected" in text)
        assert decision(project) is None
        await pilot.press("x", *"too easy", "enter")
        await until(app, pilot, lambda text: "Rejected: freeze of chores" in text)
    made = decision(project)
    assert made is not None
    assert (made.verdict, made.reason) == ("reject", "too easy")


async def test_the_second_console_is_told_who_was_first(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("6", "a")
        approvals.decide(project, FREEZE, "reject", "mine", actor="other")
        await pilot.press("y")
        await until(app, pilot, lambda text: "was decided before" in text)
    made = decision(project)
    assert made is not None
    assert made.actor == "other"


async def test_roll_back_and_undo_by_key(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    async with console(project) as (app, pilot):
        await pilot.press("5")
        await until(app, pilot, lambda text: "now v2" in text)
        await pilot.pause(0.4)
        await pilot.press("R")
        await until(app, pilot, lambda text: "Rolled helper back: v2 to v1" in text and "now v1" in text)
        assert read_agent(agent).version == 1
        assert agent.agents_md.read_text() == "# Rules of version 1\n"
        await pilot.press("u")
        await until(app, pilot, lambda text: "helper is v2 again" in text and "now v2" in text)
    assert agent.agents_md.read_text() == "# Rules of version 2\n"


async def test_a_rollback_is_undone_before_the_screen_knows_of_it(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    async with console(project) as (app, pilot):
        await until(app, pilot, lambda text: "v2" in text)
        rollback.roll_back(agent, version=1, actor="another console")
        assert not app.frame.view.versions.undo
        await pilot.press("u")
        await until(app, pilot, lambda text: "helper is v2 again" in text)
        await pilot.press("u")
        await until(app, pilot, lambda text: "There is no rollback to undo." in text)
    assert read_agent(agent).version == 2


async def test_right_after_a_change_of_pane_a_rollback_is_asked_about(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        app.frame.changed_pane = 1e18  # as if the pane had changed this very moment
        await pilot.press("R")
        await until(app, pilot, lambda text: "Roll helper back to v1?" in text)
        await pilot.press("n")
    assert read_agent(project.agent(AGENT)).version == 2


async def test_a_rollback_stops_the_run_first_when_told_so(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    process = engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("R")
        await until(app, pilot, lambda text: "Stop it and roll back to v1?" in text)
        assert process.poll() is None
        await pilot.press("y")
        await until(app, pilot, lambda text: "Rolled helper back" in text, 20)
    assert process.wait(5) != 0
    assert runs.read_run(project, BUILD).state == "stopped"
    assert read_agent(project.agent(AGENT)).version == 1


async def test_stop_a_run_by_key(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    process = engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("1", "K")
        await until(app, pilot, lambda text: f"Stop run {BUILD}?" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: f"Run {BUILD} is stopped" in text, 20)
    assert process.wait(5) != 0


async def test_read_only_has_no_such_keys(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project, read_only=True) as (app, pilot):
        await pilot.press("6", "a", "y", "x", "R", "y", "u", "K", "y", "K")
        text = await until(app, pilot, lambda text: "Opened read-only: stop run is off." in text)
        assert "READ-ONLY" in text
        assert "approve" not in text.split("\n")[-1]
        assert not app.frame.query_one(prompt.Prompt).is_busy
    assert decision(project) is None
    assert read_agent(project.agent(AGENT)).version == 2


async def test_a_pasted_text_is_no_key(project: ProjectPaths) -> None:
    from textual import events

    async with console(project) as (app, pilot):
        await pilot.press("5")
        app.post_message(events.Paste("R"))
        await pilot.pause(0.3)
    assert read_agent(project.agent(AGENT)).version == 2


async def test_where_no_version_is_in_sight_a_rollback_is_asked_about(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    async with console(project) as (app, pilot):
        await pilot.press("1")
        await pilot.pause(0.4)
        await pilot.press("R")
        await until(app, pilot, lambda text: "Roll helper back to v1?" in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "Nothing was changed." in text)
    assert read_agent(agent).version == 2


async def test_a_version_that_is_not_kept_is_no_goal(project: ProjectPaths) -> None:
    async with console(project) as (app, pilot):
        await pilot.press("5", "home")
        await until(app, pilot, lambda text: "> x v3" in text)
        await pilot.press("R")
        await until(app, pilot, lambda text: "The state of v3 is not kept" in text)
    assert read_agent(project.agent(AGENT)).version == 2


async def test_what_cannot_go_on_is_not_asked_about(project: ProjectPaths, engine: GiveEngine) -> None:
    run, _ = ask_for_freeze(project)
    engine(run)
    async with console(project) as (app, pilot):
        await pilot.press("1", "home", "C")
        await until(app, pilot, lambda text: f"{BUILD} is waiting." in text)
        await pilot.press("down", "C")
        await until(app, pilot, lambda text: "is finished." in text and "S starts another" in text)


async def test_a_dead_run_is_gone_on_with_only_after_a_y(project: ProjectPaths) -> None:
    run, _ = ask_for_freeze(project)
    async with console(project) as (app, pilot):
        await pilot.press("1", "home", "C")
        await until(app, pilot, lambda text: "Go on with the Builder, dead at pilot 1/4?" in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "Nothing was changed." in text)
    assert not (run.root / "engine.pid").exists()
