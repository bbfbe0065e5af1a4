"""A journal line that is no event is counted and skipped; whatever a line holds, a run can be shown (FAULTS:
stop-at-first-error, non-finite values, bool-as-number).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.evolution import optimizer_state
from core.evolution.builder_fold import apply as builder_apply
from core.evolution.builder_state import BuilderState, Limits
from core.evolution.cells import known_cells
from core.evolution.event_shapes import problem
from core.evolution.events import Event, fold, read_journal
from core.evolution.report import render
from core.evolution.run_view import fold_view
from core.evolution.spending import sessions
from tests.evolution.bench import candidate, decision, make_bench
from tui.cli.lines import Teller

TIME = "2026-01-01T00:00:00.000Z"
CELL: dict[str, Any] = {
    "time": TIME, "event": "cell", "cell": "c", "case_id": "CASE-001", "run": 1, "version": 1, "stage": "evaluation",
    "index": 0, "state": "scored", "score": 50.0, "cost": None, "duration_ms": 1, "session_id": "s",
}  # fmt: skip
WRONG: tuple[object, ...] = (None, True, 5, -1, 1e308, "x", [], [1], {}, {"a": 1}, [{"a": 1}], [[]])


def _lines(tmp_path: Path, *lines: bytes) -> tuple[list[Event], tuple[int, ...]]:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return read_journal(path)


@pytest.mark.parametrize("score", ["NaN", "Infinity", "1e400", "true", '"50"', "101", "-1", "[50]", "null"])
def test_a_cell_whose_score_is_none_is_no_event(tmp_path: Path, score: str) -> None:
    good = json.dumps(CELL)
    bad = good.replace('"score": 50.0', f'"score": {score}')
    events, damaged = _lines(tmp_path, bad.encode(), good.encode())
    assert [event["score"] for event in events] == [50.0]
    assert damaged == (1,)


def test_costs_of_a_cell_are_amounts_or_unknown() -> None:
    assert problem({**CELL, "cost": 0}) is None
    assert problem({**CELL, "cost": None}) is None
    for cost in (True, "0.1", -0.1, 10**400):
        assert problem({**CELL, "cost": cost}) is not None


def test_a_name_that_leads_elsewhere_names_no_session_and_no_agent() -> None:
    assert problem({**CELL, "session_id": "../../etc/passwd"}) is not None
    told = {"time": TIME, "event": "session", "role": "target", "session_id": "s", "agent_id": "a"}
    assert problem(told) is None
    for name in ("session_id", "agent_id"):
        assert problem({**told, name: "../x"}) is not None


def test_lines_that_are_no_events_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    good = json.dumps(CELL).encode()
    bad = [good[:80], b"\0" * 300, b"\xff\xfe", b"5", b"[" * 100_000, b'{"event": "cell"}', b'{"event": "phase"}']
    events, damaged = _lines(tmp_path, good, b"", *bad, good)
    assert len(events) == 2
    assert damaged == tuple(range(3, 3 + len(bad)))


def _read_all(events: list[Event]) -> None:
    """Do everything that is done with a journal without its run."""
    view = fold_view("run", {"kind": "optimize"}, events, alive=False)
    list(Teller().news(view))
    render(view)
    known_cells(events)
    sessions(events, "clerk")


async def test_no_change_of_one_field_keeps_a_run_from_being_shown(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    await bench.frozen()
    bench.trials.establish_reference()
    assert (await bench.optimize("propose_candidate", **candidate()))["ok"]
    bench.scores = dict.fromkeys(bench.scores, 60.0)
    assert (await bench.optimize("evaluate_candidate"))["ok"]
    assert (await bench.optimize("decide", **decision()))["ok"]
    whole, damaged = read_journal(bench.run.journal)
    assert damaged == ()  # every event that the engine writes has its shape
    assert len({event["event"] for event in whole}) > 15
    fold(builder_apply, BuilderState(Limits(45.0, 3)), whole)
    fold(optimizer_state.apply, optimizer_state.OptimizerState(optimizer_state.Goal(90.0, 2, 2)), whole)
    _read_all(whole)
    refused = 0
    first = {event["event"]: place for place, event in reversed(list(enumerate(whole)))}
    for place in first.values():
        for name in whole[place]:
            for value in WRONG:
                changed = {**whole[place], name: value}
                kept = [changed] if problem(changed) is None else []
                refused += not kept
                _read_all([*whole[:place], *kept, *whole[place + 1 :]])
    assert refused > 500
