"""Sessions are listed as the existing system lists them, and cheaply."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from core.state.paths import AgentPaths
from core.traces import records
from core.traces.listing import by_date, list_sessions, page, read_head, session_head
from core.traces.markers import is_steering, title_of, without_markers
from core.traces.shards import session_shards
from core.traces.writer import TraceWriter

FIXTURES = Path(__file__).parents[1] / "fixtures"
AGENTS = FIXTURES / "penguin-state" / "default_project" / "agents"
STAMP = "2026-01-01T00:00:00.000Z"


def golden(name: str) -> Any:
    return json.loads((FIXTURES / "penguin-golden" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("agent_id", ["default_agent", "csv_helper"])
def test_lists_equal_the_existing_systems(agent_id: str) -> None:
    heads = list_sessions(AgentPaths(AGENTS / agent_id))
    assert by_date(heads) == golden(f"traces__{agent_id}.json")
    assert page(heads) == golden(f"traces_page__{agent_id}.json")


def test_a_page_is_part_of_the_whole() -> None:
    heads = list_sessions(AgentPaths(AGENTS / "default_agent"))
    part = page(heads, offset=2, limit=3)
    assert [row["sessionId"] for row in part["sessions"]] == [head.session_id for head in heads[2:5]]
    assert part["totalSessions"] == 19


def test_what_is_no_shard_is_not_listed_and_any_date_directory_is_one() -> None:
    agent = AgentPaths(FIXTURES / "penguin-edge" / "default_project" / "agents" / "edge_agent")
    assert [head.session_id[-2:] for head in list_sessions(agent)] == ["09", "08", "07", "05", "03"]


def test_an_agent_without_traces_has_no_sessions(tmp_path: Path) -> None:
    assert list_sessions(AgentPaths(tmp_path / "none")) == ()
    assert session_head(AgentPaths(tmp_path / "none"), "s") is None


def write(path: Path, *written: records.Record) -> None:
    with TraceWriter(path) as trace:
        for record in written:
            trace.append(record, STAMP)


def meta(session_id: str, source: str | None = None) -> records.Record:
    return records.session_meta(
        session_id=session_id,
        provider="p",
        model_id="m",
        model_context_window=None,
        system_prompt="",
        agent_state="/a",
        workspace="/w",
        source=source,
    )


def test_shards_in_several_directories_are_one_session(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path)
    write(agent.traces / "junk" / "s_002.jsonl", meta("s"))
    write(agent.traces / "2026-01-02" / "s_001.jsonl", meta("s", "schedule"), records.user_text("hello"))
    (head,) = list_sessions(agent)
    assert (head.title, head.category) == ("hello", "schedule")
    assert [(shard.index, shard.date) for shard in head.files] == [(1, "2026-01-02"), (2, "junk")]
    assert [date["date"] for date in by_date([head])["dates"]] == ["junk", "2026-01-02"]


def test_empty_and_broken_files_are_listed(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path)
    day = agent.traces / "2026-01-01"
    day.mkdir(parents=True)
    (day / "empty_001.jsonl").write_bytes(b"")
    (day / "nul_001.jsonl").write_bytes(b"\0" * 300)
    (day / "list_001.jsonl").write_bytes(b'[1]\n{"type":"session_meta","payload":3}\n{"type":"x","payload":{}}\n')
    (day / "fifo_001.jsonl").mkdir()
    assert [(head.session_id, head.title, head.workspace) for head in list_sessions(agent)] == [
        ("nul", "", ""),
        ("list", "", ""),
        ("empty", "", ""),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_listed_with_its_fault(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path)
    path = agent.traces / "d" / "s_001.jsonl"
    write(path, meta("s"))
    path.chmod(0)
    (head,) = list_sessions(agent)
    assert "Permission denied" in head.fault


def test_a_file_that_goes_while_it_is_listed_is_left_out(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path)
    path = agent.traces / "d" / "s_001.jsonl"
    write(path, meta("s"))
    shards = session_shards(agent, "s")
    path.unlink()
    assert read_head(agent, shards) is None


def test_known_heads_are_not_read_again_and_follow_the_files(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path)
    path = agent.traces / "2026-01-01" / "s_001.jsonl"
    write(path, meta("s"))
    before = {head.session_id: head for head in list_sessions(agent)}
    assert before["s"].title == ""
    write(path, records.user_text("first"), records.tool_list_ready([]))
    assert list_sessions(agent, before)[0].title == "first"
    complete = {"s": list_sessions(agent)[0]}
    assert not complete["s"].is_complete  # no tool is known: it is looked at again

    write(path, ("event_msg", {"type": "tool_list_ready", "tools": [{"name": "read_file"}, 7, {"name": 3}]}))
    path.write_bytes(path.read_bytes().replace(b'{"type":"tool_list_ready","tools":[]}', b'{"type":"x"}'))
    complete = {"s": list_sessions(agent)[0]}
    assert complete["s"].tools == {"read_file"}
    marked = {"s": complete["s"].__class__(**{**_fields(complete["s"]), "title": "kept"})}
    write(path, records.request_begin())
    (again,) = list_sessions(agent, marked)
    assert again.title == "kept"
    assert again.size == path.stat().st_size
    path.write_bytes(b"")
    assert list_sessions(agent, marked)[0].title == ""


def _fields(head: Any) -> dict[str, Any]:
    return {name: getattr(head, name) for name in head.__slots__}


def test_a_title_behind_a_megabyte_is_not_looked_for(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path)
    path = agent.traces / "d" / "s_001.jsonl"
    write(path, records.user_text("word " * 600_000))
    (head,) = list_sessions(agent)
    assert head.title == ""  # the one line is not even indexed yet
    write(agent.traces / "d" / "t_001.jsonl", records.user_text("word " * 100_000))
    assert list_sessions(agent)[0].title == "word word word word word word"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("  a\n\n b\t", "a b"),
        ("x" * 40, "x" * 30),
        ("a" * 30 + " b", "a" * 30),
        ("a" * 29 + " bcd", "a" * 29),
        ("a" * 28 + " bcd", "a" * 28),
        ("[goal]\nsay [/goal] here\n[/goal]\n\nMake it", "Make it"),
        ("[use_skills]\nx\n[/use_skills]\nDo it", "Do it"),
        ("<summary>old form</summary> then", "then"),
        ("[user_steering]\nturn left\n[/user_steering]", "turn left"),
        ("[user_steering]\nturn left", "[user_steering] turn left"),
        ("[attached file: a.txt]\nread it", "read it"),
        ("[summary] never closed", "[summary] never closed"),
        ("ab\u4e2d" * 20, "ab\u4e2d" * 10),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert title_of(text) == title


def test_a_hostile_prompt_gives_a_title_in_time() -> None:
    assert title_of("[summary]" * 600_000)[:18] == "[summary][summary]"


def test_steering_needs_its_end() -> None:
    assert is_steering("[user_steering]\nx\n[/user_steering]")
    assert is_steering("<user_steering>x</user_steering>")
    assert not is_steering("[user_steering]\nx")
    assert not is_steering("say [user_steering]x[/user_steering]")
    assert without_markers("a [attached image: x] b") == "a [attached image: x] b"
