"""Measure the trace reader against parsing the same file whole: `python tests/perf/trace_reader.py [lines]`.

Prints seconds, the ratio (plain parsing divided by indexing; above 1 is faster) and peak memory of each, measured in
processes of their own. Absolute times belong to this machine; the ratio is what to watch.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from core.traces import records  # noqa: E402  (the path above comes first)
from core.traces.analysis import analyze  # noqa: E402
from core.traces.reader import TraceFile  # noqa: E402


def make(path: Path, lines: int) -> None:
    """Write a trace of `lines` lines, about 300 bytes each."""
    stamp = "2026-01-01T00:00:00.000Z"
    turn = b"".join(
        (
            records.encode(records.request_begin(), stamp),
            records.encode(records.thinking("Considering. " * 30), stamp),
            records.encode(records.tool_call("call_1", "exec_command", json.dumps({"cmd": "ls " * 80})), stamp),
            records.encode(records.approval_decision("allow", "call_1"), stamp),
            records.encode(records.request_end(), stamp),
            records.encode(records.tool_call_output("call_1", "line of output\n" * 60), stamp),
        )
    )
    with path.open("wb") as file:
        for _ in range(lines // 6):
            file.write(turn)


def plain(path: Path) -> int:
    """Read the file whole and parse every line."""
    return len([json.loads(line) for line in path.read_bytes().splitlines()])


def index(path: Path) -> int:
    """Index the file and show its first and last screen."""
    with TraceFile(path) as trace:
        lines = trace.index()
        trace.window(0, 50)
        trace.window(lines - 50, 50)
        return lines


def first_screen(path: Path) -> int:
    """Show the first screen after one batch of the index."""
    with TraceFile(path) as trace:
        next(iter(trace.index_batches()))
        return len(trace.window(0, 50))


def stream(path: Path) -> int:
    """Analyse every record, streaming."""
    with TraceFile(path) as trace:
        return analyze(trace.iter_records()).records


MEASURES = {measure.__name__: measure for measure in (plain, index, first_screen, stream)}


def child(name: str, path: Path) -> None:
    """Run one measure and print its seconds, megabytes above the start, and result."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = MEASURES[name](path)
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps([seconds, grown, result]))


def main() -> None:
    """Make the file, run every measure, print the table."""
    if len(sys.argv) == 4:
        child(sys.argv[2], Path(sys.argv[3]))
        return
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "s_001.jsonl"
        make(path, lines)
        size = path.stat().st_size / 1e6
        print(f"{lines} lines, {size:.0f} MB")
        rows: dict[str, tuple[float, float]] = {}
        for name in MEASURES:
            argv = [sys.executable, str(Path(__file__)), "child", name, str(path)]
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            seconds, grown, result = json.loads(done.stdout)
            rows[name] = (seconds, grown)
            print(f"{name:>13}: {seconds:7.3f} s  +{grown:6.1f} MB  ({result})")
        print(f"ratio plain/index {rows['plain'][0] / rows['index'][0]:.1f}")


if __name__ == "__main__":
    main()
