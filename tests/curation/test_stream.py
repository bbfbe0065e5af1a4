"""The closed loop on a world that can be worked out by hand (K5, K6)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from core.curation.arms import Arm, CuratedArm, FixedArm, Stream, wrong_tasks
from core.curation.content_judge import RuleJudge
from core.curation.curators import Curation, CurationInput
from core.curation.executors import ScriptedExecutor
from core.curation.fields import Fields
from core.curation.memories import Retrieval
from core.curation.positions import Place, place_json, read_place
from core.curation.self_judgement import OwnOpinion, SelfJudge, WorldVerdict
from core.curation.stream import Happened, Loop, StreamBrokenError, Walker, replay, walk, walkers
from core.curation.verbatim import VerbatimCurator
from core.curation.worlds import World
from core.skillrepo.calls import parse, render
from core.skillrepo.skill import read

from .kitchen import Kitchen, skill

pytestmark = pytest.mark.meets("K6")


class Teacher:
    """A curator that knows: after each attempt it inserts the right skill, unless it was retrieved."""

    name = "teacher"

    def __init__(self, fail_at: int | None = None) -> None:
        self.seen: list[CurationInput] = []
        self.fail_at = fail_at

    def refuses(self, world: str) -> str:
        return ""

    def curate(self, inputs: Sequence[CurationInput]) -> Sequence[Curation]:
        answers = []
        for given in inputs:
            if self.fail_at == len(self.seen):
                self.seen.append(given)
                answers.append(Curation("", (), failure="the provider is overloaded"))
                continue
            self.seen.append(given)
            way = given.episode.task.family
            known = any(one.title == way for one in given.retrieved)
            text = "" if known else render("new_skill_insert", {"skill_name": way, "content": skill(way).content})
            answers.append(Curation(text, parse(text), 100, 10))
        return answers


def taught(teacher: Teacher) -> CuratedArm:
    return CuratedArm("trained", lambda: nullcontext(teacher), Retrieval())


def loop(
    world: World | None = None,
    seeds: tuple[int, ...] = (1, 2),
    count: int | None = None,
    judge: SelfJudge | None = None,
) -> Loop:
    of = world or Kitchen()
    streams = tuple(Stream(seed, of.stream("test", seed, count)) for seed in seeds)
    return Loop(of, ScriptedExecutor("plain"), judge or OwnOpinion(), RuleJudge(of), streams)


def go(arm: Arm, of: Loop, start: int = 0, until: int | None = None) -> list[list[Place]]:
    walking = walkers(arm, of.streams)
    return go_on(arm, of, walking, start, until)


def go_on(arm: Arm, of: Loop, walking: Sequence[Walker], start: int, until: int | None = None) -> list[list[Place]]:
    done: list[list[Place]] = []

    def record(position: int, happened: Sequence[Happened], seconds: float) -> None:
        assert position == start + len(done)
        assert seconds >= 0
        done.append([place for place, _ in happened])

    with arm.working():
        walk(arm, of, walking, start=start, record=record, go_on=lambda: until is None or start + len(done) < until)
    return done


def successes(places: list[list[Place]]) -> list[list[bool | None]]:
    return [[place.success for place in at] for at in places]


def test_without_skills_the_executor_does_what_it_knows() -> None:
    done = go(FixedArm("none", (), Retrieval()), loop())
    # Task seeds are 1000 * stream + position; every fourth is known.
    assert successes(done) == [[position % 4 == 0] * 2 for position in range(12)]
    assert {place.held for at in done for place in at} == {0}
    assert all(place.change is None and place.operations == () for at in done for place in at)


def test_a_curator_starts_from_nothing_and_its_skills_help_the_tasks_that_follow() -> None:
    teacher = Teacher()
    done = go(taught(teacher), loop())
    # Stream 1 begins with fry, stream 2 with boil; each way is taught once, after its first task.
    assert [at[0].held for at in done] == [0, 1] + [2] * 10
    assert successes(done)[2:] == [[True, True]] * 10
    assert [place.skills for place in done[-1]] == [2, 2]
    first = done[0][0]
    assert [(one.kind, one.title, one.valid) for one in first.operations] == [("insert", "fry", True)]
    assert first.operations[0].content_valid is True
    assert done[5][0].retrieved == ("boil",)
    assert first.prompt_tokens == 100
    assert first.characters == len(skill("fry").content)


@pytest.mark.meets("K5")
def test_the_curator_sees_the_opinion_and_the_record_keeps_both() -> None:
    wrong = Kitchen(misjudges=frozenset({"test-1-0"}))
    teacher = Teacher()
    done = go(taught(teacher), loop(wrong, seeds=(1,)))
    assert (done[0][0].success, done[0][0].judged) == (True, False)
    assert teacher.seen[0].judged is False
    teacher = Teacher()
    done = go(taught(teacher), loop(wrong, seeds=(1,), judge=WorldVerdict()))
    assert (done[0][0].success, done[0][0].judged) == (True, True)
    assert teacher.seen[0].judged is True


def test_what_infrastructure_loses_is_masked_and_teaches_nothing() -> None:
    teacher = Teacher()
    done = go(taught(teacher), loop(Kitchen(lose=frozenset({"test-1-0"}))))
    lost, other = done[0]
    assert (lost.success, lost.judged, lost.change, lost.failure) == (None, None, None, "the line went dead")
    assert other.success is True
    assert len(teacher.seen) == 23
    assert lost.skills == 0


def test_a_curation_that_is_lost_is_said_and_changes_nothing() -> None:
    done = go(taught(Teacher(fail_at=0)), loop(seeds=(1,)))
    assert done[0][0].unlearned == "the provider is overloaded"
    assert done[0][0].change is None
    assert done[0][0].skills == 0


def test_when_everything_is_lost_the_run_stops_and_says_why() -> None:
    dead = Kitchen(lose=frozenset(f"test-{seed}-{position}" for seed in (1, 2) for position in range(2, 12)))
    recorded: list[int] = []
    arm = FixedArm("none", (), Retrieval())
    of = replace(loop(dead), parallel=2)
    with pytest.raises(StreamBrokenError, match="the line went dead"):
        walk(
            arm, of, walkers(arm, of.streams), start=0, record=lambda at, _, __: recorded.append(at), go_on=lambda: True
        )
    assert recorded == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("cut", [1, 5, 11])
def test_a_run_that_was_cut_anywhere_ends_as_one_that_was_not(cut: int) -> None:
    whole = go(taught(Teacher()), loop())
    begun = go(taught(Teacher()), loop(), until=cut)
    assert len(begun) == cut
    # What is kept is what the journal holds: plain JSON.
    kept = [[read_place(Fields(json.loads(json.dumps(place_json(place))))) for place in at] for at in begun]
    assert kept == begun
    arm = taught(Teacher())
    walking = walkers(arm, loop().streams)
    replay(walking, [{place.seed: place.change for place in at if place.change is not None} for at in kept])
    assert begun + go_on(arm, loop(), walking, cut) == whole


def test_a_curation_is_drawn_by_its_place_alone() -> None:
    first, second = Teacher(), Teacher()
    go(taught(first), loop(seeds=(1, 2)))
    go(taught(second), loop(seeds=(2,)))
    alone = {given.episode.task.id: given.seed for given in second.seen}
    together = {given.episode.task.id: given.seed for given in first.seen}
    assert alone.items() <= together.items()
    assert len(set(together.values())) == len(together)


def test_arms_that_never_change_take_several_positions_at_once_and_record_them_one_by_one() -> None:
    arm = FixedArm("oracle", Kitchen().oracle(), Retrieval())
    slow, quick = loop(), replace(loop(), parallel=100)
    assert go(arm, replace(slow, parallel=1)) == go(arm, quick)


def test_streams_of_different_lengths_walk_together() -> None:
    of = loop()
    short = replace(of.streams[1], tasks=of.streams[1].tasks[:3])
    done = go(taught(Teacher()), replace(of, streams=(of.streams[0], short)))
    assert [len(at) for at in done] == [2, 2, 2] + [1] * 9


# ------------------------------------------------------------------------------------------- arms that must lose


def test_the_oracle_wins_and_its_skills_on_the_wrong_tasks_lose() -> None:
    skills = Kitchen().oracle()
    right = go(FixedArm("oracle", skills, Retrieval()), loop())
    wrong = go(FixedArm("shuffled", skills, Retrieval(), shuffled=True), loop())
    assert successes(right) == [[True, True]] * 12
    assert successes(wrong) == [[False, False]] * 12
    assert [place.retrieved for place in right[0]] == [("fry",), ("boil",)]
    assert [place.retrieved for place in wrong[0]] == [("boil",), ("fry",)]


def test_wrong_tasks_are_of_another_family_and_each_is_used_once() -> None:
    stream = Stream(3, Kitchen().stream("test", 3, 40))
    wrong = wrong_tasks(stream)
    assert all(one.family != other.family for one, other in zip(stream.tasks, wrong, strict=True))
    assert sorted(one.id for one in wrong) == sorted(one.id for one in stream.tasks)
    assert wrong == wrong_tasks(stream)
    assert wrong != wrong_tasks(replace(stream, seed=4))
    single = Stream(1, Kitchen().group("test", 1, 5, "boil"))
    assert all(one.id != other.id for one, other in zip(single.tasks, wrong_tasks(single), strict=True))


def test_verbatim_stores_each_success_whole_under_a_title_of_its_own() -> None:
    arm = CuratedArm("verbatim", lambda: nullcontext(VerbatimCurator()), Retrieval())
    done = go(arm, loop(seeds=(1,)))
    stored = [one for at in done for place in at for one in place.operations]
    assert stored
    assert all(one.valid and one.kind == "insert" for one in stored)
    assert len({one.title for one in stored}) == len(stored) == sum(bool(at[0].judged) for at in done)
    change = done[0][0].change
    assert change is not None
    content = read(change["calls"][0]["arguments"]["content"])
    assert "Action: fry it" in content.body
    # It names what was cooked, which is no skill.
    assert stored[0].content_valid is False
    assert stored[0].issues == ("ABSTRACTION",)


def test_verbatim_takes_whatever_stands_in_a_trajectory(tmp_path: Path) -> None:
    from core.curation.worlds import Episode, Step, Task

    odd = Task("x", "f", "\x1b[31m" + "very " * 60 + "long: # - \ud800", "test", 1)
    episode = Episode(odd, True, 1, (Step("a\x00b", "---\nname: x\n"),), judged=True)
    curation = VerbatimCurator().curate([CurationInput(episode, ())])[0]
    assert curation.failure == ""
    arguments = curation.calls[0].arguments
    assert arguments is not None
    assert read(arguments["content"]).title == arguments["skill_name"]
