"""The arms in the real worlds: the oracle wins, what must lose loses (K6)."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from core.curation.arms import Arm, CuratedArm, FixedArm, Stream
from core.curation.executors import ScriptedExecutor
from core.curation.memories import Retrieval
from core.curation.self_judgement import OwnOpinion
from core.curation.stream import Happened, Loop, walk, walkers
from core.curation.verbatim import VerbatimCurator
from trainer.worlds import open_world

pytestmark = pytest.mark.meets("K6")
RETRIEVALS = (Retrieval(), Retrieval(min_overlap=0.51))


def success(arm: Arm, of: Loop) -> float:
    outcomes: list[bool] = []

    def record(position: int, happened: list[Happened], seconds: float) -> None:
        outcomes.extend(place.success is True for place, _ in happened)

    with arm.working():
        assert walk(arm, of, walkers(arm, of.streams), start=0, record=record, go_on=lambda: True)  # type: ignore[arg-type]
    return sum(outcomes) / len(outcomes)


@pytest.mark.parametrize("retrieval", RETRIEVALS, ids=["plain", "gated"])
@pytest.mark.parametrize("name", ["household", "shop"])
def test_verbatim_and_shuffled_lose_to_the_oracle(name: str, retrieval: Retrieval) -> None:
    world = open_world(name)
    streams = tuple(Stream(seed, world.stream("test", seed, 100)) for seed in (1, 2))
    loop = Loop(world, ScriptedExecutor("weak"), OwnOpinion(), None, streams)
    skills = world.oracle()
    none = success(FixedArm("none", (), retrieval), loop)
    oracle = success(FixedArm("oracle", skills, retrieval), loop)
    shuffled = success(FixedArm("shuffled", skills, retrieval, shuffled=True), loop)
    verbatim = success(CuratedArm("verbatim", lambda: nullcontext(VerbatimCurator()), retrieval), loop)
    assert oracle >= none + 0.25
    assert oracle >= shuffled + 0.2
    assert oracle >= verbatim + 0.25
