"""What goes wrong between a model and its harness changes no score and no decision (DECISIONS 10 to 12).

Only the cells that were hit are touched; a Target that finished is never run a second time; where nothing helps, the
run stops blocked and says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.evolution.events import Event
from core.evolution.run_view import RunView
from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import Loop, gone, outcome, reruns

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def _with(faults: dict[str, float], **more: Any) -> dict[str, Any]:
    return {"faults": faults, **more}


def _evaluators(events: Sequence[Event]) -> Counter[str]:
    return Counter(e["cell"] for e in events if e["event"] == "session" and e["role"] == "evaluator")


def _targets(events: Sequence[Event]) -> Counter[str]:
    return Counter(e["cell"] for e in events if e["event"] == "target_started")


def _lost(events: Sequence[Event]) -> Counter[str]:
    """Count, by cell, the Evaluators that the engine saw lost."""
    return Counter(e["cell"] for e in events if e["event"] == "cell" and e["state"] == "repairing" and "reason" in e)


async def _optimized(place: Path, undisturbed: Undisturbed, rehearsal: dict[str, Any]) -> tuple[Loop, RunView]:
    """Optimize the undisturbed build under faults; the result must be the undisturbed one."""
    loop = undisturbed.home_after_build(place)
    build = loop.runs()[0]
    view = await loop.optimize(rehearsal=rehearsal)
    assert view.state == "finished", loop.told(view.run_id)
    assert outcome(loop, build, view.run_id) == undisturbed.whole
    assert reruns(loop.events(view.run_id)) == []
    assert await gone(loop.home) == {}
    return loop, view


async def test_all_three_at_a_fifth(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """The acceptance mix over a whole loop, Builder and Optimizer."""
    rates = {"fenced": 0.2, "crash_before_launch": 0.2, "crash_after_target": 0.2}
    loop = Loop.at(tmp_path / "home", rehearsal=_with(rates))
    build = await loop.build()
    assert build.state == "finished", loop.told(build.run_id)
    optimize = await loop.optimize()
    assert optimize.state == "finished", loop.told(optimize.run_id)
    assert outcome(loop, build.run_id, optimize.run_id) == undisturbed.whole
    events = [*loop.events(build.run_id), *loop.events(optimize.run_id)]
    assert _lost(events) or any(e["event"] == "resend" for e in events), "no fault struck, so nothing was tried"
    assert reruns(events) == []
    assert max(_targets(events).values()) == 1


@pytest.mark.parametrize("fault", ["fenced", "narration"])
async def test_malformed_answer_is_asked_for_again(fault: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop, view = await _optimized(tmp_path / "home", undisturbed, _with({fault: 0.6}))
    events = loop.events(view.run_id)
    asked = {e["cell"] for e in events if e["event"] == "resend"}
    assert asked, "the fault struck no cell"
    assert set(_evaluators(events).values()) == {1}, "the same Evaluator is asked, none is added"
    assert set(_targets(events).values()) == {1}


async def test_evaluator_lost_before_the_launch_runs_the_cell_again(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop, view = await _optimized(tmp_path / "home", undisturbed, _with({"crash_before_launch": 0.6}))
    events = loop.events(view.run_id)
    lost = _lost(events)
    assert lost, "the fault struck no cell"
    for cell, evaluators in _evaluators(events).items():
        assert evaluators == 1 + lost[cell], f"only cells that were hit are touched: {cell}"
    assert set(_targets(events).values()) == {1}


async def test_evaluator_lost_after_the_target_scores_what_is_there(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop, view = await _optimized(tmp_path / "home", undisturbed, _with({"crash_after_target": 0.6}))
    events = loop.events(view.run_id)
    lost = _lost(events)
    assert lost, "the fault struck no cell"
    for cell, evaluators in _evaluators(events).items():
        assert evaluators == 1 + lost[cell], f"only cells that were hit are touched: {cell}"
    assert set(_targets(events).values()) == {1}, "a finished Target is never run a second time"
    assert len(list(loop.agent.workspaces.iterdir())) == len(_targets(events)) + len(
        [e for run in loop.runs() if run != view.run_id for e in loop.of(run, "target_started")]
    ), "no workspace beyond one for each Target"


async def test_slow_cells_only_take_longer(tmp_path: Path, undisturbed: Undisturbed) -> None:
    await _optimized(tmp_path / "home", undisturbed, _with({"slow": 1.0}, slow_s=1.0))


@pytest.mark.long
async def test_throttled_requests_are_sent_again(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop, view = await _optimized(tmp_path / "home", undisturbed, _with({"http_429": 0.2}))
    roles = {s.role for s in view.sessions}
    traces = "".join(p.read_text(encoding="utf-8") for p in loop.project.root.rglob("traces/*/*.jsonl"))
    assert roles == {"optimizer", "evaluator", "target"}
    assert "429 Too Many Requests" in traces, "no request was throttled, so nothing was tried"


@pytest.mark.parametrize(
    ("fault", "targets", "said"),
    [
        ("crash_before_launch", 0, "crashed before the launch"),
        ("crash_after_target", 2, "crashed after its Target"),
        ("fenced", 2, "malformed"),
    ],
)
async def test_a_fault_that_never_stops_blocks_the_run(fault: str, targets: int, said: str, tmp_path: Path) -> None:
    """Two cells that can never be scored: no score is invented, Targets stay, the reason names the fault."""
    loop = Loop.at(tmp_path / "home", rehearsal=_with({fault: 1.0}))
    view = await loop.build()
    events = loop.events(view.run_id)
    assert view.state == "blocked", loop.told(view.run_id)
    assert said in view.reason
    assert view.pilots == ()
    assert not any(e["event"] == "cell" and e["state"] == "scored" for e in events)
    assert sum(_targets(events).values()) == targets
    assert reruns(events) == []
    assert not loop.benchmark.scoreboard.exists() or "score:" not in loop.benchmark.scoreboard.read_text("utf-8")
    assert await gone(loop.home) == {}
