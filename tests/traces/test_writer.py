"""A trace file takes whole lines, one write each."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.foundation.clock import local_date
from core.foundation.errors import UsageError
from core.state.paths import AgentPaths
from core.traces import records
from core.traces.writer import TraceWriteError, TraceWriter, new_trace_path, next_shard_path, open_trace


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


def test_a_new_trace_lies_under_the_local_date(tmp_path: Path) -> None:
    path = new_trace_path(AgentPaths(tmp_path), "session-1")
    assert path == tmp_path / "traces" / local_date() / "session-1_001.jsonl"
    assert not path.parent.exists()
    with TraceWriter(path) as trace:
        stamp = trace.append(records.user_text("hi"))
    assert json.loads(lines(path)[0]) == {
        "timestamp": stamp,
        "type": "model_msg",
        "payload": {"type": "text", "role": "user", "text": "hi", "stop_reason": "completed"},
    }


@pytest.mark.parametrize("unsafe", ["", "../x", "a/b", "a" * 129, "a\n", "ü"])
def test_an_unsafe_id_has_no_path(tmp_path: Path, unsafe: str) -> None:
    with pytest.raises(UsageError):
        new_trace_path(AgentPaths(tmp_path), unsafe)


def test_the_next_shard_stays_in_its_directory(tmp_path: Path) -> None:
    assert next_shard_path(tmp_path / "2026-01-01" / "s_1_009.jsonl") == tmp_path / "2026-01-01" / "s_1_010.jsonl"
    with pytest.raises(UsageError):
        next_shard_path(tmp_path / "notes.txt")
    with pytest.raises(UsageError):
        next_shard_path(tmp_path / "s_999.jsonl")


def test_a_torn_tail_is_closed_before_the_first_record(tmp_path: Path) -> None:
    path = tmp_path / "s_001.jsonl"
    path.write_bytes(b'{"timestamp":"t","ty')
    with TraceWriter(path) as trace:
        trace.append(records.request_begin(), "t")
        trace.append(records.request_end(), "t")
    got = lines(path)
    assert got[0] == '{"timestamp":"t","ty'
    assert [json.loads(line)["payload"]["type"] for line in got[1:-1]] == ["request_begin", "request_end"]
    assert got[-1] == ""


def test_a_whole_tail_gets_no_blank_line(tmp_path: Path) -> None:
    path = tmp_path / "s_001.jsonl"
    for _ in range(2):
        with TraceWriter(path) as trace:
            trace.append(records.request_begin(), "t")
    assert len(lines(path)) == 3


def test_a_descriptor_opened_before_confinement_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "traces" / "d" / "s_001.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"torn")
    fd = open_trace(path)
    path.rename(path.with_name("moved.jsonl"))  # the name is not needed any more
    trace = TraceWriter.from_fd(fd)
    trace.append(records.request_begin(), "t")
    trace.close()
    trace.close()
    assert path.with_name("moved.jsonl").read_bytes().startswith(b'torn\n{"timestamp":"t"')
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_write_only_descriptor_heals_too(tmp_path: Path) -> None:
    path = tmp_path / "s_001.jsonl"
    path.write_bytes(b"torn")
    with TraceWriter.from_fd(os.open(path, os.O_WRONLY | os.O_APPEND)) as trace:
        trace.append(records.request_begin(), "t")
    assert lines(path)[0] == "torn"
    assert json.loads(lines(path)[1])


def test_a_short_write_is_an_error_and_the_next_record_still_begins_its_line(tmp_path: Path) -> None:
    path = tmp_path / "s_001.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with TraceWriter(path) as trace:
            trace.append(records.user_text("before"), "t")
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, hard))
            with pytest.raises(TraceWriteError, match="only 10 of"):
                trace.append(records.user_text("lost"), "t")
            with pytest.raises(TraceWriteError, match="File too large"):
                trace.append(records.user_text("lost"), "t")
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            trace.append(records.user_text("after"), "t")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    first, torn, last, rest = lines(path)
    assert json.loads(first)["payload"]["text"] == "before"
    assert len(torn) == 10
    assert json.loads(last)["payload"]["text"] == "after"
    assert rest == ""


def test_processes_that_append_at_once_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "s_001.jsonl"
    program = (
        "import sys; from pathlib import Path; from core.traces import records; "
        "from core.traces.writer import TraceWriter\n"
        "with TraceWriter(Path(sys.argv[1])) as trace:\n"
        "    for i in range(50): trace.append(records.user_text(sys.argv[2] * 20_000))\n"
    )
    root = Path(__file__).parents[2]
    running = [subprocess.Popen([sys.executable, "-c", program, path, letter], cwd=root) for letter in "abc"]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    # One that starts while another's write is under way may take it for a torn tail: a blank line, and no harm.
    texts = [json.loads(line)["payload"]["text"] for line in lines(path) if line]
    assert len(texts) == 150
    assert all(len(set(text)) == 1 for text in texts)
