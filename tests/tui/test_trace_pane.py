"""Pane 3: the tree of Sessions, records folded and whole, lanes, searches, failures, copies, exports, live files."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from core.state.paths import OPERATOR_AGENT, AgentPaths, ProjectPaths
from core.traces import records
from core.traces.parsing import Entry, parse_line
from core.traces.shards import new_trace_path
from core.traces.tokens import Tokens
from tests.tui.driving import console, screen_text, until
from tests.tui.home import AGENT
from tui.console import Console
from tui.screens.panes.trace import TracePane
from tui.screens.panes.trace_list import TraceLines, with_end_of_path
from tui.stores.trace import OpenTrace
from tui.widgets import prompt

SIZES = [(80, 24), (120, 40), (200, 60)]
EVALUATOR, TARGET = "session-2026-01-03-10-00-00-eeeeeeee", "session-2026-01-03-10-00-01-ffffffff"
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202eevil\x00[/nope][red]\x1bP1$q\x1b\\"


@pytest.fixture(autouse=True)
def no_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


def at(second: float) -> str:
    return f"2026-01-03T10:{int(second) // 60:02d}:{second % 60:06.3f}Z"


def meta(session_id: str, source: str | None = None) -> records.Record:
    return records.session_meta(
        session_id=session_id,
        provider="rehearsal",
        model_id="rehearsal-1",
        model_context_window=10_000,
        system_prompt="Help.\nBe careful.",
        agent_state="/agents/helper/agent_state",
        workspace=f"/workspaces/{session_id}",
        source=source,
    )


def turn(call: records.Record, answer: records.Record, call_id: str) -> list[records.Record]:
    return [
        records.request_begin(),
        call,
        records.approval_decision("allow", call_id),
        records.token_usage(Tokens(100, 200, 50), Tokens(100, 200, 50)),
        records.request_end(),
        answer,
    ]


def write(agent: AgentPaths, session_id: str, made: list[records.Record], *, tail: bytes = b"") -> Path:
    path = new_trace_path(agent, session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(records.encode(one, at(0.5 * number)) for number, one in enumerate(made)) + tail)
    return path


@pytest.fixture
def target(project: ProjectPaths) -> Path:
    """An Evaluator's Session that launched a Target, whose trace this is."""
    launched = json.dumps({"ok": True, "session_id": TARGET})
    fields = "protocol_version: 1\ncase_id: CASE-009-gauge\nrun: 2\nexpected_version: 7\n"
    operator = project.agent(OPERATOR_AGENT)
    operator.config.parent.mkdir(parents=True, exist_ok=True)
    operator.config.write_text("{}")
    write(
        operator,
        EVALUATOR,
        [
            meta(EVALUATOR, "subagent"),
            records.user_text(fields, sender="parent_agent"),
            *turn(
                records.tool_call("c1", "launch_target", "{}"), records.tool_call_output("c1", launched), "c1"
            ),
            records.request_begin(),
            records.assistant_text("score: 40"),
            records.request_end(),
        ],
    )  # fmt: skip
    ask = records.tool_call("c1", "exec_command", json.dumps({"cmd": "cat notes.md\ngrep caf\u00e9 menu"}))
    return write(
        project.agent(AGENT),
        TARGET,
        [
            meta(TARGET),
            records.user_text("Read README.md in the current Workspace."),
            records.tool_list_ready([]),
            *turn(ask, records.tool_call_output("c1", "Error: no such file"), "c1"),
            *turn(
                records.tool_call("c2", "read_file", '{"file_path": "menu.md"}'),
                records.tool_call_output("c2", "the caf\u00e9 is \"open\"\nall day"),
                "c2",
            ),
            records.request_begin(),
            records.assistant_text("Done: see the menu."),
            records.request_end(),
        ],
    )  # fmt: skip


def pane(app: Console) -> TracePane:
    return app.frame.query_one(TracePane)


async def open_target(app: Console, pilot: Pilot[int]) -> str:
    """Open the Target's trace from the tree."""
    await pilot.press("3")
    await until(app, pilot, lambda text: "Evaluator" in text and pane(app).listing.is_counted)
    pane(app).sessions.go_to(TARGET)
    await pilot.press("enter")
    return await until(app, pilot, lambda text: "Error: no such file" in text and "18 records" in text)


