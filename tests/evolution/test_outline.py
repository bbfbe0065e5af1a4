"""A journal read in outline says of its run what the whole one says, wherever it ends and whatever is in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.evolution.events import read_journal, read_outline
from core.evolution.run_view import RunView, SpentView, fold_view
from tests.evolution.bench import candidate, decision, make_bench

SPEC = {"kind": "optimize", "agent_id": "clerk", "benchmark_id": "ledgers"}
TIME, LATER = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z"
CELL: dict[str, Any] = {
    "cell": "c", "case_id": "CASE-001", "run": 1, "version": 1, "stage": "evaluation", "index": 0, "state": "running",
}  # fmt: skip


def _line(event: str, time: str = TIME, **fields: Any) -> bytes:
    return json.dumps({"time": time, "event": event, **fields}).encode()


def _told(view: RunView) -> RunView:
    """Return a view without what cells, calls and spending tell."""
    own = tuple(session for session in view.sessions if session.role not in ("evaluator", "target"))
    rejected = tuple(replace(one, cells=()) for one in view.rejected_pilots)
    return replace(view, cells=(), sessions=own, spent=SpentView(), rejected_pilots=rejected)


def _both(path: Path) -> tuple[RunView, RunView]:
    whole, _ = read_journal(path)
    views = [fold_view("run", SPEC, events, alive=False) for events in (read_outline(path), whole)]
    return _told(views[0]), _told(views[1])


async def test_wherever_a_journal_ends_its_outline_folds_as_the_whole(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.frozen()
    bench.trials.establish_reference()
    assert (await bench.optimize("propose_candidate", **candidate()))["ok"]
    bench.scores = dict.fromkeys(bench.scores, 60.0)
    assert (await bench.optimize("evaluate_candidate"))["ok"]
    assert (await bench.optimize("decide", **decision()))["ok"]
    lines = bench.run.journal.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    for place, line in enumerate(lines):
        cut.write_bytes(b"".join(lines[:place]) + line[: len(line) // 2])  # a torn tail
        outline, whole = _both(cut)
        assert outline == whole
    cut.write_bytes(b"".join(lines))
    assert len(read_outline(cut)) < len(lines), "cells are passed over"
    outline, whole = _both(cut)
    assert outline == whole
    assert whole.rounds[0].decision == "accepted"


HIDING = [
    b'{"time": "%s", "event": "cell", "event": "finished", "result": {}}' % TIME.encode(),
    b'{"time": "%s", "event": "cell", "cell": "c", "\\u0065vent": "finished", "result": {}}' % TIME.encode(),
    b'{"time": "x\\", "event": "cell", ", "event": "finished", "result": {}}',
    _line("cell", **CELL)[:60] + _line("finished", result={}),  # a torn line that was written on
    _line("cell", LATER, **CELL)[:-9],
    _line("cell", LATER, **{**CELL, "run": True}),
    b"\0" * 300,
    b'{"event": "cell", "time": "%s", "result": {}}' % LATER.encode(),
    b" " + _line("finished", result={}),
    _line("told", session_id="s", word="w", text='"event": "cell"', actor="me"),
]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("line", HIDING, ids=range(len(HIDING)))
def test_no_line_hides_an_event_behind_another_name(tmp_path: Path, line: bytes, last: bool) -> None:
    path = tmp_path / "journal.jsonl"
    after = [] if last else [_line("cell", **CELL), _line("spent", LATER, usd=1.0, unknown_requests=0, tokens=5)]
    path.write_bytes(b"\n".join([_line("run_started", pid=1, spec={}), _line("phase", phase="x"), line, *after]))
    outline, whole = _both(path)
    assert outline == whole
    assert outline.phase == "x"


def test_the_last_word_is_always_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join([_line("run_started", pid=1, spec={}), _line("cell", LATER, **CELL)]) + b"\n")
    assert [event["event"] for event in read_outline(path)] == ["run_started", "cell"]
    assert fold_view("run", SPEC, read_outline(path), alive=True).updated == LATER


def test_no_journal_has_no_events(tmp_path: Path) -> None:
    assert read_outline(tmp_path / "none") == []
