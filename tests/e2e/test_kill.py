"""kill -9 at any instant, then resume: the same result, nothing finished twice, nobody left (DECISIONS 12, 15, 16).

Only the engine is killed. What it had started must end with it or be ended by the resume.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.evolution import runs
from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import Loop, belonging, gone, outcome, reruns
from tests.e2e.timeline import Instant, kill_at

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

TRIALS, KILLS = 5, 4
"""Runs of each role, and how often each is killed where it does not end before: about twenty random instants a role."""
SOAK = 200


def _events(*names: str, soak: Sequence[str]) -> list[object]:
    """Return events to kill after: the places where most is half done, and for long trials the others too."""
    return [*names, *(pytest.param(name, marks=pytest.mark.soak) for name in soak)]


BUILDER_EVENTS = _events(
    "intent create_agent",
    "target_finished",
    "cell scored",
    "approval_requested",
    "intent record_baseline",
    soak=(
        "run_started",
        "agent",
        "contract",
        "revision",
        "dispatch",
        "target_started",
        "pilot",
        "intent request_freeze",
        "approval_decided",
        "frozen",
        "baseline",
    ),
)
OPTIMIZER_EVENTS = _events(
    "intent propose_candidate",
    "target_finished",
    "evaluated",
    "intent decide",
    "restored",
    soak=("reference", "candidate", "intent evaluate_candidate", "target_started", "cell scored", "decision"),
)


def _shares(role: str, trial: int) -> list[float]:
    """Return how far a run gets before each kill, as shares of an undisturbed run from one kill to the next."""
    rng = random.Random(f"{role} {trial}")
    return [rng.random() / KILLS for _ in range(KILLS)]


async def _survives(loop: Loop, run_id: str, instants: list[Instant], expected: dict[str, Any], *before: str) -> int:
    """Kill the run's engine at each instant in turn, resume it each time, and hold it to the undisturbed result.

    Returns how often it was killed: a run may end before an instant comes.
    """
    run, from_event, kills = loop.run(run_id), 0, 0
    for instant in instants:
        kills += await kill_at(run, instant, from_event=from_event)
        if runs.read_run(loop.project, run_id).state == "finished":
            break
        from_event = len(loop.events(run_id))
        runs.resume(loop.project, run_id)
    view = await loop.end_of(run_id)
    print(f"killed {kills} times at {instants}")  # noqa: T201 -- shown where the trial fails
    assert view.state == "finished", loop.told(run_id)
    assert outcome(loop, *before, run_id) == expected
    assert reruns(loop.events(run_id)) == []
    assert await gone(loop.home) == {}
    return kills


async def _builder(loop: Loop, instants: list[Instant], undisturbed: Undisturbed) -> int:
    return await _survives(loop, loop.start(loop.build_spec()), instants, undisturbed.build)


async def _optimizer(place: Path, instants: list[Instant], undisturbed: Undisturbed) -> int:
    loop = undisturbed.home_after_build(place)
    build = loop.runs()[0]
    return await _survives(loop, loop.start(loop.optimize_spec()), instants, undisturbed.whole, build)


@pytest.mark.parametrize("trial", range(TRIALS))
async def test_builder_killed_at_random_instants(trial: int, tmp_path: Path, undisturbed: Undisturbed) -> None:
    instants = [undisturbed.builder.at(share) for share in _shares("builder", trial)]
    assert await _builder(Loop.at(tmp_path / "home"), instants, undisturbed) >= KILLS // 2


@pytest.mark.parametrize("trial", range(TRIALS))
async def test_optimizer_killed_at_random_instants(trial: int, tmp_path: Path, undisturbed: Undisturbed) -> None:
    instants = [undisturbed.optimizer.at(share) for share in _shares("optimizer", trial)]
    assert await _optimizer(tmp_path / "home", instants, undisturbed) >= KILLS // 2


@pytest.mark.parametrize("event", BUILDER_EVENTS)
async def test_builder_killed_right_after(event: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    await _builder(Loop.at(tmp_path / "home"), [undisturbed.builder.after(event)], undisturbed)


@pytest.mark.parametrize("event", OPTIMIZER_EVENTS)
async def test_optimizer_killed_right_after(event: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    await _optimizer(tmp_path / "home", [undisturbed.optimizer.after(event)], undisturbed)


async def test_killed_again_and_again(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """A run that is killed soon after every start still comes to its end."""
    rng = random.Random("again")
    instants = [Instant(2, rng.uniform(0.2, 2.5)) for _ in range(6)]
    await _builder(Loop.at(tmp_path / "home"), instants, undisturbed)


async def test_targets_do_not_outlive_the_resume(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Killed while Targets run: they are gone once the run goes on, and their remains are kept."""
    loop = Loop.at(tmp_path / "home")
    run_id = loop.start(loop.build_spec())
    instant = undisturbed.builder.after("target_started", 2)
    assert await kill_at(loop.run(run_id), instant)
    started = loop.of(run_id, "target_started")
    runs.resume(loop.project, run_id)
    view = await loop.end_of(run_id)
    assert view.state == "finished", loop.told(run_id)
    again = [event["cell"] for event in loop.of(run_id, "cell", state="interrupted")]
    assert again, "no cell was interrupted, so nothing was tried"
    for event in started:
        assert Path(event["workspace"]).is_dir(), "the remains of an interrupted Target are kept"
    assert belonging(loop.home) == {}


@pytest.mark.soak
@pytest.mark.parametrize("trial", range(SOAK))
async def test_soak(trial: int, tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Builder and Optimizer in turn, killed one to three times at random instants."""
    rng = random.Random(f"soak {trial}")
    timeline = undisturbed.builder if trial % 2 else undisturbed.optimizer
    instants = [timeline.at(rng.random()) for _ in range(rng.randint(1, 3))]
    if trial % 2:
        await _builder(Loop.at(tmp_path / "home"), instants, undisturbed)
    else:
        await _optimizer(tmp_path / "home", instants, undisturbed)
