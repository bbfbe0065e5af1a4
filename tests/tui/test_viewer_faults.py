"""What has broken viewers in the field, tried on the console: each class by its smallest input (docs/decisions.md)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml
from rich.cells import cell_len
from textual import events

from core.foundation.errors import DamagedError
from core.state import scoreboard
from core.state.paths import ProjectPaths
from core.traces import records
from core.traces.reader import TraceFile
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT, BENCHMARK, ask_for_freeze, write_trace
from tui import crash
from tui.messages import Outcome, ReadWanted
from tui.screens.panes.matrix import MatrixPane
from tui.stores.console import ConsoleStore, ConsoleView
from tui.work import Work

ATTACK = "\x1b]0;owned\x07\u202e日本[/nope]"


@pytest.fixture(autouse=True)
def own_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("tui.widgets.prompt.GUARD_S", 0.0)


# Faults of what reads and of what is done


async def test_whatever_a_reader_raises_is_said_and_the_next_change_is_followed(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULTS: stop-at-first-error. A store that raises leaves the facts in sight, says so, and goes on."""
    async with console(project) as (app, pilot):
        await until(app, pilot, lambda text: "65.00" in text)
        real = app.feed.store.load

        def fails(*_: object) -> ConsoleView:
            raise RuntimeError("a file that nobody foresaw")

        monkeypatch.setattr(app.feed.store, "load", fails)
        app.feed.refresh()
        text = await until(app, pilot, lambda text: "not up to date: a file that nobody foresaw" in text)
        assert "65.00" in text
        monkeypatch.setattr(app.feed.store, "load", real)
        ask_for_freeze(project)
        await until(app, pilot, lambda text: "Inbox(1)" in text and "not up to date" not in text)


async def test_a_fault_in_a_thread_is_said(project: ProjectPaths) -> None:
    """FAULTS: stop-at-first-error. What fails in a thread of its own is no silence."""

    def deed(_: Work) -> Outcome:
        raise RuntimeError("in a deed")

    def read(_: ProjectPaths) -> events.Event:
        raise RuntimeError("in a reading")

    async with console(project) as (app, pilot):
        app.frame.start(deed, "doing")
        await until(app, pilot, lambda text: "A fault of the console: RuntimeError: in a deed" in text)
        app.frame.post_message(ReadWanted(read, app.frame, "reading"))
        await until(app, pilot, lambda text: "in a reading" in text)


