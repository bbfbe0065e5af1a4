"""A trace goes out and in as the bytes it is, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, DamagedError, ExuviaError, NotFoundError, UsageError
from core.state.paths import AgentPaths, ProjectPaths
from core.traces import records
from core.traces.listing import list_sessions
from core.traces.transfer import export_trace, import_trace

SAMPLE = Path(__file__).parents[1] / "fixtures" / "penguin-state" / "default_project" / "agents" / "default_agent"
ROTATED = "session-2026-11-30-20-17-13-72e65cb6"


def agent_in(root: Path, agent_id: str = "a") -> AgentPaths:
    agent = ProjectPaths(root).agent(agent_id)
    agent.state.mkdir(parents=True)
    agent.config.touch()
    return agent


def meta(session_id: str, timestamp: str = "2026-03-04T12:00:00.000Z") -> bytes:
    record = records.session_meta(
        session_id=session_id,
        provider="p",
        model_id="m",
        model_context_window=None,
        system_prompt="",
        agent_state="/a",
        workspace="/w",
    )
    return records.encode(record, timestamp)


def test_every_shard_goes_out_byte_for_byte(tmp_path: Path) -> None:
    copies = export_trace(AgentPaths(SAMPLE), ROTATED, tmp_path / "out")
    assert [copy.name for copy in copies] == [f"{ROTATED}_001.jsonl", f"{ROTATED}_002.jsonl"]
    for copy in copies:
        assert copy.read_bytes() == next(SAMPLE.glob(f"traces/*/{copy.name}")).read_bytes()
    with pytest.raises(ConflictError):
        export_trace(AgentPaths(SAMPLE), ROTATED, tmp_path / "out")
    with pytest.raises(NotFoundError):
        export_trace(AgentPaths(SAMPLE), "none", tmp_path / "out")
    with pytest.raises(UsageError):
        export_trace(AgentPaths(SAMPLE), "../../x", tmp_path / "out")


def test_what_went_out_comes_in_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    (first, _) = export_trace(AgentPaths(SAMPLE), ROTATED, tmp_path / "out")
    agent = agent_in(tmp_path / "p")
    path = import_trace(agent, first)
    assert path == agent.traces / "2026-11-30" / f"{ROTATED}_001.jsonl"
    assert path.read_bytes() == first.read_bytes()
    assert [head.title for head in list_sessions(agent)] == ["SCENARIO:compact process"]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_trailing_newlines_become_one(tmp_path: Path) -> None:
    for name, ending in {"none": b"", "lf": b"\n\n\n", "crlf": b"\r\n\n"}.items():
        agent = agent_in(tmp_path / name)
        assert import_trace(agent, meta("s").rstrip() + ending).read_bytes() == meta("s")


def test_a_session_of_any_agent_of_the_project_is_not_imported_twice(tmp_path: Path) -> None:
    one, two = agent_in(tmp_path, "one"), agent_in(tmp_path, "two")
    path = import_trace(one, meta("s"))
    for agent in (one, two):
        with pytest.raises(ConflictError, match="one has a session s"):
            import_trace(agent, meta("s") + records.encode(records.request_begin(), "t"))
    assert path.read_bytes() == meta("s")
    assert not two.traces.exists()


@pytest.mark.parametrize("unsafe", ["", "../s", "a/b", "x" * 129, "s\n", "sé", "."])
def test_an_unsafe_id_is_refused(tmp_path: Path, unsafe: str) -> None:
    with pytest.raises(UsageError, match="Not a session id"):
        import_trace(agent_in(tmp_path), meta(unsafe))
    assert not (tmp_path / "agents" / "a" / "traces").exists()


REQUEST = records.encode(records.request_begin(), "2026-03-04T12:00:00.000Z")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Line 1 of the trace is no record"),
        (REQUEST, "no session_meta"),
        (meta("s") + b"torn", "Line 2 of the trace is no record"),
        (meta("s") + b"\n" + REQUEST, "Line 2 of the trace is no record"),
        (meta("s") + b"[]\n" + REQUEST, "Line 2 of the trace is no record"),
        (meta("s") + REQUEST.replace(b"request_begin", b"request\xff"), "Line 2 of the trace is not UTF-8"),
        (meta("s", "yesterday"), "timestamp"),
    ],
)
def test_anything_but_a_whole_trace_is_refused_and_nothing_is_written(
    tmp_path: Path, content: bytes, message: str
) -> None:
    agent = agent_in(tmp_path)
    with pytest.raises(DamagedError, match=message):
        import_trace(agent, content)
    assert not agent.traces.exists()


def test_a_trace_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    with pytest.raises(UsageError, match="larger than 100 bytes"):
        import_trace(agent, meta("s"), largest=100)
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(20 * 1024 * 1024)
    with pytest.raises(UsageError, match="larger"):
        import_trace(agent, sparse)
    with pytest.raises(NotFoundError):
        import_trace(agent, tmp_path / "none")
    with pytest.raises(ExuviaError):
        import_trace(agent, meta("s", "0001-01-01T00:00:00+23:59").replace(b"}}\n", b"}}x\n"))


def test_an_export_that_is_ended_leaves_no_half_copy(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path / "agents" / "helper")
    day = agent.traces / "2026-01-01"
    day.mkdir(parents=True)
    for index in (1, 2):
        (day / f"session-a_00{index}.jsonl").write_bytes(b"{}\n")

    def end(done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_trace(agent, "session-a", tmp_path / "out", end)
    assert list((tmp_path / "out").iterdir()) == []
    assert len(export_trace(agent, "session-a", tmp_path / "out")) == 2
