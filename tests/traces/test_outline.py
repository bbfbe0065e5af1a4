"""How a Session stands is told from its last bytes; who started whom, from all of them, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.state.paths import AgentPaths, ProjectPaths
from core.traces import records
from core.traces.digests import Digests
from core.traces.forest import is_above, parents_of
from core.traces.outline import TAIL, read_outline
from core.traces.project_sessions import ProjectSessions
from core.traces.shards import session_shards
from core.traces.tokens import Tokens

STAMP = "2026-01-01T10:00:0{}.000Z"
USAGE = records.token_usage(Tokens(10, 20, 5), Tokens(1, 2, 3))


def agent_in(root: Path, name: str = "helper") -> AgentPaths:
    agent = ProjectPaths(root).agent(name)
    agent.traces.mkdir(parents=True)
    agent.config.parent.mkdir(parents=True, exist_ok=True)
    agent.config.write_text("{}")
    return agent


def write(agent: AgentPaths, session_id: str, *made: records.Record, tail: bytes = b"") -> Path:
    path = agent.traces / "2026-01-01" / f"{session_id}_001.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = [records.encode(one, STAMP.format(min(9, number))) for number, one in enumerate(made)]
    path.write_bytes(b"".join(lines) + tail)
    return path


ENDS: list[tuple[str, list[records.Record], tuple[str, str]]] = [
    (
        "answered",
        [records.request_begin(), records.assistant_text("Done."), USAGE, records.request_end()],
        ("done", ""),
    ),
    ("calling", [records.request_begin(), records.tool_call("c", "ls", "{}"), records.request_end()], ("open", "")),
    ("waiting", [records.assistant_text("Done."), records.user_text("And now?")], ("open", "")),
    ("asking", [records.assistant_text("So."), records.request_begin()], ("open", "")),
    ("broken", [records.request_end("failed", error_message="no such model")], ("failed", "no such model")),
    ("retried", [records.request_end("timeout", attempt=1, retry_in_ms=500)], ("open", "")),
    ("aborted", [records.assistant_text("So."), records.abort("budget")], ("failed", "budget")),
    ("cut short", [records.assistant_text("So", stop_reason="aborted")], ("failed", "aborted")),
]


@pytest.mark.parametrize(("made", "expected"), [end[1:] for end in ENDS], ids=[end[0] for end in ENDS])
def test_the_last_records_tell_how_it_stands(
    tmp_path: Path, made: list[records.Record], expected: tuple[str, str]
) -> None:
    agent = agent_in(tmp_path)
    write(agent, "session-a", records.user_text("Hello"), *made)
    outline = read_outline(session_shards(agent, "session-a"))
    assert (outline.state, outline.reason) == expected
    assert outline.last_ts == STAMP.format(len(made))
    assert outline.tokens == (Tokens(10, 20, 5) if USAGE in made else None)


def test_what_lies_far_before_the_end_and_what_is_torn_does_not_matter(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    many = [records.tool_call_output("c", "x" * 900) for _ in range(2 * TAIL // 900)]
    write(agent, "session-a", *many, records.assistant_text("Done."), records.request_end(), tail=b'{"timestamp":"2026')
    outline = read_outline(session_shards(agent, "session-a"))
    assert outline.state == "done"
    write(agent, "session-b", tail=b"")
    assert read_outline(session_shards(agent, "session-b")).state == "empty"
    files = session_shards(agent, "session-a")
    files[0].path.unlink()
    assert read_outline(files).state == "empty"


def test_a_digest_goes_on_where_it_ended_and_equals_one_made_at_once(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    turn = [records.request_begin(), records.assistant_text("So."), USAGE, records.request_end()]
    path = write(agent, "session-a", *turn)
    digests = Digests()
    files = session_shards(agent, "session-a")
    assert digests.known("session-a", files) is None
    first = sum(digests.read("session-a", files, is_open=False))
    assert first == path.stat().st_size
    with path.open("ab") as file:
        file.write(b"".join(records.encode(one, STAMP.format(9)) for one in [*turn, records.subagent("session-b")]))
    grown = session_shards(agent, "session-a")
    assert digests.known("session-a", grown) is None
    assert sum(digests.read("session-a", grown, is_open=False)) == path.stat().st_size - first
    again = Digests()
    list(again.read("session-a", grown, is_open=False))
    assert digests.known("session-a", grown) == again.known("session-a", grown)
    path.write_bytes(records.encode(records.user_text("Anew"), STAMP.format(1)))
    anew = session_shards(agent, "session-a")
    list(digests.read("session-a", anew, is_open=False))
    digest = digests.known("session-a", anew)
    assert digest is not None
    assert digest.records == 1
    assert digest.usage == []


def test_a_request_under_way_is_unknown_only_once_its_session_has_ended(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    write(agent, "session-a", records.request_begin(), records.assistant_text("So"))
    files = session_shards(agent, "session-a")
    digests = Digests()
    for is_open, unknown in ((True, 0), (False, 1), (True, 0)):
        digests = Digests()
        list(digests.read("session-a", files, is_open=is_open))
        digest = digests.known("session-a", files)
        assert digest is not None
        assert sum(part.unknown for part in digest.usage) == unknown


def test_each_session_has_one_place_and_nobody_is_below_itself(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    meta = [
        records.session_meta(
            session_id="x",
            provider="p",
            model_id="m",
            model_context_window=None,
            system_prompt="",
            agent_state="/a",
            workspace="/w",
        )
    ]
    write(agent, "session-a", *meta, records.subagent("session-b"), records.subagent("session-c"))
    write(agent, "session-b", *meta, records.subagent("session-a"), records.subagent("session-c"))
    write(agent, "session-c", *meta, records.subagent("session-c"))
    sessions = ProjectSessions(ProjectPaths(tmp_path))
    digests = Digests()
    for session_id in sessions.session_ids():
        list(digests.read(session_id, sessions.shards(session_id), is_open=False))
    said = {one: digest for one in sessions.session_ids() if (digest := digests.latest(one)) is not None}
    parents = parents_of(sessions, said)
    assert {child: above for child, (above, _) in parents.items()} == {
        "session-b": "session-a",
        "session-c": "session-a",
    }
    assert is_above(parents, "session-a", "session-c")
    assert not is_above(parents, "session-c", "session-a")
