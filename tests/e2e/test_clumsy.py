"""A model that breaks protocol in a quarter of its turns: it completes, or stops blocked with a true reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.evolution.run_view import RunView
from tests.e2e.loop import Loop, gone, reruns

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

QUICK, ALL = range(3), range(3, 20)


async def _try(seed: int, place: Path) -> None:
    loop = Loop.at(place, seed=seed, model={"provider": "rehearsal", "model_id": "rehearsal-clumsy"})
    build = await loop.build()
    _ended_well(loop, build)
    if build.state == "finished":
        _ended_well(loop, await loop.optimize())
    assert await gone(loop.home) == {}


def _ended_well(loop: Loop, view: RunView) -> None:
    log = loop.run(view.run_id).log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log
    assert view.state in {"finished", "blocked"}, loop.told(view.run_id)
    assert reruns(loop.events(view.run_id)) == []
    if view.state == "blocked":
        raise AssertionError("look: " + loop.told(view.run_id))


@pytest.mark.parametrize("seed", QUICK)
async def test_clumsy(seed: int, tmp_path: Path) -> None:
    await _try(seed, tmp_path / "home")


@pytest.mark.soak
@pytest.mark.parametrize("seed", ALL)
async def test_clumsy_more(seed: int, tmp_path: Path) -> None:
    await _try(seed, tmp_path / "home")