def test_what_is_printed_of_a_fault_holds_no_variable(tmp_path: Path) -> None:
    """TERMINAL 2.2: keys stand in variables, and a traceback of Textual's prints those."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}

    def fails(key: str) -> None:
        raise ValueError("boom \x1b[2J") if key else AssertionError

    with pytest.raises(ValueError, match="boom") as raised:
        fails("sk-secret")
    told = crash.told(raised.value, environ)
    written = crash.last_fault(environ).read_text()
    assert "ValueError: boom ␛[2J" in told
    assert str(crash.last_fault(environ)) in told
    assert "in fails" in written
    assert "sk-secret" not in told + written.replace('fails("sk-secret")', "")
    assert "\x1b" not in told + written


async def test_what_is_under_way_ends_as_the_console_leaves(project: ProjectPaths) -> None:
    """TERMINAL 4, theme 14: a thread that goes on keeps the process alive."""
    begun: list[Work] = []

    def endless(work: Work) -> Outcome:
        begun.append(work)
        while True:
            work.report(1, 2)

    async with console(project) as (app, pilot):
        app.frame.start(endless, "an endless deed")
        await until(app, pilot, lambda text: bool(begun))
    assert begun[0].is_ending


# Files that go away or become something else


@pytest.mark.parametrize(
    ("place", "becomes"),
    [("runs", "file"), ("runs", "loop"), ("agents", "loop"), (".exuvia", "loop"), ("traces", "loop"),
     ("approvals", "file"), ("scoreboard", "directory"), ("agent_state", "none")],
)  # fmt: skip
async def test_a_place_that_becomes_something_else_is_survived_and_its_return_is_seen(
    project: ProjectPaths, place: str, becomes: str
) -> None:
    """FAULTS: torn, concurrent and malformed files; symlink loops among them."""
    agent = project.agent(AGENT)
    target = {
        "runs": project.runs, "agents": project.agents, ".exuvia": project.runs.parent, "traces": agent.traces,
        "approvals": project.approvals, "scoreboard": agent.benchmark(BENCHMARK).scoreboard, "agent_state": agent.state,
    }[place]  # fmt: skip
    ask_for_freeze(project)
    async with console(project) as (app, pilot):
        await pilot.press("3", "4")
        away = target.with_name(target.name + "-away")
        target.rename(away)
        if becomes == "file":
            target.write_text("no directory")
        elif becomes == "loop":
            target.symlink_to(target)
        elif becomes == "directory":
            target.mkdir()
        app.feed.refresh()
        for key in "3152467":
            await pilot.press(key)
            await asyncio.sleep(0.1)
            await pilot.pause()
        if target.is_symlink() or target.is_file():
            target.unlink()
        elif becomes == "directory":
            target.rmdir()
        away.rename(target)
        app.feed.refresh()
        await pilot.press("4")
        await until(app, pilot, lambda text: "accepted" in text and "Inbox(1)" in text and "not up to date" not in text)


async def test_a_project_that_is_deleted_leaves_a_console_that_answers(project: ProjectPaths) -> None:
    """FAULTS: files deleted under the viewer, all of them."""
    ask_for_freeze(project)
    async with console(project) as (app, pilot):
        await until(app, pilot, lambda text: "Inbox(1)" in text)
        shutil.rmtree(project.root)
        await until(app, pilot, lambda text: "Inbox(1)" not in text and "65.00" not in text)
        for key in "1234567":
            await pilot.press(key, "enter", "down", "u", "E", "escape", "escape")
            assert "help" in screen_text(app).split("\n")[-1]


@pytest.mark.parametrize("becomes", ["none", "directory", "pipe", "loop", "a file below it"])
def test_a_trace_whose_file_becomes_something_else_is_gone_and_what_was_read_stays(
    project: ProjectPaths, becomes: str
) -> None:
    """FAULTS: torn, concurrent and malformed files. A pipe in its place must not be waited for."""
    path = write_trace(project.agent(AGENT), "session-2026-01-03-00-00-00-00000001", "Tidy.")
    with TraceFile(path) as file:
        count = file.index()
        path.unlink()
        if becomes == "directory":
            path.mkdir()
        elif becomes == "pipe":
            os.mkfifo(path)
        elif becomes == "loop":
            path.symlink_to(path)
        elif becomes == "a file below it":
            shutil.rmtree(path.parent)
            path.parent.write_text("")
        assert file.refresh() == "gone"
        assert len(file) == count
        assert file.record(0) is not None
    if becomes in ("directory", "pipe"):
        with pytest.raises(DamagedError):
            TraceFile(path)


# Where nothing can be written


async def test_a_pager_or_editor_that_has_no_room_is_refused_in_words(
    project: ProjectPaths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """FAULTS: non-atomic write and ENOSPC."""
    (tmp_path / "config").write_text("a file where a directory should be")
    async with console(project) as (app, pilot):
        await pilot.press("5")
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        await pilot.press("v")
        await until(app, pilot, lambda text: "can't be written for the pager" in text)
        await pilot.press("comma", "enter")
        await until(app, pilot, lambda text: "settings.toml" in text.split("\n")[-2])
        await pilot.press("v")
        await until(app, pilot, lambda text: "made" in text.split("\n")[-2] or "Not a dir" in text)
        await pilot.press("escape", "y")
        await until(app, pilot, lambda text: "Copied" in text)


# Keys


async def test_a_hundred_kilobytes_pasted_anywhere_are_cut_and_harmless(project: ProjectPaths) -> None:
    """FAULTS: unbounded payload, escape injection; TERMINAL 2.2: a paste is no keys."""
    ask_for_freeze(project)
    big = f"{ATTACK} R y q\n" * 6000
    async with console(project, (80, 24)) as (app, pilot):
        for keys in (("4", "slash"), ("3", "asterisk"), ("6", "x"), ("colon",), ("5", "E"), ("5", "I")):
            await pilot.press(*keys)
            assert app.screen.focused is not None
            app.screen.focused.post_message(events.Paste(big))
            await pilot.pause()
            assert all(cell_len(line) <= 80 for line in screen_text(app).split("\n"))
            assert "\x1b" not in screen_text(app)
            await pilot.press("escape")
        await pilot.press("4", "S")
        await until(app, pilot, lambda text: "Start: " in text)
        for _ in range(12):
            assert app.screen.focused is not None
            app.screen.focused.post_message(events.Paste(big))
            await pilot.press("down")
        assert all(cell_len(line) <= 80 for line in screen_text(app).split("\n"))
        await pilot.press("escape")
    assert not list(project.approvals.glob("*.decision.json"))


async def test_keys_before_the_facts_decide_nothing_and_words_are_no_keys(project: ProjectPaths) -> None:
    """TERMINAL 4, theme 1: what is typed while the console opens rolls nothing back and approves nothing."""
    ask_for_freeze(project)
    async with console(project) as (app, _):
        app.frame._early = []
        for action_id in ("pane.inbox", "approve", "rollback", "filter", "quit", "undo"):
            app.frame.run_action_by_id(action_id)
        assert app.frame._early == ["pane.inbox", "filter"]


# Numbers and sizes


@pytest.mark.parametrize("bad", [".nan", ".inf", "-.inf", "1e400", "101", "-1", "true", "'NaN'", "null", "[1]"])
def test_what_is_no_score_is_dropped_and_kept_to_be_shown(project: ProjectPaths, bad: str) -> None:
    """FAULTS: non-finite values, bool as number; the rule above all: invalid is never zero."""
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    text = board.read_text()
    assert "\n    score: 65\n" in text
    board.write_text(text.replace("\n    score: 65\n", f"\n    score: {bad}\n"))
    store = ConsoleStore(project)
    view = store.load()
    assert view.board.curve == ((1, 45.0),)
    assert len(view.board.dropped) == 1


async def test_a_scoreboard_without_a_score_shows_the_last_that_is_one(project: ProjectPaths) -> None:
    """FAULTS: non-finite values. The head names the version that the score is of, and no pane shows a zero."""
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    board.write_text(board.read_text().replace("\n    score: 65\n", "\n    score: .nan\n"))
    async with console(project) as (app, pilot):
        await until(app, pilot, lambda text: "score 45.00 of v1" in text.split("\n")[0])
        for key in "245":
            await pilot.press(key)
            text = await until(app, pilot, lambda text: "reading..." not in text)
            assert " 0.00" not in text.replace("+0.00", "")


def test_twenty_thousand_runs_are_parsed_once(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAULTS: O(N) parse on every command."""
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    one = yaml.safe_load(board.read_text())["evaluations"][1]
    case = {**one["cases"][0], "runs": one["cases"][0]["runs"] * 100}
    many = {**one, "cases": [{**case, "case": f"CASE-{number:03}-x"} for number in range(20)]}
    whole = {"evaluations": [{**many, "version": version} for version in range(1, 11)]}
    board.write_text(json.dumps(whole, default=str))
    parsed: list[Path] = []
    parse = scoreboard.parse_scoreboard

    def counted(text: str, path: Path) -> scoreboard.ScoreboardReading:
        parsed.append(path)
        return parse(text, path)

    monkeypatch.setattr(scoreboard, "parse_scoreboard", counted)
    store = ConsoleStore(project)
    rows = store.load().board.rows
    assert sum(row.version > 3 for row in rows) == 7
    store.load()
    assert parsed == [board]


