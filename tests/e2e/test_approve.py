"""The freeze is the operator's: a run stops or waits for it, and goes on by what was decided (DECISIONS 15)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from core.evolution import runs
from core.evolution.run_view import RunView
from core.foundation.errors import ConflictError
from core.state import approvals, audit
from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import Loop, gone, outcome, reruns, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


async def _waiting(loop: Loop, run_id: str) -> RunView:
    """Wait until the run waits for a decision, alive."""
    await until(lambda: runs.read_run(loop.project, run_id).state != "running")
    return runs.read_run(loop.project, run_id)


async def test_stops_with_exit_3_and_goes_on_after_the_approval(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = Loop.at(tmp_path / "home")
    stopped = await loop.build(approve="ask", detached_ask="exit")
    assert stopped.state == "blocked", loop.told(stopped.run_id)
    assert runs.exit_of(stopped) == 3
    assert stopped.approval_id is not None
    assert stopped.approval_id in stopped.reason
    assert stopped.frozen_pilot is None
    assert await gone(loop.home) == {}

    again = await loop.end_of(runs.resume(loop.project, stopped.run_id))
    assert (again.state, again.approval_id) == ("blocked", stopped.approval_id), "undecided, it stops at the same place"

    approvals.decide(loop.project, stopped.approval_id, "approve", "as it should be", actor="a person")
    done = await loop.end_of(runs.resume(loop.project, stopped.run_id))
    assert done.state == "finished", loop.told(done.run_id)
    assert outcome(loop, done.run_id) == undisturbed.build
    assert reruns(loop.events(done.run_id)) == []
    assert [entry.action for entry in audit.read(loop.project)].count("approve") == 1


async def test_waits_alive_where_a_console_is(tmp_path: Path, undisturbed: Undisturbed) -> None:
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec(approve="ask", detached_ask="wait"))
    view = await _waiting(loop, run_id)
    assert view.state == "waiting", loop.told(run_id)
    assert view.approval_id is not None
    approvals.decide(loop.project, view.approval_id, "approve")
    done = await loop.end_of(run_id)
    assert done.state == "finished", loop.told(run_id)
    assert outcome(loop, run_id) == undisturbed.build


async def test_rejection_goes_back_to_the_builder(tmp_path: Path) -> None:
    """The Builder sharpens what the operator named, pilots it, and asks again."""
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec(approve="ask", detached_ask="wait", baseline_score=75, pilots=3))
    first = await _waiting(loop, run_id)
    assert first.state == "waiting", loop.told(run_id)
    assert [pilot["score"] for pilot in first.pilots] == [70]
    assert first.approval_id is not None
    approvals.decide(loop.project, first.approval_id, "reject", "CASE-001 is too easy.")
    await until(lambda: runs.read_run(loop.project, run_id).approval_id != first.approval_id)
    second = await _waiting(loop, run_id)
    assert second.state == "waiting", loop.told(run_id)
    assert second.approval_id not in {None, first.approval_id}
    assert [pilot["score"] for pilot in second.pilots] == [55], "one of two Cases was sharpened; a repair of pilot 1"
    dispatched = [event["cell"] for event in loop.of(run_id, "target_started")]
    assert len(dispatched) == 3, "only the Case that changed is measured again"
    assert second.approval_id is not None
    approvals.decide(loop.project, second.approval_id, "approve")
    done = await loop.end_of(run_id)
    assert done.state == "finished", loop.told(run_id)
    assert done.frozen_pilot == 1
    assert done.baseline is not None
    assert done.baseline["score"] == 55


async def test_first_of_two_deciders_wins(tmp_path: Path) -> None:
    loop = Loop.at(tmp_path / "home")
    stopped = await loop.build(approve="ask", detached_ask="exit")
    approval_id = stopped.approval_id
    assert approval_id is not None, loop.told(stopped.run_id)
    won: list[str] = []
    lost: list[ConflictError] = []
    together = threading.Barrier(8)

    def decide(number: int) -> None:
        together.wait()
        verdict: approvals.Verdict = "approve" if number % 2 else "reject"
        try:
            approvals.decide(loop.project, approval_id, verdict, f"number {number}", actor=f"decider {number}")
        except ConflictError as error:
            lost.append(error)
        else:
            won.append(f"{verdict} number {number}")

    deciders = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
    for decider in deciders:
        decider.start()
    for decider in deciders:
        decider.join()
    assert len(won) == 1
    assert len(lost) == 7
    _, decision = approvals.get(loop.project, approval_id)
    assert decision is not None
    assert won == [f"{decision.verdict} {decision.reason}"]
    assert all(decision.verdict in str(error) and decision.signature in str(error) for error in lost)
    view = await loop.end_of(runs.resume(loop.project, stopped.run_id))
    [told] = loop.of(view.run_id, "approval_decided", approval_id=approval_id)
    assert told["decision"] == decision.verdict, "the run goes by the decision that stands"


async def test_resume_right_when_it_stops(tmp_path: Path) -> None:
    """Who approves the moment the run says that it waits may resume at once, though its process is still leaving."""
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec(approve="ask", detached_ask="exit"))
    await until(lambda: runs.read_run(loop.project, run_id).state == "blocked", every_s=0.001)
    approval_id = runs.read_run(loop.project, run_id).approval_id
    assert approval_id is not None
    approvals.decide(loop.project, approval_id, "approve")
    runs.resume(loop.project, run_id)
    done = await loop.end_of(run_id)
    assert done.state == "finished", loop.told(run_id)
