"""A model that breaks protocol in a quarter of its turns: it completes, or stops blocked with a true reason."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.evolution.events import Event
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
    assert "fault of its own" not in log, log
    assert view.state in {"finished", "blocked"}, loop.told(view.run_id)
    assert reruns(loop.events(view.run_id)) == []
    if view.state == "blocked":
        assert _true(view.reason, loop.events(view.run_id)), loop.told(view.run_id)


def _true(reason: str, events: Sequence[Event]) -> bool:
    """Tell whether a reason names what is missing, and the journal bears it out."""
    if (cell := re.search(r"Without a score: (\S+) run (\d+): (\w+)", reason)) is not None:
        case_id, number, code = cell.groups()
        told = [e for e in events if e["event"] == "cell" and e["case_id"] == case_id and e["run"] == int(number)]
        return bool(told) and (told[-1]["state"], told[-1].get("failure_code")) == ("failed", code)
    if (refused := re.search(r"(\w+) was refused (\d+) times \((\w+)\)", reason)) is not None:
        tool, times, code = refused.groups()
        answers = [json.loads(e["output"]) for e in events if e["event"] == "tool_result" and e["tool"] == tool]
        return len([answer for answer in answers if answer.get("refused") == code]) >= int(times)
    if (idle := re.search(r"ended its turn (\d+) times in a row", reason)) is not None:
        return len([e for e in events if e["event"] == "nudge"]) >= int(idle[1]) - 1
    return False


@pytest.mark.parametrize("seed", QUICK)
async def test_clumsy(seed: int, tmp_path: Path) -> None:
    await _try(seed, tmp_path / "home")


@pytest.mark.soak
@pytest.mark.parametrize("seed", ALL)
async def test_clumsy_more(seed: int, tmp_path: Path) -> None:
    await _try(seed, tmp_path / "home")