async def test_two_hundred_levels_deep_open_and_close(project: ProjectPaths) -> None:
    """FAULTS: unbounded payload in a list view. Arguments nested 200 deep, and no recursion of ours ends on them."""
    agent = project.agent(AGENT)
    deep = json.dumps({"a": 1})
    for _ in range(200):
        deep = '{"k": [' + deep + "]}"
    call = records.tool_call("call_2", "run", deep)
    answer = records.tool_call_output("call_2", deep)
    write_trace(agent, "session-2026-01-04-00-00-00-00000001", "Dig deep.", call, answer)
    async with console(project) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "Dig deep." in text)
        await pilot.press("home", "enter")
        await until(app, pilot, lambda text: "run" in text and '"k"' in text)
        for _ in range(6):
            await pilot.press("down", "p")
            await pilot.pause()
        assert all(cell_len(line) <= 120 for line in screen_text(app).split("\n"))


# Layout


NAMES = (
    "CASE-011-" + "長" * 60, "CASE-012-" + "x" * 190, "CASE-013-e\u0301\u0301\u0301",
    "CASE-014-\U0001f468\u200d\U0001f469", "CASE-015-\u202e\u05d0\u05d1", "CASE-016-[/nope][red]",
)  # fmt: skip


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_columns_line_up_whatever_a_name_is_made_of(project: ProjectPaths, size: tuple[int, int]) -> None:
    """TERMINAL 4, theme 12: wide, combining, joined and reversed text, and names of 200 characters."""
    board = project.agent(AGENT).benchmark(BENCHMARK).scoreboard
    whole = yaml.safe_load(board.read_text())
    usual = whole["evaluations"][-1]["cases"][0]
    whole["evaluations"][-1]["cases"] += [{**usual, "case": name, "score": 60} for name in NAMES]
    board.write_text(json.dumps(whole, default=str, ensure_ascii=False), encoding="utf-8")
    for at, name in enumerate(NAMES):
        write_trace(project.agent(AGENT), f"session-2026-01-05-00-00-00-{at:08x}", f"{name} {ATTACK} " * 4)
    async with console(project, size) as (app, pilot):
        for key in "1345672":
            await pilot.press(key)
            await pilot.pause()
            lines = screen_text(app).split("\n")
            assert [line for line in lines if cell_len(line) > size[0]] == []
        text = await until(app, pilot, lambda text: text.count("60.00") >= 2 * 4)
        ends = {cell_len(line[: line.index("60.00")]) for line in text.split("\n") if "●  60.00    60.00" in line}
        assert len(ends) == 1, text


