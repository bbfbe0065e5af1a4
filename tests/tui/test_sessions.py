"""Runs and Sessions on screen: two live ones side by side, signs of life, what they used, and words to them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.evolution.events import EventName, Journal
from core.evolution.run_view import CellView, RunView
from core.evolution.specs import BuildSpec, OptimizeSpec, RunPaths
from core.state import mailbox
from core.state.agents import create_agent
from core.state.paths import OPERATOR_AGENT, ProjectPaths
from core.traces import records
from core.traces.shards import new_trace_path
from core.traces.tokens import Tokens
from core.traces.writer import TraceWriter
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, BENCHMARK, CASES, OPTIMIZE, cell, start_run
from tui.screens.panes.session_rows import age_of, beat, coins, counted, run_row, session_row
from tui.screens.panes.sessions import SessionList
from tui.screens.panes.tail import lanes_of
from tui.stores.console import ConsoleStore
from tui.stores.meters import Meter
from tui.stores.session_lines import RunLine, SessionLine, SessionsView, line_of, of_run, tail_line
from tui.stores.trace_lines import TraceLine
from tui.widgets import prompt
from tui.widgets.line_list import Row, is_wanted
from tui.widgets.spans import width_of

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]
BUILDER, OPTIMIZER = "session-2026-01-02-10-00-00-aaaaaaaa", "session-2026-01-02-11-00-00-bbbbbbbb"
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m[/bold][red]\u202egnp.exe\x00"


@pytest.fixture(autouse=True)
def no_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


def role_session(
    project: ProjectPaths, run: RunPaths, role: str, session_id: str, said: str = "thinking of"
) -> TraceWriter:
    """Write the Session of a Builder or Optimizer: three requests, two of them counted, and what streams now."""
    agent = project.agent(OPERATOR_AGENT)
    if not agent.config.is_file():
        create_agent(project, OPERATOR_AGENT, name="Operator", description="Runs the loop.", agents_md="# Loop\n")
    path = new_trace_path(agent, session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = TraceWriter(path)
    writer.append(records.user_text(f"You are the {role}."))
    for number in range(3):
        writer.append(records.request_begin())
        writer.append(records.assistant_text(f"{role} step {number}"))
        if number < 2:
            writer.append(records.token_usage(Tokens(0, 1000, 500), Tokens(0, 1000, 500)))
        writer.append(records.request_end("completed"))
    Journal(run.journal).append(EventName.SESSION, role=role, session_id=session_id, agent_id=OPERATOR_AGENT)
    project.live.mkdir(parents=True, exist_ok=True)
    (project.live / f"{session_id}.txt").write_text(f"{role} is {said}")
    run.heartbeat.touch()
    return writer


@pytest.fixture
def pair(project: ProjectPaths, engine: GiveEngine) -> tuple[RunPaths, RunPaths]:
    """A Builder on one agent and an Optimizer on another, both live."""
    build = start_run(
        project,
        "build-20260102-100000-aaaa",
        BuildSpec(agent_id="newcomer", benchmark_id="first-chores", capability="tidy", requirement="tidy"),
    )
    optimize = start_run(
        project, "optimize-20260102-110000-bbbb", OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK, rounds=3)
    )
    for run, role, session_id in ((build, "builder", BUILDER), (optimize, "optimizer", OPTIMIZER)):
        role_session(project, run, role, session_id).close()
        Journal(run.journal).append(EventName.PHASE, phase=f"{role} phase", detail="")
        engine(run)
    running = {**cell(CASES[0], "running", session_id="session-2026-01-02-11-01-00-cccccccc"), "stage": "round"}
    Journal(optimize.journal).append(EventName.CELL, **running)
    Journal(optimize.journal).append(EventName.SPENT, usd=0.25, unknown_requests=2, tokens=18_200)
    return build, optimize


def line_with(text: str, *words: str) -> str:
    return next((line for line in text.split("\n") if all(word in line for word in words)), "")


# Side by side


async def test_two_live_runs_stream_side_by_side_where_there_is_room(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths]
) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        text = await until(app, pilot, lambda text: "builder step 2" in text and "optimizer step 2" in text)
        assert line_with(text, "builder step 2", "optimizer step 2")
        assert line_with(text, "builder is thinking of", "optimizer is thinking of")
        await until(
            app,
            pilot,
            lambda text: "18.2k tokens in all" in text and "3 own turns" in text and "$0.2500 + 2 unknown" in text,
        )
        await pilot.resize_terminal(200, 60)
        await until(app, pilot, lambda text: bool(line_with(text, "builder step 2", "optimizer step 2")))


async def test_two_live_runs_stand_one_below_the_other_where_it_is_narrow(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths]
) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1")
        text = await until(app, pilot, lambda text: "builder step 2" in text and "optimizer step 2" in text)
        assert not line_with(text, "builder step 2", "optimizer step 2")
        assert text.index("builder step 2") < text.index("optimizer step 2")
        assert "round 0/3" in text
        assert "pilot 0/4" in text


async def test_an_ended_run_that_is_selected_stands_alone(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths]
) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1", "down", "down")
        text = await until(app, pilot, lambda text: "builder step 2" not in text and "optimizer step 2" not in text)
        assert "Optimizer  finished" in text


def test_lanes_are_the_selected_run_and_another_that_lives() -> None:
    made = {name: run_line(name, state) for name, state in (("a", "running"), ("b", "waiting"), ("c", "dead"))}
    view = SessionsView(tuple(made.values()))
    assert [run.run_id for run in lanes_of(made["b"], view)] == ["a", "b"]
    assert [run.run_id for run in lanes_of(made["c"], view)] == ["c"]
    assert [run.run_id for run in lanes_of(None, view)] == ["a", "b"]
    assert lanes_of(None, SessionsView()) == ()


def run_line(run_id: str, state: str, **more: object) -> RunLine:
    line = RunLine(run_id, "Builder", state, AGENT, BENCHMARK, "", "", (), 0.0, 0, 0, 1000, 2000, "", "")
    return replace(line, **more)  # type: ignore[arg-type]  # whatever a test wants to be different


# Signs of life, and what was used


def test_a_sign_of_life_is_late_after_ten_seconds_and_gone_with_the_engine() -> None:
    now_ms = int(time.time() * 1000)
    assert beat(run_line("a", "running", beat_ms=now_ms - 2000)) == ("2 s ago", "dim")
    assert beat(run_line("a", "running", beat_ms=now_ms - 11_000))[1] == "warn"
    assert beat(run_line("a", "dead", beat_ms=now_ms)) == ("gone", "bad")
    assert beat(run_line("a", "finished", beat_ms=now_ms)) == ("", "dim")
    assert age_of(None) is None


async def test_an_engine_that_falls_silent_and_one_that_dies_are_seen(
    project: ProjectPaths, engine: GiveEngine
) -> None:
    run = start_run(project, "optimize-20260102-110000-bbbb", OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    role_session(project, run, "optimizer", OPTIMIZER).close()
    process = engine(run)
    async with console(project, (120, 40)) as (app, pilot):
        await until(app, pilot, lambda text: "beat 0 s ago" in text or "beat 1 s ago" in text)
        late = time.time() - 40
        os.utime(run.heartbeat, (late, late))
        await until(app, pilot, lambda text: "beat 4" in text)
        process.kill()
        process.wait()
        await until(app, pilot, lambda text: "engine gone" in text and "C goes on with it" in text)


def test_an_unknown_cost_is_never_nothing() -> None:
    """EVOLUTION 4.6 no. 20: what nobody told is said to be unknown."""
    assert coins(0.0, 3) == "$?"
    assert coins(0.5, 3) == "$0.5000+?"
    assert coins(0.5, 0) == "$0.5000"
    assert coins(0.0, 0) == "$0"
    assert [counted(n) for n in (0, 999, 18_200, 999_949, 999_950, 3_400_000)] == [
        "0", "999", "18.2k", "999.9k", "1.0M", "3.4M",
    ]  # fmt: skip


def told_of(row: Row) -> str:
    return "\n".join("".join(text for text, _ in line) for line in row.lines)


def test_tokens_that_nobody_told_are_not_nothing() -> None:
    for width in (76, 120):
        begun = told_of(run_row(run_line("a", "running", turns=10, unknown=10), width))
        assert "10" in begun
        assert "$?" in begun
        assert " 0 " not in begun
        line = SessionLine("s", "", CASES[0], "running", None, "target", "", used=Meter(turns=3, unknown=3))
        assert " 0 " not in told_of(session_row(line, width))


def test_the_turns_of_its_own_session_are_not_mixed_up_with_the_tokens_of_all() -> None:
    row = told_of(run_row(run_line("a", "finished", turns=30, tokens=3_400_000, unknown=30), 76))
    assert "30 own turns  3.4M in all  $?" in row
    assert "1 own turn " in told_of(run_row(run_line("a", "finished", turns=1, tokens=5, unknown=1), 76))


def test_nothing_runs_in_a_run_that_was_stopped() -> None:
    running = CellView("c", CASES[0], 1, 1, "round", 1, "running", session_id="target-1", evaluator_session_id="ev-1")
    stopped = RunView("optimize-1", "optimize", "stopped", AGENT, BENCHMARK, cells=(running,))
    assert line_of(stopped).cases == ()
    assert {line.state for line in of_run(stopped, set()).values()} == {"interrupted"}
    assert not any(line.live for line in of_run(stopped, set()).values())
    alive = replace(stopped, state="running")
    assert line_of(alive).cases == (CASES[0],)
    assert {line.state for line in of_run(alive, set()).values()} == {"running"}


def test_a_session_names_its_run_where_a_case_has_several() -> None:
    cells = tuple(
        CellView(f"{stage}-{run}", CASES[0], run, 1, stage, 1, "scored", session_id=f"{stage}-{run}")
        for stage, run in (("pilot", 1), ("round", 1), ("round", 2))
    )
    lines = of_run(RunView("optimize-1", "optimize", "finished", AGENT, BENCHMARK, cells=cells), set())
    assert {key: line.about for key, line in lines.items()} == {
        "pilot-1": CASES[0], "round-1": f"{CASES[0]} run 1", "round-2": f"{CASES[0]} run 2",
    }  # fmt: skip
    for width in (60, 76, 120):
        assert told_of(session_row(lines["round-1"], width)) != told_of(session_row(lines["round-2"], width))
        assert f"{CASES[0]} run 2" in told_of(session_row(lines["round-2"], width))


def test_sessions_are_counted_in_parts_and_never_twice(project: ProjectPaths, pair: tuple[RunPaths, RunPaths]) -> None:
    store = ConsoleStore(project)
    view = store.load()
    for _ in range(20):
        if not store.unfinished:
            break
        view = store.load(frozenset({"sessions"}))
    assert not store.unfinished
    turns = {run.run_id: run.turns for run in view.sessions.runs}
    assert turns["optimize-20260102-110000-bbbb"] == 3
    used = {session.session_id: session.used for session in view.sessions.sessions}
    assert any(session is not None and session.turns == 0 for session in used.values())
    again = store.load(frozenset({"sessions"}))
    assert again.sessions == view.sessions


async def test_other_sessions_stand_in_columns_where_there_is_room(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths]
) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("1", "z")
        text = await until(app, pilot, lambda text: "own turns" in text and "elapsed" in text)
        assert line_with(text, "target", "running", "round 1", "CASE-001-register")
        assert line_with(text, "Optimizer", "running", "round 0/3", "18.2k", "$0.2500+?")
        await pilot.press("s")
        await until(app, pilot, lambda text: "by role" in text)


async def test_the_list_is_filtered_by_role_and_state(project: ProjectPaths, pair: tuple[RunPaths, RunPaths]) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("1", "z", "slash", *"role:optimizer !finished", "enter")
        text = await until(app, pilot, lambda text: "showing rows with" in text)
        assert line_with(text, "Optimizer", "running", "round 0/3", "18.2k")
        assert not line_with(text, "Builder", "running", "pilot 0/4", "newcomer / ")
        assert not line_with(text, "finished", "round 2/5")


def test_a_filter_wants_each_of_its_words() -> None:
    text = "role:Evaluator state:failed agent:helper"
    assert is_wanted(text, "role:eval state:failed")
    assert not is_wanted(text, "role:eval state:scored")
    assert is_wanted(text, "!scored helper")
    assert not is_wanted(text, "helper !failed")
    assert is_wanted(text, "")


async def test_rows_fit_the_width_that_they_have_after_any_change_of_size(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths]
) -> None:
    journal = Journal(pair[1].journal)
    for number in range(14):
        made = cell(CASES[0], "scored", score=90.0, session_id=f"session-2026-01-02-11-02-{number:02}-cccccccc")
        journal.append(EventName.CELL, **{**made, "cell": f"round-1-{number}", "stage": "round"})
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1")
        await until(app, pilot, lambda text: "Optimizer" in text)
        rows = app.frame.query_one(SessionList)
        for width, height in ((120, 40), (120, 60), (200, 60), (120, 24), (99, 40), (120, 40)):
            await pilot.resize_terminal(width, height)
            for _ in range(2):  # the whole screen for it, and back
                await pilot.press("z")
                await pilot.pause()
                await pilot.pause()
                assert rows.virtual_size.height == rows.row_count() * rows.row_height
                for index in range(rows.row_count()):
                    for line in rows.row_lines(index, rows.inner_width):
                        assert width_of("".join(text for text, _ in line)) <= rows.inner_width


async def test_a_row_drawn_at_a_new_width_has_all_others_drawn_anew(project: ProjectPaths) -> None:
    """A scroll bar that comes takes a cell away and sends no Resize; only one row may be painted then."""
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1")
        await until(app, pilot, lambda text: "Optimizer" in text)
        rows = app.frame.query_one(SessionList)
        rows._width += 5  # as if all had been made for a wider list
        rows._rows = tuple(replace(row, lines=((("stale", "plain"),),)) for row in rows._rows)
        rows.refresh()
        await until(app, pilot, lambda text: "stale" not in text)
        rows._width += 5
        rows._rows = tuple(replace(row, lines=((("stale", "plain"),),)) for row in rows._rows)
        drawn: list[int] = []
        draw = rows.render_line
        rows.render_line = lambda y: drawn.append(y) or draw(y)  # type: ignore[func-returns-value,method-assign]
        rows.paint_row(rows.cursor)
        await pilot.pause()
        await pilot.pause()
        assert set(drawn) == set(range(rows.size.height))


# Reading and holding


async def test_a_held_tail_says_what_it_misses(project: ProjectPaths, pair: tuple[RunPaths, RunPaths]) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1")
        await until(app, pilot, lambda text: "optimizer step 2" in text)
        await pilot.press("space")
        await until(app, pilot, lambda text: "held, +0 new" in text)
        path = next(project.agent(OPERATOR_AGENT).traces.glob(f"*/{OPTIMIZER}_001.jsonl"))
        writer = TraceWriter(path)
        for number in range(4):
            writer.append(records.assistant_text(f"later thought {number}"))
        writer.close()
        text = await until(app, pilot, lambda text: "held, +4 new" in text)
        assert "later thought" not in text
        await pilot.press("space")
        await until(app, pilot, lambda text: "later thought 3" in text and "held" not in text)


async def test_enter_on_a_live_run_opens_its_trace_at_the_end(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths]
) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1", "home", "enter")
        await until(app, pilot, lambda text: "3 Trace" in text and "records" in text)
        at_end = (" step 2", "request")  # of whichever began last
        await until(app, pilot, lambda text: any(line_with(text, "> ", words) for words in at_end))


async def test_a_finished_build_says_that_the_optimizer_is_the_operators_to_start(project: ProjectPaths) -> None:
    run = start_run(
        project, "build-20260103-100000-cccc", BuildSpec(agent_id=AGENT, benchmark_id="fresh", capability="tidy")
    )
    Journal(run.journal).append(EventName.BASELINE, version=1, score=42.333, evaluation_time="2026-01-03T10:00:00Z")
    Journal(run.journal).append(EventName.FINISHED, result={})
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1")
        await until(app, pilot, lambda text: "benchmark frozen, Baseline 42.33: S starts the Optimizer" in text)


async def test_a_run_that_cannot_start_says_why_and_the_form_keeps_its_values(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1", "S")
        await until(app, pilot, lambda text: "Start: Builder" in text)
        await pilot.press("up", "right", "pagedown", "enter")
        await until(app, pilot, lambda text: "Start the Optimizer on helper / chores?" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: f"Run {pair[1].id} is working on agent helper" in text)
        assert app.screen is app.frame
    assert sorted(path.name for path in project.runs.iterdir()) == sorted((pair[0].id, pair[1].id, OPTIMIZE))


# Words


async def test_a_word_is_sent_to_a_session_that_listens(project: ProjectPaths, pair: tuple[RunPaths, RunPaths]) -> None:
    run = pair[1]
    with mailbox.opened(project, OPTIMIZER, agent_id=OPERATOR_AGENT, role="optimizer", run_id=run.id):
        async with console(project, (80, 24)) as (app, pilot):
            await pilot.press("1", "home", "i")
            await until(app, pilot, lambda text: "Tell the Optimizer of helper:" in text)
            await pilot.press(*"try the notes", "enter")
            await until(app, pilot, lambda text: f"Told {OPTIMIZER}" in text)
            await until(app, pilot, lambda text: "told: try the notes  (not read yet)" in text)
    (word,) = mailbox.unread(project, OPTIMIZER)
    assert (word.text, word.actor) == ("try the notes", "console")


async def test_a_session_that_does_not_listen_is_told_nothing(
    project: ProjectPaths, pair: tuple[RunPaths, RunPaths]
) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1", "home", "i")
        await until(app, pilot, lambda text: "does not listen" in text)  # either began first
    assert mailbox.unread(project, OPTIMIZER) == ()


async def test_without_a_live_session_there_is_nobody_to_tell(project: ProjectPaths) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("1", "i")
        await until(app, pilot, lambda text: "No live Session listens." in text)


async def test_a_chat_of_any_agent_is_listed_and_can_be_told(project: ProjectPaths) -> None:
    create_agent(project, "chatty", name="Chatty", description="Talks.", agents_md="# Talk\n")
    chat = "session-2026-01-03-10-00-00-dddddddd"
    with mailbox.opened(project, chat, agent_id="chatty", role="chat"):
        async with console(project, (120, 40)) as (app, pilot):
            await pilot.press("1", "z")
            await until(app, pilot, lambda text: bool(line_with(text, "chat", "live")))
            await pilot.press("down", "i")
            await until(app, pilot, lambda text: "Tell the chat" in text)
            await pilot.press(*"hello", "enter")
            await until(app, pilot, lambda text: f"Told {chat}" in text)
    assert [word.text for word in mailbox.unread(project, chat)] == ["hello"]


def test_a_word_that_was_read_shows_as_told() -> None:
    line = TraceLine(3, "10:00:00", "user", "[user_steering] try the notes [/user_steering]", "accent")
    assert (tail_line(line, {}).kind, tail_line(line, {}).text) == ("told", "try the notes")


# Nothing that a model says touches the terminal


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_no_text_of_a_session_touches_the_terminal(
    project: ProjectPaths, engine: GiveEngine, size: tuple[int, int]
) -> None:
    run = start_run(project, "optimize-20260102-110000-bbbb", OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    writer = role_session(project, run, "optimizer", OPTIMIZER, EVIL)
    writer.append(records.assistant_text(f"I say {EVIL}"))
    writer.close()
    Journal(run.journal).append(EventName.PHASE, phase=f"phase {EVIL}", detail=EVIL)
    engine(run)
    async with console(project, size) as (app, pilot):
        await pilot.press("1")
        text = await until(app, pilot, lambda text: "I say" in text and "optimizer is" in text)
        assert "[/bold][red]" in text
        assert not set(screen_text(app)) & set("\x1b\x07\x9b\u202e\x00")


def test_a_row_fits_whatever_a_run_says() -> None:
    run = run_line("a", "blocked", reason=EVIL * 20, phase="p", cases=("CASE-001",))
    for width in (38, 78, 118):
        row = run_row(run, width)
        assert len(row.lines) == (1 if width > 100 else 2)
