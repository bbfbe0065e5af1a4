"""Reading by window: every record, every gap with its bytes, whatever the file holds or becomes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.foundation.errors import NotFoundError
from core.state.paths import AgentPaths
from core.traces import reader, records
from core.traces.parsing import Gap, TraceRecord, parse_line
from core.traces.reader import TraceFile
from core.traces.session_trace import SessionTrace


def line(text: str) -> bytes:
    return records.encode(records.assistant_text(text), "2026-01-01T00:00:00.000Z")


def texts(trace: TraceFile) -> list[str]:
    return [record.text("text") for record in trace.iter_records()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s_001.jsonl"


BROKEN = [
    (b"", "blank"),
    (b"  \t\r", "blank"),
    (b"\0" * 300, "nul"),
    (line("x")[:80], "not_json"),
    (b"\0\0" + line("x")[:-1], "not_json"),
    (b"[]", "not_a_record"),
    (b"5", "not_a_record"),
    (b"null", "not_a_record"),
    (b'"text"', "not_a_record"),
    (b"{}", "not_a_record"),
    (b'{"type":"event_msg"}', "not_a_record"),
    (b'{"type":"event_msg","payload":null}', "not_a_record"),
    (b'{"type":7,"payload":{}}', "not_a_record"),
    (b'{"type":"x","payload":{"n":NaN}}', "not_json"),
    (b'{"type":"x","payload":{"n":-Infinity}}', "not_json"),
    (b'{"type":"x","payload":{"n":' + b"9" * 5000 + b"}}", "not_json"),
    (b'{"type":"x","payload":' + b"[" * 100_000, "too_deep"),
    (b'{"a":1}{"b":2}', "not_json"),
]


@pytest.mark.parametrize(("bad", "reason"), BROKEN, ids=range(len(BROKEN)))
def test_a_bad_line_is_a_gap_with_its_bytes_and_the_rest_is_read(path: Path, bad: bytes, reason: str) -> None:
    first = line("before")
    path.write_bytes(first + bad + b"\n" + line("after"))
    with TraceFile(path) as trace:
        assert trace.index() == 3
        assert trace.tail is None
        assert texts(trace) == ["before", "after"]
        (gap,) = trace.gaps()
        assert (gap.line, gap.start, gap.end, gap.reason) == (1, len(first), len(first) + len(bad), reason)
        assert trace.raw(1) == bad
        assert trace.window(0, 3)[1] == gap
        assert trace.record(1) is None
        after = trace.record(2)
        assert after is not None
        assert after.text("text") == "after"


GOOD = [
    b'{"type":"x","payload":{"n":1e400}}',
    b'{"payload":{"type":"q"},"type":"future_type"}',
    b'{"timestamp":5,"type":"x","payload":{}}',
    b'{"type":"x","payload":{"text":"caf\xe9 \xff\xfe"}}',
    b'{"type":"x","payload":{"text":"\\ud800"}}',
    b'{"type":"x","payload":{"deep":' + b"[" * 250 + b"]" * 250 + b"}}",
    b' {"type":"x","payload":{}} \r',
    '{"type":"x","payload":{"text":"a\u2028b\x85c"}}'.encode(),
]


@pytest.mark.parametrize("odd", GOOD, ids=range(len(GOOD)))
def test_an_odd_record_is_a_record(path: Path, odd: bytes) -> None:
    path.write_bytes(odd + b"\n" + line("after"))
    with TraceFile(path) as trace:
        assert trace.index() == 2
        assert len(list(trace.iter_records())) == 2


def test_a_byte_order_mark_at_the_head_is_passed_over(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + line("a") + line("b"))
    with TraceFile(path) as trace:
        assert texts(trace) == ["a", "b"]


def test_an_empty_file_has_no_entries(path: Path) -> None:
    path.touch()
    with TraceFile(path) as trace:
        assert trace.index() == 0
        assert trace.window(0, 10) == ()
        assert list(trace.iter_entries()) == []
        with pytest.raises(IndexError):
            trace.entry(0)


def test_a_missing_file_is_told(path: Path) -> None:
    with pytest.raises(NotFoundError):
        TraceFile(path)


def test_a_torn_tail_is_told_and_becomes_a_record_when_it_is_whole(path: Path) -> None:
    whole = line("second")
    path.write_bytes(line("first") + whole[:40])
    with TraceFile(path) as trace:
        assert trace.index() == 1
        assert trace.tail == Gap(1, len(line("first")), len(line("first")) + 40, "torn", "the last line has no end")
        assert list(trace.gaps()) == [trace.tail]
        with path.open("ab") as file:
            file.write(whole[40:-1])
        assert trace.refresh() == "grown"
        assert len(trace) == 2  # whole but for its newline
        assert trace.window(1, 1) != ()
        assert texts(trace) == ["first", "second"]
        with path.open("ab") as file:
            file.write(b"\n" + line("third"))
        assert trace.refresh() == "grown"
        assert [entry.line for entry in trace.window(0, 9)] == [0, 1, 2]
        assert trace.refresh() == "same"


def test_numbers_that_end_a_file_are_not_taken_for_whole(path: Path) -> None:
    path.write_bytes(line("a") + b"12")
    with TraceFile(path) as trace:
        assert trace.index() == 1
        assert trace.tail is not None


def test_a_truncated_file_is_read_anew(path: Path) -> None:
    path.write_bytes(line("a") * 100)
    with TraceFile(path) as trace:
        trace.index()
        os.truncate(path, len(line("a")) * 3)
        assert trace.entry(99).__class__ is Gap  # read before the refresh: no crash, no record
        assert trace.refresh() == "replaced"
        assert len(trace) == 3


def test_a_replaced_file_is_read_anew(path: Path) -> None:
    path.write_bytes(line("old"))
    with TraceFile(path) as trace:
        trace.index()
        other = path.with_name("other")
        other.write_bytes(line("new 1") + line("new 2"))
        other.rename(path)
        assert trace.refresh() == "replaced"
        assert texts(trace) == ["new 1", "new 2"]
        path.unlink()
        assert trace.refresh() == "gone"
        assert texts(trace) == ["new 1", "new 2"]


def test_a_file_rewritten_in_place_and_longer_is_noticed(path: Path) -> None:
    path.write_bytes(line("old") * 3)
    with TraceFile(path) as trace:
        trace.index()
        path.write_bytes(line("something else") * 5)
        assert trace.refresh() == "replaced"
        assert len(trace) == 5


def test_a_window_is_clamped(path: Path) -> None:
    path.write_bytes(b"".join(line(str(number)) for number in range(5)))
    with TraceFile(path) as trace:
        trace.index()
        got = [[entry.line for entry in trace.window(start, 3)] for start in (-1, 0, 3, 5, 9)]
        assert got == [[0, 1], [0, 1, 2], [3, 4], [], []]


def test_the_index_grows_by_batches_and_can_be_left(path: Path) -> None:
    path.write_bytes(line("x" * 1000) * 100)
    with TraceFile(path) as trace:
        batches = trace.index_batches(batch=4096)
        first = next(batches)
        assert (first.done, first.total) == (4096, path.stat().st_size)
        assert 0 < len(trace) < 10
        del batches
        assert trace.index() == 100


def test_a_huge_output_is_a_preview_in_a_window_and_whole_on_request(path: Path) -> None:
    big = 'naïve \\ "text"\n' * 350_000
    output = records.encode(records.tool_call_output("call_7", big, stop_reason="failed"), "2026-01-01T00:00:00.000Z")
    assert len(output) > 5_000_000
    path.write_bytes(line("a") + output + line("b"))
    with TraceFile(path) as trace:
        trace.index()
        shown = trace.window(0, 3)[1]
        assert isinstance(shown, TraceRecord)
        assert shown.cut
        assert 10_000 < len(shown.text("output")) < 20_000
        assert big.startswith(shown.text("output"))
        assert (shown.kind, shown.text("tool_call_id"), shown.text("stop_reason")) == (
            "tool_call_output",
            "call_7",
            "failed",
        )
        whole = trace.record(1)
        assert whole is not None
        assert whole.text("output") == big
        assert not whole.cut


def test_a_long_line_that_is_no_record_is_a_gap_in_a_window(path: Path) -> None:
    path.write_bytes(b"x" * 400_000 + b"\n" + b"[" * 400_000 + b"\n" + b"}" * 400_000 + b"\n" + line("b"))
    with TraceFile(path) as trace:
        trace.index()
        shown = trace.window(0, 4)
        assert [entry.__class__ for entry in shown] == [Gap, Gap, Gap, TraceRecord]


def test_a_line_beyond_every_measure_is_skipped_with_its_range(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LONGEST", 10_000)
    monkeypatch.setattr(reader, "BATCH", 4_096)
    long = line("x" * 50_000)
    path.write_bytes(line("a") + long + line("b") + long[:-1])
    with TraceFile(path) as trace:
        trace.index()
        assert texts(trace) == ["a", "b"]
        assert [(gap.reason, gap.size) for gap in trace.gaps()] == [
            ("too_long", len(long) - 1),
            ("torn", len(long) - 1),
        ]
        assert trace.record(1) is None
        assert len(trace.raw(1, limit=100)) == 100


@given(st.binary(max_size=200))
def test_no_bytes_of_a_line_can_raise(raw: bytes) -> None:
    entry = parse_line(raw.replace(b"\n", b""), line=3, start=7)
    assert (entry.line, entry.start) == (3, 7)


_LINES = st.one_of(
    st.text(max_size=20).map(line),
    st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b" ") + b"\n"),
    st.just(b"\n"),
    st.just(b"\0" * 9 + b"\n"),
)


@settings(max_examples=150, deadline=None)
@given(lines=st.lists(_LINES, max_size=12), tail=st.binary(max_size=12), batch=st.integers(1, 64))
def test_entries_cover_the_file_and_window_stream_and_growth_agree(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], tail: bytes, batch: int
) -> None:
    path = tmp_path_factory.mktemp("trace") / "s_001.jsonl"
    content = b"".join(lines) + tail.replace(b"\n", b"")
    path.write_bytes(content[: len(content) // 2])
    with TraceFile(path) as trace:
        for _ in trace.index_batches(batch):
            pass
        early = trace.window(0, len(trace))
        path.write_bytes(content) if not content[: len(content) // 2] else _append(path, content)
        trace.refresh()
        shown = list(trace.window(0, len(trace)))
        streamed = list(trace.iter_entries())
        assert streamed == shown + ([trace.tail] if trace.tail else [])
        settled = [entry for entry in early if entry.end < len(content) // 2]
        assert shown[: len(settled)] == settled
        pieces = [content[entry.start : entry.end] for entry in streamed]
        assert b"\n".join(pieces) == content.removesuffix(b"\n")
        assert all(json.loads(trace.raw(e.line)) for e in shown if isinstance(e, TraceRecord))


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content[len(content) // 2 :])


def test_a_large_trace_is_indexed_in_bounded_memory(tmp_path: Path) -> None:
    """60 MB here; the size does not matter to the bound, and the long measurement stands in tests/perf."""
    path = tmp_path / "s_001.jsonl"
    with path.open("wb") as file:
        for _ in range(20):
            file.write(line("x" * 200) * 10_000)
    program = (
        "import resource, sys; from pathlib import Path; from core.traces.reader import TraceFile\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); trace = TraceFile(Path(sys.argv[1])); lines = trace.index(); trace.window(lines - 50, 50)\n"
        "records = sum(1 for _ in trace.iter_records()); print(lines, records, (peak() - before) // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    lines, streamed, megabytes = map(int, done.stdout.split())
    assert (lines, streamed) == (200_000, 200_000)
    assert megabytes < 30


# A Session over its shards


def test_shards_read_as_one_session_and_a_new_one_joins(tmp_path: Path) -> None:
    agent = AgentPaths(tmp_path)
    for date, name, count in [("2026-01-02", "s_001", 3), ("2026-01-01", "s_002", 2), ("d", "t_001", 1)]:
        (agent.traces / date).mkdir(parents=True, exist_ok=True)
        (agent.traces / date / f"{name}.jsonl").write_bytes(b"".join(line(f"{name} {n}") for n in range(count)))
    with SessionTrace(agent, "s") as session:
        assert len(session) == 5
        said = [entry.text("text") for entry in session.window(0, 99) if isinstance(entry, TraceRecord)]
        assert said == ["s_001 0", "s_001 1", "s_001 2", "s_002 0", "s_002 1"]
        assert [record.text("text") for record in session.iter_records()] == said
        assert session.refresh() == "same"
        (agent.traces / "2026-01-01" / "s_003.jsonl").write_bytes(line("s_003 0") + b"torn")
        assert session.refresh() == "grown"
        last = session.whole(5)
        assert isinstance(last, TraceRecord)
        assert last.text("text") == "s_003 0"
        assert session.tail is not None
        with pytest.raises(IndexError):
            session.entry(6)
    with pytest.raises(NotFoundError):
        SessionTrace(agent, "u")