WALK: tuple[str, ...] = (
    "1", "2", "enter", "t", "escape", "escape", "3", "enter", "w", "w", "escape", "escape", "4", "p", "enter",
    "escape", "5", "t", "t", "6", "7", "question_mark", "escape", "comma", "escape", "colon", "escape",
)  # fmt: skip


@pytest.mark.parametrize("size", [(60, 15), (100, 15)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_screen_keeps_its_footer_in_the_smallest_terminal(
    project: ProjectPaths, size: tuple[int, int]
) -> None:
    """FAULTS: redraw storms, corruption after resize; the smallest size that is promised, each screen resized."""
    ask_for_freeze(project)
    async with console(project, size) as (app, pilot):
        for key in WALK:
            await pilot.press(key)
            lines = screen_text(app).split("\n")
            assert len(lines) == size[1]
            assert any(word in lines[-1] for word in ("quit", "help", "back")), key
            assert all(cell_len(line) <= size[0] for line in lines), key
        await pilot.press("4", "S")
        await until(app, pilot, lambda text: "Start: " in text)
        for resized in ((200, 60), (40, 10), (60, 15), size):
            await pilot.resize_terminal(*resized)
            await pilot.press("down", "tab")
        assert "next" in screen_text(app).split("\n")[-1]
        await pilot.press("escape")
        await pilot.pause()
        assert app.frame.query_one(MatrixPane) is not None


async def test_a_settings_file_of_ten_thousand_lines_is_named_and_not_used(
    project: ProjectPaths, tmp_path: Path
) -> None:
    """TERMINAL 4, theme 11: typos are neither silent nor fatal, however many."""
    from tui import settings

    file = tmp_path / "settings.toml"
    file.write_text("".join(f"name_{number} = {number}\n" for number in range(10_000)))
    loaded = settings.load(file)
    assert len(loaded.problems) == 10_000
    assert loaded.settings == settings.Settings()
    async with console(project, (80, 24), loaded=loaded) as (app, pilot):
        await until(app, pilot, lambda text: "name_0 is no setting" in text)
        await pilot.press("comma", "end")
        await until(app, pilot, lambda text: "Keys" in text)
        await pilot.press("escape")
