"""What the Trace pane stands on: filters, open traces over several files, lists of Sessions, lanes as cells, words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evolution.specs import OptimizeSpec
from core.state.paths import OPERATOR_AGENT, AgentPaths, ProjectPaths
from core.traces import records
from core.traces.search import Query
from core.traces.tokens import Tokens
from tests.tui.home import AGENT, BENCHMARK, cell, start_run
from tui.stores import trace_filter
from tui.stores.trace import OpenTrace
from tui.stores.trace_lanes import LaneRow, Mark, cells
from tui.stores.trace_lines import call_words
from tui.stores.trace_search import Finding, FoundEverywhere, find, find_everywhere
from tui.stores.trace_sessions import SessionsOfProject
from tui.stores.trace_whole import bytes_shown, laid_out, lean, size_of
from tui.stores.trace_words import count, duration, usd
from tui.widgets.spans import width_of

SESSION = "session-2026-01-05-10-00-00-abababab"
PENGUIN = Path(__file__).parents[1] / "fixtures" / "penguin-state" / "default_project"


def write(agent: AgentPaths, shard: int, *made: records.Record, session_id: str = SESSION) -> Path:
    path = agent.traces / "2026-01-05" / f"{session_id}_{shard:03d}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(
            b"".join(records.encode(one, f"2026-01-05T10:00:0{number % 10}.000Z") for number, one in enumerate(made))
        )
    return path


FIELDS = {"role": "target", "agent": "helper", "run": "optimize-2026 2", "status": "failed", "case": "CASE-001-gauge"}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", True),
        ("role:target", True),
        ("role:tar status:fail", True),
        ("role:evaluator", False),
        ("!role:evaluator", True),
        ("case:gauge agent:help", True),
        ("run:2", True),
        ("run:6", False),
        ("run:optimize", True),
        ("NO SUCH file", True),
        ("missing", False),
        ("!missing !role:builder", True),
        ('"no such file"', True),
        ('"file such no"', False),
        ("role:", True),
        ("other:thing", False),
        ('unclosed "quote', False),
    ],
)
def test_a_filter_holds_all_its_terms(query: str, wanted: bool) -> None:
    assert trace_filter.parse(query).lets(FIELDS, "Error: no such file") is wanted


@given(st.text(max_size=60))
def test_no_query_breaks_a_filter(query: str) -> None:
    trace_filter.parse(query).lets(FIELDS, "text")


def test_a_trace_of_several_files_is_one_and_follows_all_of_them(project: ProjectPaths) -> None:
    agent = project.agent(AGENT)
    turn = [records.request_begin(), records.assistant_text("needle one"), records.request_end()]
    write(agent, 1, records.user_text("Go"), *turn)
    write(agent, 2, *turn)
    trace = OpenTrace.begin(project, SESSION)
    list(trace.grow())
    assert (len(trace), list(trace.unfolded)) == (7, [0, 2, 5])
    finding = Finding(Query.of("needle"), SESSION)
    find(trace, finding, lambda done, total: None, lambda: None)
    assert (list(finding.numbers), finding.words(5)) == ([2, 5], "match 2 of 2")
    assert [finding.step(number, 1) for number in (0, 2, 5)] == [2, 5, 2]
    assert [finding.step(number, -1) for number in (0, 2, 5)] == [5, 5, 2]
    write(agent, 2, records.tool_call_output("c", "Error: no"))
    assert trace.refresh()
    assert trace.next_problem(0, 1) == 7
    write(agent, 3, records.assistant_text("In another file"))
    assert trace.refresh()
    assert (len(trace), trace.line(8).text) == (9, "In another file")
    assert not trace.refresh()
    write(agent, 1, records.assistant_text("late"))
    assert trace.refresh()
    assert [trace.line(number).text for number in (4, 6)] == ["late", "needle one"]
    assert trace.next_problem(0, 1) == 8
    trace.close()


def test_a_trace_that_is_left_while_it_is_read_is_closed_by_its_reader(project: ProjectPaths) -> None:
    write(project.agent(AGENT), 1, *[records.user_text("x" * 10_000) for _ in range(400)])
    trace = OpenTrace.begin(project, SESSION)
    assert not trace.is_whole
    steps = trace.grow()
    next(steps)
    trace.close()
    assert list(steps) == []
    assert list(trace.grow()) == []
    assert not trace.is_growing


def test_a_run_says_case_parent_and_failure_of_its_sessions(project: ProjectPaths) -> None:
    run = start_run(project, "optimize-20260105-100000-eeee", OptimizeSpec(agent_id=AGENT, benchmark_id=BENCHMARK))
    operator = project.agent(OPERATOR_AGENT)
    operator.config.parent.mkdir(parents=True, exist_ok=True)
    operator.config.write_text("{}")
    from core.evolution.events import EventName, Journal

    journal = Journal(run.journal)
    names = {
        role: f"session-2026-01-05-10-00-0{n}-abababab" for n, role in enumerate(("optimizer", "evaluator", "target"))
    }
    for role, session_id in names.items():
        agent = project.agent(AGENT) if role == "target" else operator
        write(agent, 1, records.request_begin(), records.assistant_text(role), session_id=session_id)
        cell_id = {} if role == "optimizer" else {"cell": "pilot-1-CASE-009-gauge"}
        journal.append(EventName.SESSION, role=role, session_id=session_id, agent_id=agent.id, **cell_id)
    failed = cell("CASE-009-gauge", "failed", failure_code="timeout", reason="out of time", session_id=names["target"])
    journal.append(EventName.CELL, **failed)
    *_, listing = SessionsOfProject(project).listings()
    rows = {row.role: row for row in listing.rows if row.run_id}
    assert rows["target"].parent == names["evaluator"]
    assert rows["evaluator"].parent == names["optimizer"]
    assert rows["optimizer"].title == f"{AGENT} / {BENCHMARK}"
    assert (rows["target"].state, rows["target"].reason) == ("failed", "out of time")
    assert rows["target"].about == "Target of CASE-009-gauge run 1 pilot 1"
    assert [row.depth for row in listing.below(names["optimizer"])] == [0, 1, 2]


def test_a_listing_reads_again_only_what_changed(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SessionsOfProject(project)
    *_, first = store.listings()
    assert first.is_counted
    read: list[str] = []

    def spied(agent: AgentPaths, shards: tuple[object, ...]) -> object:
        read.append(str(shards))
        return None

    monkeypatch.setattr("core.traces.project_sessions.read_head", spied)
    listings = list(store.listings())
    assert read == []
    assert listings[-1] == first
    monkeypatch.undo()
    write(project.agent(AGENT), 1, records.user_text("New here"))
    *_, more = store.listings()
    assert len(more.rows) == len(first.rows) + 1
    row = more.of(SESSION)
    assert row is not None
    assert row.title == "New here"


def test_foreign_loops_are_trees_too() -> None:
    *_, listing = SessionsOfProject(ProjectPaths(PENGUIN)).listings()
    optimizers = [row for row in listing.rows if row.role == "optimizer"]
    assert len(optimizers) == 2
    for optimizer in optimizers:
        below = listing.below(optimizer.session_id)
        assert [row.role for row in below] == ["optimizer", *["evaluator", "target"] * 2]
        assert {row.case_id for row in below[1:]} == {"CASE-001-dedupe"}
        assert all(row.cost and not row.unknown for row in below)


def test_all_traces_are_searched_newest_first_and_a_report_can_end_it(project: ProjectPaths) -> None:
    found = FoundEverywhere(Query.of("no such file"))
    find_everywhere(project, found, lambda done, total: None, lambda: None)
    assert found.is_whole
    assert [hit.session_id for hit in found.hits] == sorted((hit.session_id for hit in found.hits), reverse=True)
    assert found.words() == "4 in 4 of 4 Sessions"

    def end(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_everywhere(project, FoundEverywhere(Query.of("x")), end, lambda: None)


@given(
    marks=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 300)), max_size=12),
    width=st.integers(1, 60),
    window=st.tuples(st.integers(0, 900), st.integers(1, 400)),
)
def test_cells_hold_what_the_time_held(marks: list[tuple[int, int]], width: int, window: tuple[int, int]) -> None:
    begin, end = window[0], window[0] + window[1]
    row = LaneRow("model", "accent", tuple(Mark(s, s + n, "accent", "x", "s") for s, n in sorted(marks)), "")
    drawn = cells(row, begin, end, width)
    assert len(drawn) == width
    assert all(0 <= busy <= 1 for busy, _ in drawn)
    step = (end - begin) / width
    for number, (busy, _) in enumerate(drawn):
        left, right = begin + number * step, begin + (number + 1) * step
        inside = any(start < right - 0.01 and start + length > left + 0.01 for start, length in marks)
        assert not inside or busy > 0


def test_base64_is_named_and_depth_is_no_danger() -> None:
    assert size_of(2_900_000) == "2.9 MB"
    payload = {
        "source": {"mime_type": "image/png", "data": "QUJD" * 100},
        "url": "see data:image/gif;base64," + "QUJD" * 30,
    }
    assert lean(payload) == {
        "source": {"mime_type": "image/png", "data": "<image/png 300 B>"},
        "url": "see <image/gif 90 B>",
    }
    deep = json.loads("[" * 900 + "]" * 900)
    assert laid_out(lean(deep))


@given(st.dictionaries(st.text(max_size=5), st.recursive(st.text() | st.integers() | st.none(), st.lists), max_size=4))
def test_what_is_laid_out_holds_every_text(value: dict[str, object]) -> None:
    told = laid_out(value)
    for key, item in value.items():
        assert key in told
        if isinstance(item, str):
            assert all(line in told for line in item.split("\n"))


def test_bytes_are_text_or_hexadecimal() -> None:
    assert bytes_shown(b"caf\xc3\xa9", 5) == ("caf\u00e9",)
    assert bytes_shown("caf\u00e9".encode()[:4], 400)[0] == "caf"
    assert bytes_shown(b"\xff\xfe\0", 3)[0].startswith("00000000  ff fe 00")


@given(st.integers(0, 10**12))
def test_numbers_keep_to_their_columns(number: int) -> None:
    assert width_of(count(number)) <= 5
    assert width_of(duration(min(number, 359_999_000))) <= 8
    assert usd(None) == ""
    assert usd(0.0, 1) == "?"
    assert usd(0.0) == "$0"
    assert usd(1.5, 2) == "$1.50+?"
    assert Tokens(1, 2, 3).total == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"description": "Do what AGENTS.md asks", "cmd": "cat a\\nwc b"}', "Do what AGENTS.md asks: cat a\nwc b"),
        ('{"file_path": "menu.md", "offset": 3}', "menu.md, offset 3"),
        ('{"items": [{"item": 1}], "note": "so"}', 'items [{"item": 1}], note so'),
        ("{}", ""),
        ('{"description": "Copy", "cmd": "place() {\\n  for x', "Copy, place() {   for x"),
        ('{"items": [{"item": 1, "poi', 'items [{"item": 1, "poi'),
        ("no JSON", "no JSON"),
        ("[1, 2]", "[1, 2]"),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_a_row_of_a_call_begins_with_what_it_is_for(arguments: str, words: str) -> None:
    assert call_words(arguments) == words


def test_a_search_says_whether_it_has_ended() -> None:
    found = FoundEverywhere(Query.of("zebra"))
    assert found.words() == "still looking"
    found.is_ended = True
    assert found.words() == "ended before anything was found"
    found.is_ended, found.is_whole, found.sessions = False, True, 168
    assert found.words() == "nowhere in 168 Sessions"
