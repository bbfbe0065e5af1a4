"""Finding texts by their bytes: whatever JSON holds is found however it was escaped, and nothing else is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.foundation.errors import NotFoundError, UsageError
from core.state.paths import AgentPaths
from core.traces import records
from core.traces.reader import TraceFile
from core.traces.search import Match, Query, Scanned, find_in, search_file, unescaped
from core.traces.search_all import Hit, search_session, search_sessions
from core.traces.shards import session_shards

STAMP = "2026-01-01T10:00:00.000Z"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
WORDS = TEXTS.filter(lambda text: bool(text.split()))


def line_of(text: str, *, escaped: bool) -> bytes:
    record = {"timestamp": STAMP, "type": "model_msg", "payload": {"type": "text", "role": "user", "text": text}}
    return json.dumps(record, ensure_ascii=escaped).encode()


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def found(path: Path, text: str, **more: Any) -> list[Match]:
    return [one for one in search_file(path, Query.of(text), **more) if isinstance(one, Match)]


@given(before=TEXTS, wanted=WORDS, after=TEXTS, escaped=st.booleans(), nested=st.booleans())
@settings(max_examples=300)
def test_what_a_record_says_is_found_however_it_was_escaped(
    before: str, wanted: str, after: str, escaped: bool, nested: bool
) -> None:
    said = before + wanted + after
    text = json.dumps({"cmd": said}, ensure_ascii=escaped) if nested else said
    place = find_in(line_of(text, escaped=escaped), Query(wanted, exact=True))
    assert place is not None
    assert place[0] == STAMP


@given(texts=st.lists(TEXTS, min_size=1, max_size=8), wanted=WORDS, escaped=st.booleans(), batch=st.integers(1, 400))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_exactly_the_lines_that_hold_it_are_found_in_batches_of_any_size(
    tmp_path: Path, texts: list[str], wanted: str, escaped: bool, batch: int
) -> None:
    texts = [text + wanted if number % 3 == 1 else text for number, text in enumerate(texts)]
    lines = [line_of(text, escaped=escaped) for text in texts]
    path = write(tmp_path / "a.jsonl", *lines)
    query = Query(wanted, exact=True)
    expected = [number for number, line in enumerate(lines) if find_in(line, query) is not None]
    matches = [one for one in search_file(path, query, batch=batch) if isinstance(one, Match)]
    assert [match.line for match in matches] == expected
    assert {number for number in range(len(texts)) if number % 3 == 1} <= set(expected)
    raw = path.read_bytes()
    assert [raw[match.start : match.end] for match in matches] == [lines[number] for number in expected]


@given(words=st.lists(st.from_regex(r"[A-Za-z0-9.,;=<>-]{1,8}", fullmatch=True), min_size=1, max_size=3))
def test_letters_count_the_same_in_any_case_unless_a_capital_was_typed(words: list[str]) -> None:
    said = " ".join(words)
    swapped = said.swapcase()
    assert find_in(line_of(f"x{swapped}y", escaped=False), Query(said.lower())) is not None
    exact = find_in(line_of(swapped, escaped=False), Query(said, exact=True))
    assert (exact is not None) == (said in swapped)


def test_a_typed_capital_makes_case_count() -> None:
    assert not Query.of("error").exact
    assert Query.of("Error").exact
    assert find_in(line_of("ÄRGER über", escaped=True), Query.of("ärger ÜBER".lower())) is not None


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ('say "no" twice', 'say "no"'),
        ("first line\nsecond line", "line second"),
        ("a\\b\\c", "a\\b"),
        ("C:/temp/x", "/temp"),
        ("caf\u00e9 \U0001f600 \u65e5\u672c", "\u00e9 \U0001f600 \u65e5"),
        ("tab\there", "tab here"),
        ("a<b && c>d", "<b && c>"),
    ],
)
@pytest.mark.parametrize("escape", ["none", "ascii", "html", "slash", "nested"])
def test_what_an_operator_types_matches_every_way_of_escaping_it(
    tmp_path: Path, said: str, typed: str, escape: str
) -> None:
    line = line_of(json.dumps({"k": said}) if escape == "nested" else said, escaped=escape in ("ascii", "nested"))
    if escape == "html":
        line = line.replace(b"<", b"\\u003c").replace(b">", b"\\u003E").replace(b"&", b"\\u0026")
    elif escape == "slash":
        line = line.replace(b"/", b"\\/")
    path = write(tmp_path / "a.jsonl", line_of("nothing of the kind", escaped=False), line)
    assert [match.line for match in found(path, typed)] == [1]


def test_escapes_are_no_letters_and_the_formats_own_words_are_not_looked_in(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line_of("one\nfoo", escaped=True), line_of("caf\u00e9", escaped=True))
    assert found(path, "nfoo") == []
    assert found(path, "u00e9") == []
    assert found(path, "model_msg") == []
    assert found(path, "role") == []


def test_a_torn_line_and_bytes_that_are_no_text_are_looked_in_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"timestamp":"x","type":"model_msg","payload":{"text":"half a sen\n\xff\xfe needle \xff\n\0\0\0\n{}needle'
    )
    matches = found(path, "needle")
    assert [match.line for match in matches] == [1, 3]
    assert [match.line for match in found(path, "half a sen")] == [0]


def test_a_scan_goes_on_where_it_ended_and_looks_again_at_a_line_without_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line_of("needle one", escaped=False), line_of("hay", escaped=False))
    with path.open("ab") as file:
        file.write(line_of("needle two", escaped=False))
    steps = list(search_file(path, Query.of("needle")))
    last = [step for step in steps if isinstance(step, Scanned)][-1]
    assert last.done == last.total == path.stat().st_size
    with path.open("ab") as file:
        file.write(b"\n" + line_of("needle three", escaped=False) + b"\n")
    again = found(path, "needle", start=last.offset)
    assert [(match.line, match.hit + match.after) for match in again] == [(2, "needle two"), (3, "needle three")]


def test_there_is_something_to_look_for_and_somewhere_to_look(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Query("  \n ")
    with pytest.raises(NotFoundError):
        list(search_file(tmp_path / "none.jsonl", Query.of("x")))


def test_the_snippet_is_one_line_around_the_place(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", line_of("x" * 500 + "\n\nneedle\t\tin the hay" + "y" * 500, escaped=False))
    [match] = found(path, "needle in")
    assert match.hit == "needle in"
    assert re.fullmatch(r"x{28} ", match.before)
    assert match.after.startswith(" the hay")
    assert len(match.after) <= 90


@given(text=TEXTS)
def test_unescaping_undoes_what_json_does(text: str) -> None:
    for escaped in (True, False):
        assert unescaped(json.dumps(text, ensure_ascii=escaped)[1:-1]) == text


def test_numbers_run_on_through_the_files_of_a_session_and_a_lost_file_holds_nothing(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path / "agents" / "helper")
    day = agent.traces / "2026-01-01"
    day.mkdir(parents=True)
    for index, said in ((1, "needle"), (2, "hay"), (3, "needle")):
        lines = [records.encode(records.user_text(f"{said} {n}"), STAMP) for n in range(4)]
        (day / f"session-a_00{index}.jsonl").write_bytes(b"".join(lines))
    files = session_shards(agent, "session-a")
    hits = [hit for hit in search_session("session-a", files, Query.of("needle 2")) if isinstance(hit, Hit)]
    assert [hit.number for hit in hits] == [2, 10]
    with TraceFile(files[2].path) as file:
        file.index()
        assert file.span(2) == (hits[1].match.start, hits[1].match.end)
    files[0].path.unlink()
    left = list(search_sessions([("session-a", files)], Query.of("needle 2")))
    assert len([one for one in left if isinstance(one, Hit)]) == 1
    assert all(one.done <= one.total for one in left if isinstance(one, Scanned))