def holds(words: tuple[str, ...], text: str) -> bool:
    return all(word in text for word in words)


async def typed(pilot: Pilot[int], text: str) -> None:
    """Type a text into the prompt line and send it."""
    named = {" ": "space", ":": "colon", '"': "quotation_mark", "-": "minus", "!": "exclamation_mark", "/": "slash",
             ".": "full_stop", "_": "underscore"}  # fmt: skip
    await pilot.press(*(named.get(char, char) for char in text), "enter")


# The tree


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_tree_tells_of_each_session_what_it_was_for_and_who_started_it(
    project: ProjectPaths, target: Path, size: tuple[int, int]
) -> None:
    async with console(project, size) as (app, pilot):
        await pilot.press("3")
        text = await until(app, pilot, lambda text: "6 Sessions" in text and pane(app).listing.is_counted)
        rows = pane(app).listing.rows
        above = next(row for row in rows if row.session_id == EVALUATOR)
        below = next(row for row in rows if row.session_id == TARGET)
        assert (above.role, above.case_id, above.run, above.version) == ("evaluator", "CASE-009-gauge", 2, 7)
        assert (below.role, below.parent, below.depth, below.state) == ("target", EVALUATOR, 1, "done")
        assert (below.tokens, below.unknown, below.ms) == (700, 3, 8_500)
        assert "CASE-009" in text
        assert "Evaluator of CASE-009-gauge run 2 v7" in text or "CASE-001" in text
        assert all(len(line) <= size[0] for line in text.split("\n"))


async def test_the_tree_is_filtered_by_fields_and_words_and_grouped(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text and pane(app).listing.is_counted)
        await pilot.press("slash")
        await typed(pilot, "role:eval !case:001")
        text = await until(app, pilot, lambda text: "1 of 6" in text)
        assert "Evaluator" in text
        await pilot.press("slash", *["backspace"] * 30)
        await typed(pilot, "status:running")
        await until(app, pilot, lambda text: "0 of 6" in text and "No Session is like that" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "of 6" not in text and "6 Sessions" in text)
        for words in (
            ("by run", "no run"),
            ("by agent", AGENT),
            ("by role", "evaluator  1 Session"),
            ("by status", "done  6"),
        ):
            await pilot.press("s")
            await until(app, pilot, partial(holds, words))
        await pilot.press("s")
        await until(app, pilot, lambda text: "by status" not in text)


async def test_what_a_session_started_can_be_hidden_and_its_parent_reached(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text and pane(app).listing.is_counted)
        tree = pane(app).sessions
        tree.go_to(TARGET)
        await pilot.press("e")
        assert tree.row is not None
        assert tree.row.session_id == EVALUATOR
        await pilot.press("left")
        assert TARGET not in [tree.row_key(n) for n in range(tree.row_count())]
        await until(app, pilot, lambda text: "Evaluator+" in text)
        await pilot.press("right")
        assert TARGET in [tree.row_key(n) for n in range(tree.row_count())]


async def test_a_session_that_appears_or_goes_on_is_listed(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text)
        write(project.agent(AGENT), "session-2026-01-04-10-00-00-aaaaaaaa", [records.user_text("Newly come")])
        await until(app, pilot, lambda text: "7 Sessions" in text and "Newly come" in text)
        row = pane(app).listing.of("session-2026-01-04-10-00-00-aaaaaaaa")
        assert row is not None
        assert (row.state, row.title) == ("running", "Newly come")


async def test_a_home_without_traces_says_what_to_do(tmp_path: Path) -> None:
    project = ProjectPaths(tmp_path / "default_project")
    project.agents.mkdir(parents=True)
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "exuvia demo" in text and "record by record" in text)
        for key in ("t", "w", "n", "f", "e", "p", "a", "left", "plus", "b", "E", "y", "Y", "v"):
            await pilot.press(key)
        await until(app, pilot, lambda text: "3 Trace" in text)


# Records


