"""The small loop itself, whole: what every other trial here is compared with says something."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from tests.e2e.conftest import Undisturbed
from tests.e2e.loop import Loop, decided, gone, outcome, reruns

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def _phases(loop: Loop, run_id: str) -> list[str]:
    return [name for name, _ in groupby(event["phase"] for event in loop.of(run_id, "phase"))]


def test_small_loop_has_something_to_lose(undisturbed: Undisturbed) -> None:
    """A pilot, a sharper one that is frozen, an accepted and a rejected Candidate."""
    assert decided(undisturbed.whole) == [
        ("build", 2),
        ("optimize", None, (2, "accepted", 90.0), (3, "rejected", 90.0)),
    ]
    assert [pilot["score"] for pilot in undisturbed.whole["runs"][0]["pilots"]] == [70.0, 40.0]
    assert undisturbed.whole["left"]["version"] == 2, "a rejected Candidate leaves nothing"
    assert [entry["version"] for entry in undisturbed.whole["left"]["scoreboard"]] == [1, 2]


async def test_held_out_cases_are_measured_beside_it(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Same decisions with a held-out Case, which gains too and is part of no pilot and no round."""
    loop = Loop.at(tmp_path / "home")
    build = await loop.build(cases=None)
    assert build.state == "finished", loop.told(build.run_id)
    optimize = await loop.optimize()
    assert optimize.state == "finished", loop.told(optimize.run_id)
    result = outcome(loop, build.run_id, optimize.run_id)
    assert decided(result) == decided(undisturbed.whole)
    assert [run["heldout"] for run in result["runs"]] == [
        [["baseline", 1, 40.0]],
        [["baseline", 1, 40.0], ["final", 2, 90.0]],
    ]
    held = {cell for run in result["runs"] for cell, told in run["cells"].items() if told[0].startswith("CASE-003")}
    assert held
    assert all(cell.startswith("heldout") for cell in held)
    assert _phases(loop, build.run_id)[-4:] == ["baseline", "report", "heldout", "report"]
    assert _phases(loop, optimize.run_id) == [
        "reference",
        "heldout",
        *["candidate", "evaluate", "decide"] * 2,
        "report",
        "heldout",
        "report",
    ]
    assert reruns([*loop.events(build.run_id), *loop.events(optimize.run_id)]) == []
    assert await gone(loop.home) == {}


async def test_seed_decides_nothing_but_what_it_says(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """A run with the seed given is the run with the seed by default: the same numbers a second time."""
    loop = undisturbed.home_after_build(tmp_path / "home")
    view = await loop.optimize(seed=7, concurrency=1)
    assert view.state == "finished", loop.told(view.run_id)
    assert outcome(loop, loop.runs()[0], view.run_id) == undisturbed.whole
