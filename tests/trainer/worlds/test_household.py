"""The household as a World: what its streams hold, how its executors fare, and that the same gives the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from core.curation.worlds import Task
from core.foundation.errors import UsageError
from core.skillrepo.retrieval import retrieve
from core.skillrepo.skill import Skill
from trainer.worlds import open_world
from trainer.worlds.household import Household
from trainer.worlds.household.constants import CONSTANTS
from trainer.worlds.household.tasks import layout_of, make_task
from trainer.worlds.household.things import COUNTS, FAMILIES, HELD_OUT, kind

WORLD = Household()


def share(executor: str, skills: tuple[Skill, ...] = (), seeds: range = range(4), overlap: float = 0.0) -> float:
    """Success over whole test streams."""
    won = tried = 0
    for seed in seeds:
        for task in WORLD.stream("test", seed):
            found = [hit.skill for hit in retrieve(skills, task.text, min_overlap=overlap)]
            won += WORLD.run(task, found, executor).success is True
            tried += 1
    return won / tried


def test_a_stream_has_alfworlds_mix() -> None:
    tasks = WORLD.stream("test", 3)
    assert {family: sum(task.family == family for task in tasks) for family in FAMILIES} == dict(COUNTS)
    assert tasks != WORLD.stream("test", 4)
    assert WORLD.stream("test", 3, 7) == tasks[:7]
    assert len(WORLD.stream("train", 3, 300)) == 300


def test_a_group_is_of_one_family() -> None:
    assert {task.family for task in WORLD.group("train", 1, 10)} <= set(FAMILIES)
    assert len({task.family for task in WORLD.group("train", 1, 10)}) == 1
    assert {task.family for task in WORLD.group("train", 1, 10, "cool")} == {"cool"}
    assert len({WORLD.group("train", seed, 1)[0].family for seed in range(60)}) == len(FAMILIES)
    with pytest.raises(UsageError, match="no family"):
        WORLD.group("train", 1, 10, "fly")


@pytest.mark.parametrize("family", FAMILIES)
def test_held_out_objects_occur_in_test_rooms_only(family: str) -> None:
    for split in ("train", "test"):
        for seed in range(30):
            layout = layout_of(make_task(family, split, seed))
            things = {kind(thing) for inside in layout.contents.values() for thing in inside} - {"desklamp"}
            assert {thing in HELD_OUT for thing in (*things, layout.goal.object)} == {split == "test"}


def test_the_weak_executor_alone_is_as_good_as_the_papers() -> None:
    """Honest constants: about 43 %, and far below what hand-written skills give."""
    assert 0.38 <= share("weak") <= 0.48


def test_the_constants_are_the_ones_that_results_are_recorded_for() -> None:
    """A change makes every number that was measured before another world's: measure again, then pin the new hash."""
    assert WORLD.fingerprint == "82bbefb0c702caa4f51a9c155f3b08f0662156113088b31bc6328f33cfac4cd4"


def test_executors_differ_and_the_oracle_lifts_each() -> None:
    alone = [share(name, seeds=range(3)) for name in WORLD.executors]
    taught = [share(name, WORLD.oracle(), seeds=range(3), overlap=0.51) for name in WORLD.executors]
    assert alone[0] + 0.05 < alone[1] < alone[2] - 0.05
    assert all(after > before + 0.2 for before, after in zip(alone, taught, strict=True))
    assert taught[0] >= 0.88


def test_a_run_tells_what_it_did() -> None:
    task = WORLD.stream("test", 0)[0]
    episode = WORLD.run(task, WORLD.oracle(), "weak")
    assert episode.task is task
    assert episode.steps == len(episode.trajectory) <= CONSTANTS.max_steps
    assert episode.intro.rstrip().endswith(f"Your task is to: {task.text}.")
    assert episode.judged in (True, False)
    with pytest.raises(UsageError, match="no executor"):
        WORLD.run(task, (), "mighty")
    with pytest.raises(UsageError, match="can't play"):
        WORLD.run(Task("x", "pick", "sing a song", "test", 1), (), "weak")


def test_the_same_gives_the_same_in_any_process() -> None:
    """K16, and finding 7: no set is ever walked where order matters."""
    program = (
        "from trainer.worlds import open_world; w = open_world('household'); s = w.stream('test', 5, 25);"
        "print(w.fingerprint, [(t, w.run(t, w.oracle(), e)) for t in s for e in w.executors])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-P", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_it_opens_without_torch() -> None:
    program = (
        "import sys; from trainer.worlds import open_world; open_world('household')\nprint('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.strip() == "False"
    assert open_world("household").name == "household"