async def test_bookkeeping_is_folded_into_the_rows_until_it_is_asked_for(project: ProjectPaths, target: Path) -> None:
    async with console(project, (200, 60)) as (app, pilot):
        text = await open_target(app, pilot)
        assert "asks" not in text
        assert "policy" not in text
        row = next(line for line in text.split("\n") if "exec_command" in line)
        assert "500 ms" in row  # from the request's beginning to the call
        assert "350" in row or ("200" in row and "100" in row and "50" in row)
        await pilot.press("a")
        text = await until(app, pilot, lambda text: "all 18 records" in text)
        assert "asks" in text
        assert "policy" in text
        assert "tokens" in text
        await pilot.press("a")
        await until(app, pilot, lambda text: " asks " not in text)


async def test_a_launch_leads_to_the_session_it_started_and_b_leads_back(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("e")
        await until(app, pilot, lambda text: "Evaluator of CASE-009-gauge run 2 v7" in text and "launch_target" in text)
        pane(app).lines.go_to(3)
        await until(app, pilot, lambda text: "Enter opens the Session it started" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "Target" in text and "Error: no such file" in text)
        await pilot.press("b")
        await until(app, pilot, lambda text: "launch_target" in text)
        assert pane(app).lines.number == 3
        await pilot.press("b", "b")
        await until(app, pilot, lambda text: "6 Sessions" in text)


async def test_t_changes_between_the_tree_and_the_records(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("t")
        await until(app, pilot, lambda text: "6 Sessions" in text)
        row = pane(app).sessions.row
        assert row is not None
        assert row.session_id == TARGET
        await pilot.press("t")
        await until(app, pilot, lambda text: "18 records" in text)


async def test_f_finds_failures_and_says_where_there_is_none(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("f")
        assert pane(app).lines.number == 8
        await pilot.press("f")
        await until(app, pilot, lambda text: "No record after this one failed." in text)
        await pilot.press("F")
        await until(app, pilot, lambda text: "No record before this one failed." in text)


async def test_where_nothing_failed_f_says_who_knows_why_the_score_is_low(project: ProjectPaths, target: Path) -> None:
    target.write_bytes(target.read_bytes().replace(b"Error: no such file", b"menu.md notes.md"))
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "Evaluator" in text and pane(app).listing.is_counted)
        pane(app).sessions.go_to(TARGET)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "18 records" in text)
        await pilot.press("f")
        await until(app, pilot, lambda text: holds(("No record of this trace failed.", "e opens its Evaluator"), text))
        await pilot.press("e")
        await until(app, pilot, lambda text: "launch_target" in text and pane(app).sight == "records")


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("read_file README.md", 10, "read_file README.md"),
        ("read_file /home/someone/agents/helper/skills/tidy/SKILL.md", 80, None),
        ("read_file /home/someone/agents/helper/skills/tidy/SKILL.md", 40, "read_file …/helper/skills/tidy/SKILL.md"),
        ("a " * 30 + "/home/someone/agents/helper/skills/tidy/SKILL.md", 40, None),
        ("cat /home/someone/agents/helper/skills/tidy/SKILL.md | wc", 5, "cat …/tidy/SKILL.md | wc"),
    ],
)
def test_of_a_long_path_the_end_is_shown(text: str, room: int, shown: str | None) -> None:
    assert with_end_of_path(text, room) == (text if shown is None else shown)


async def test_a_record_is_shown_raw_copied_and_read_in_a_pager(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        pane(app).lines.go_to(4)
        text = await until(app, pilot, lambda text: "cmd:" in text)
        assert "grep caf\u00e9 menu" in text
        await pilot.press("p")
        await until(app, pilot, lambda text: '{"timestamp":"2026-01-03' in text and "raw" in text)
        raw = target.read_bytes().split(b"\n")[4].decode()
        assert pane(app).copied(whole=True) == (raw, "record 4")
        assert pane(app).copied(whole=False) == (TARGET, "the Session's id")
        assert pane(app).reading() == raw
        await pilot.press("p")
        assert pane(app).reading().startswith("exec_command\ncmd:\n  cat notes.md")


async def test_export_asks_where_to_and_replaces_nothing(project: ProjectPaths, target: Path, tmp_path: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        for told in ("Wrote 1 file", "_001.jsonl exis"):
            await pilot.press("E", "ctrl+u")
            app.frame.query_one(prompt.Prompt)._typed = str(tmp_path / "out")
            await pilot.press("enter")
            await until(app, pilot, partial(holds, (told,)))
        assert (tmp_path / "out" / target.name).read_bytes() == target.read_bytes()


# Searching


async def test_a_text_is_found_marked_and_stepped_through(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("slash")
        await typed(pilot, "caf\u00e9")
        await until(app, pilot, lambda text: "match 1 of 2" in text)
        assert pane(app).lines.number == 4
        await pilot.press("n")
        await until(app, pilot, lambda text: "match 2 of 2" in text)
        assert pane(app).lines.number == 14
        await pilot.press("n")
        await until(app, pilot, lambda text: "From the other end" in text and "match 1 of 2" in text)
        await pilot.press("N")
        assert pane(app).lines.number == 14
        line = pane(app).lines.row_lines(pane(app).lines.cursor, 100)[0]
        assert ("caf\u00e9", "found") in line
        await pilot.press("escape")
        await until(app, pilot, lambda text: "match" not in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "Nothing is looked for" in text)


async def test_a_match_in_the_bookkeeping_unfolds_it(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("slash")
        await typed(pilot, "nowhere to be seen")
        await until(app, pilot, lambda text: "is nowhere in this trace" in text)
        await pilot.press("slash", "ctrl+u")
        await typed(pilot, '"open" all')
        await until(app, pilot, lambda text: "match 1 of 1" in text)
        await pilot.press("slash", "ctrl+u")
        await typed(pilot, "allow")
        await until(app, pilot, lambda text: "match 1 of 2" in text and "all 18 records" in text)
        assert pane(app).lines.number == 5


async def test_a_text_is_found_in_all_traces_and_each_place_can_be_gone_to(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text and pane(app).listing.is_counted)
        await pilot.press("asterisk")
        await typed(pilot, "no such file")
        text = await until(app, pilot, lambda text: "5 in 5 of 6 Sessions" in text)
        assert "Error: no such file" in text
        first = pane(app).everywhere
        assert first is not None
        assert first.hits[0].session_id == TARGET
        await pilot.press("enter")
        await until(app, pilot, lambda text: "match 1 of 1" in text and "18 records" in text)
        assert pane(app).lines.number == 8
        await pilot.press("escape")
        await until(app, pilot, lambda text: "5 in 5 of 6" in text)
        await pilot.press("down", "enter")
        await until(app, pilot, lambda text: "4 records" in text)
        assert pane(app).lines.number == 2
        await pilot.press("b", "b")
        await until(app, pilot, lambda text: "6 Sessions" in text)


async def test_a_search_without_a_result_says_that_all_was_looked_through(project: ProjectPaths, target: Path) -> None:
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text and pane(app).listing.is_counted)
        await pilot.press("asterisk")
        await typed(pilot, "zebra")
        text = await until(app, pilot, lambda text: "nowhere in 6 Sessions" in text and "All 6 Sessions" in text)
        assert "no trace holds 'zebra'" in text


async def test_a_result_deep_in_a_record_opens_at_its_words_and_is_copied_with_its_place(
    project: ProjectPaths, target: Path
) -> None:
    other = "session-2026-01-05-10-00-00-dddddddd"
    kind, payload = meta(other)
    prompt = "\n".join([*(f"Rule {number}." for number in range(200)), "Mind the zebra."])
    write(project.agent(AGENT), other, [(kind, {**payload, "system_prompt": prompt}), records.user_text("Hello.")])
    async with console(project, (80, 24)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "7 Sessions" in text and pane(app).listing.is_counted)
        await pilot.press("asterisk")
        await typed(pilot, "zebra")
        await until(app, pilot, lambda text: "1 in 1 of 7 Sessions" in text)
        copied = pane(app).copied(whole=True)
        assert copied is not None
        assert holds((other, "record 0", "Mind the zebra."), copied[0])
        await pilot.press("enter")
        text = await until(app, pilot, lambda text: "match 1 of 1" in text and "Mind the zebra." in text)
        assert "Rule 199." in text


# Lanes


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_lanes_show_a_session_over_time_then_all_it_started(
    project: ProjectPaths, target: Path, size: tuple[int, int]
) -> None:
    async with console(project, size) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text and pane(app).listing.is_counted)
        pane(app).sessions.go_to(EVALUATOR)
        await pilot.press("w")
        text = await until(app, pilot, lambda text: "over time" in text and "idle" in text and "tools" in text)
        assert "context" in text
        assert "2 requests" in text
        assert "not counted" in text
        view = pane(app).lanes.view
        assert view is not None
        assert [row.name for row in view.rows] == ["model", "tools", "approvals", "idle"]
        await pilot.press("right", "right")
        await until(app, pilot, lambda text: "record 9 of" in text)
        await pilot.press("plus", "minus", "down")
        await pilot.press("w")
        text = await until(app, pilot, lambda text: "2 Sessions" in text and "with all it started" in text)
        assert "evaluator" in text
        assert "target" in text
        await pilot.press("down", "enter")
        await until(app, pilot, lambda text: "18 records" in text)


async def test_enter_on_a_mark_or_a_request_opens_its_record(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("w")
        await until(app, pilot, lambda text: "over time" in text)
        await pilot.press("right", "enter")
        await until(app, pilot, lambda text: "over time" not in text)
        assert pane(app).lines.number == 10
        await pilot.press("w")
        await until(app, pilot, lambda text: "over time" in text)
        await pilot.press("tab", "end", "enter")
        await until(app, pilot, lambda text: "over time" not in text)
        assert pane(app).lines.number in (15, 16)
        await pilot.press("w")
        await until(app, pilot, lambda text: "over time" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "over time" not in text and "18 records" in text)


# Live, torn and hostile files


async def test_a_live_trace_is_followed_at_its_end_and_can_be_held(project: ProjectPaths, target: Path) -> None:
    def append(text: str) -> None:
        with target.open("ab") as file:
            file.write(records.encode(records.assistant_text(text), at(60)))

    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("G")
        append("One more thing.")
        await until(app, pilot, lambda text: "One more thing." in text and "19 records" in text)
        assert pane(app).lines.number == 18
        await pilot.press("space")
        append("And another.")
        await until(app, pilot, lambda text: "held +1 new" in text)
        assert pane(app).lines.row_count() < len(pane(app).trace or ())
        await pilot.press("space")
        await until(app, pilot, lambda text: "And another." in text and "held" not in text)
        await pilot.press("home")
        append("A third.")
        await until(app, pilot, lambda text: "21 records" in text)
        assert pane(app).lines.number == 0


async def test_a_trace_that_is_replaced_or_vanishes_says_so(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await open_target(app, pilot)
        await pilot.press("G")
        other = target.with_suffix(".new")
        other.write_bytes(records.encode(records.user_text("Another story."), at(1)))
        other.rename(target)
        await until(
            app, pilot, lambda text: "Another story." in text and "1 records" in text and "was replaced" in text
        )
        target.unlink()
        await until(app, pilot, lambda text: "its file is gone" in text)
        assert "Another story." in screen_text(app)


async def test_gaps_and_torn_ends_are_shown_with_their_bytes(project: ProjectPaths, target: Path) -> None:
    lines = target.read_bytes().split(b"\n")
    lines[4] = lines[4][:80]
    lines[6] = b"\0" * 300
    lines[7] = b""
    raw = b"\n".join(lines) + b'{"timestamp":"2026-01-03T10:01:00.000Z","type":"model_msg","payl'
    target.write_bytes(raw)
    async with console(project, (200, 60)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text)
        pane(app).sessions.go_to(TARGET)
        await pilot.press("enter")
        text = await until(app, pilot, lambda text: "4 failed" in text and "gap" in text)
        start = sum(len(line) + 1 for line in lines[:4])
        assert f"bytes {start} to {start + 80}: not json" in text
        assert "nul 300 NUL bytes" in text
        await pilot.press("f", "f")
        assert pane(app).lines.number == 6
        await until(app, pilot, lambda text: "00000000  00 00 00" in text)
        await pilot.press("G", "p")
        assert (trace := pane(app).trace) is not None
        assert trace.tail_gap.startswith("bytes ")


async def test_a_trace_that_cannot_be_found_leaves_the_pane_as_it_was(project: ProjectPaths, target: Path) -> None:
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "6 Sessions" in text and pane(app).listing.is_counted)
        pane(app).sessions.go_to(TARGET)
        target.unlink()
        await pilot.press("enter")
        await until(app, pilot, lambda text: "There is no" in text)
        await pilot.press("down")


async def test_large_outputs_and_pictures_are_shown_by_their_size(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    picture = "data:image/png;base64," + "QUJD" * 1_000_000
    write(
        agent,
        TARGET,
        [
            records.user_text("Look"),
            records.tool_call_output("c1", "x" * 5_000_000),
            ("model_msg", {"type": "image_url", "role": "user", "image_url": {"url": picture}}),
            records.tool_call_output("c2", "small " + "data:image/gif;base64," + "QUJD" * 50),
            ("event_msg", {"type": "deep", "at": json.loads("[" * 200 + "]" * 200)}),
        ],
    )
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "5 Sessions" in text)
        pane(app).sessions.go_to(TARGET)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "5 records" in text)
        pane(app).lines.go_to(1)
        await until(app, pilot, lambda text: "record 1" not in text and "xxxx" in text)
        trace = pane(app).trace
        assert trace is not None
        assert any("5.0 MB in all" in line and "v reads it whole" in line for line in trace.detail(1))
        assert len(trace.reading(1)) == 5_000_000
        assert "<image/png 3.0 MB>" in trace.line(2).text
        assert "<image/gif 150 B>" in trace.line(3).text
        assert len(trace.detail(4)) < 60
        for _ in range(3):
            await pilot.press("down")
        await until(app, pilot, lambda text: "image/gif 150 B" in text)


async def test_a_long_trace_is_not_parsed_to_be_opened(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = project.agent(AGENT)
    many = [one for number in range(3_400) for one in turn(
        records.tool_call("c", "exec_command", "{}"), records.tool_call_output("c", f"page {number}"), "c"
    )]  # fmt: skip
    path = new_trace_path(agent, TARGET)
    path.parent.mkdir(parents=True, exist_ok=True)
    failed = records.tool_call_output("c", "Error: the ledger is locked")
    path.write_bytes(b"".join(records.encode(one, at(1)) for one in (*many, failed, records.assistant_text("End."))))
    parsed = 0

    def counted(raw: bytes, *, line: int, start: int) -> Entry:
        nonlocal parsed
        parsed += 1
        return parse_line(raw, line=line, start=start)

    monkeypatch.setattr("core.traces.reader.parse_line", counted)
    trace = OpenTrace.begin(project, TARGET, "about", AGENT)
    assert 0 < len(trace) < 20_402
    for _ in trace.grow():
        pass
    assert len(trace) == 20_402
    assert parsed <= 2
    for number in trace.unfolded[:40]:
        trace.line(number)
        trace.facts(number)
    assert parsed < 300
    assert trace.next_problem(0, 1) == 20_400
    assert parsed < 300
    trace.close()


async def test_nothing_an_agent_wrote_reaches_the_terminal_from_any_view(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    path = write(
        agent,
        TARGET,
        [
            ("session_meta", {**meta(TARGET)[1], "model_id": EVIL, "workspace": EVIL}),
            records.user_text(EVIL),
            *turn(records.tool_call("c1", EVIL, EVIL), records.tool_call_output("c1", EVIL), "c1"),
            records.abort(EVIL),
        ],
        tail=EVIL.encode("utf-8", "surrogatepass") + b"\xff\n",
    )
    assert path.is_file()
    async with console(project, (120, 40)) as (app, pilot):
        await pilot.press("3")
        await until(app, pilot, lambda text: "5 Sessions" in text)
        pane(app).sessions.go_to(TARGET)
        seen = screen_text(app)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "failed" in text and "records" in text)
        for keys in (("down",), ("down",), ("p",), ("G",), ("p",), ("a",), ("w",), ("right",), ("w",), ("b",)):
            await pilot.press(*keys)
            await pilot.pause()
            seen += screen_text(app)
        await pilot.press("asterisk")
        await typed(pilot, "owned")
        seen += await until(app, pilot, lambda text: "in 1 of 5" in text)
        await pilot.press("enter")
        await pilot.pause()
        seen += screen_text(app)
        assert not [char for char in seen if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]
        assert "\u202e" not in seen
        assert "[/nope]" in seen


def test_lists_without_a_trace_have_no_rows() -> None:
    assert TraceLines(id="x").row_count() == 0
