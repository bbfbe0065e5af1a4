"""The frozen executors: what they heed, what misleads them, what they think of themselves."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.curation.worlds import Task
from core.skillrepo.skill import Skill, write
from trainer.worlds.household import Household
from trainer.worlds.household import fingerprint as fingerprint_module
from trainer.worlds.household.conduct import Luck, compliance, conduct
from trainer.worlds.household.constants import CONSTANTS, WEAK, Constants, Habits
from trainer.worlds.household.reading import read_skill
from trainer.worlds.household.room import Room
from trainer.worlds.household.tasks import Goal, layout_of, make_task
from trainer.worlds.household.things import FAMILIES
from trainer.worlds.household.wordings import Meaning
from trainer.worlds.household.words import FILLERS, LINES

WORLD = Household()
BODIES = {
    "pick": ("SEARCH", "OPEN", "TAKE", "GOTO", "PUT"),
    "look": ("SEARCH", "OPEN", "TAKE", "LAMP"),
    "clean": ("SEARCH", "OPEN", "TAKE", "CLEAN", "GOTO", "PUT"),
    "heat": ("SEARCH", "OPEN", "TAKE", "HEAT", "GOTO", "PUT"),
    "cool": ("SEARCH", "OPEN", "TAKE", "COOL", "GOTO", "PUT"),
    "two": ("SEARCH", "OPEN", "TAKE", "GOTO", "PUT", "REPEAT"),
}


def skill(*keys: str, title: str = "Put") -> Skill:
    lines = "\n".join({**LINES, **FILLERS}.get(key, key) for key in keys)
    return write(title, "Put an object in a place.", f"# Workflow\n{lines}")


def tasks(family: str, count: int = 200) -> tuple[Task, ...]:
    return WORLD.group("test", 7, count, family)


def success(family: str, *given_skills: Skill, executor: str = "weak", count: int = 200) -> float:
    return sum(WORLD.run(task, given_skills, executor).success is True for task in tasks(family, count)) / count


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_whole_skill_helps_most(family: str) -> None:
    """Each step that is left out costs success; the whole skill wins nearly always."""
    whole = success(family, skill(*BODIES[family]))
    assert whole >= 0.85
    assert success(family) <= whole - 0.15
    without_search = success(family, skill(*(key for key in BODIES[family] if key not in ("SEARCH", "OPEN"))))
    assert without_search <= whole - 0.08


@pytest.mark.parametrize(("family", "need"), [("clean", "CLEAN"), ("heat", "HEAT"), ("cool", "COOL"), ("look", "LAMP")])
def test_a_skill_without_the_needed_step_dulls_the_habit(family: str, need: str) -> None:
    lacking = success(family, skill(*(key for key in BODIES[family] if key != need)))
    meta_only = success(family, skill("SEARCH", "OPEN"))
    assert lacking < meta_only < success(family, skill(*BODIES[family]))


def test_another_familys_skill_misleads() -> None:
    assert success("heat", skill(*BODIES["clean"])) < success("heat", skill("SEARCH", "OPEN"))
    # A stronger executor notices more often.
    assert success("heat", skill(*BODIES["clean"]), executor="strong") > success("heat", skill(*BODIES["clean"])) + 0.15


def test_text_that_is_bad_is_heeded_less() -> None:
    good = read_skill(skill(*BODIES["clean"]))
    assert compliance(WEAK, good, 1) == WEAK.compliance
    assert compliance(WEAK, good, 4) == pytest.approx(WEAK.compliance - 3 * WEAK.per_extra)
    vague = read_skill(skill(*BODIES["clean"], "tips", "guidance"))
    assert compliance(WEAK, vague, 1) == pytest.approx(WEAK.compliance - 2 * WEAK.per_vague)
    named = read_skill(skill(*BODIES["clean"], "Look for the apple.", "Look on the dresser."))
    assert compliance(WEAK, named, 1) == pytest.approx(WEAK.compliance - WEAK.per_object - WEAK.per_place)
    assert compliance(WEAK, read_skill(skill("TAKE", *["Look for the apple."] * 9)), 5) == WEAK.least


def test_meta_steps_are_taken_from_every_skill_and_only_the_first_is_followed() -> None:
    goal, luck = Goal("clean", "apple", "shelf"), Luck.of(1)
    always = dataclasses.replace(WEAK, compliance=1.0, per_extra=0.0, systematic=0.0)
    first, meta = skill("TAKE", "CLEAN", "GOTO", "PUT", title="a"), skill("SEARCH", title="b")
    other = skill(*BODIES["heat"])
    way = conduct(goal, [read_skill(one) for one in (first, meta)], always, luck)
    assert way.steps == (Meaning.TAKE, Meaning.CLEAN, Meaning.GOTO, Meaning.PUT)
    assert (way.systematic, way.opens) == (True, False)
    assert way.used == ("a", "b")
    way = conduct(goal, [read_skill(one) for one in (meta, first, other)], always, luck)
    assert way.steps == (Meaning.TAKE, Meaning.CLEAN, Meaning.GOTO, Meaning.PUT)
    assert way.opens  # from the third, whose heating is left alone
    assert conduct(goal, [], always, luck).used == ()


def test_who_does_not_heed_uses_nothing() -> None:
    never = dataclasses.replace(WEAK, compliance=0.0, least=0.0)
    way = conduct(Goal("clean", "apple", "shelf"), [read_skill(skill(*BODIES["clean"]))], never, Luck.of(1))
    assert way.used == ()
    assert way == conduct(Goal("clean", "apple", "shelf"), [], never, Luck.of(1))


def test_a_second_look_notices_what_is_missing() -> None:
    body = ("SEARCH", "OPEN", "TAKE", "GOTO", "PUT")
    assert success("cool", skill(*body[:3], "VERIFY", *body[3:])) > success("cool", skill(*body)) + 0.05


def test_luck_is_the_same_whatever_the_skills() -> None:
    """A better skill never loses a task by other draws: what it wins are supersets, but for the steps that it costs."""
    whole, bare = skill(*BODIES["heat"]), skill("TAKE", "GOTO", "PUT")
    lost = [
        task
        for task in tasks("heat", 300)
        if WORLD.run(task, [bare], "weak").success and not WORLD.run(task, [whole], "weak").success
    ]
    assert len(lost) / 300 < 0.05


@pytest.mark.meets("K5")
def test_it_mostly_judges_itself_right_and_flatters_itself() -> None:
    """K5: the executor's opinion and the world's verdict are kept apart."""
    episodes = [WORLD.run(task, (), "weak") for seed in range(12) for task in WORLD.stream("test", seed)]
    won = [episode for episode in episodes if episode.success]
    lost = [episode for episode in episodes if not episode.success]
    missed = sum(episode.judged is False for episode in won) / len(won)
    flattered = sum(episode.judged is True for episode in lost) / len(lost)
    assert missed == pytest.approx(CONSTANTS.judge_misses, abs=0.02)
    assert flattered == pytest.approx(CONSTANTS.judge_flatters, abs=0.03)


def _changed(habits: Habits) -> list[Habits]:
    numbers = [field.name for field in dataclasses.fields(Habits) if field.name != "needs"]
    return [
        *(dataclasses.replace(habits, **{name: getattr(habits, name) + 0.01}) for name in numbers),
        *(dataclasses.replace(habits, needs={**habits.needs, family: 0.123}) for family in habits.needs),
    ]


def test_every_constant_is_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashed(constants: Constants) -> str:
        monkeypatch.setattr(fingerprint_module, "CONSTANTS", constants)
        return fingerprint_module.fingerprint.__wrapped__()

    assert hashed(CONSTANTS) == WORLD.fingerprint
    others = [
        *(dataclasses.replace(CONSTANTS, executors={**CONSTANTS.executors, "weak": one}) for one in _changed(WEAK)),
        dataclasses.replace(CONSTANTS, max_steps=31),
        dataclasses.replace(CONSTANTS, distractors=(8, 15)),
        dataclasses.replace(CONSTANTS, lamps=0.4),
        dataclasses.replace(CONSTANTS, judge_misses=0.0),
        dataclasses.replace(CONSTANTS, judge_flatters=0.0),
    ]
    hashes = {hashed(one) for one in others}
    assert len(hashes) == len(others)
    assert WORLD.fingerprint not in hashes


ACTIONS = st.sampled_from(["go", "open", "close", "take", "put", "clean", "heat", "cool", "use", "examine"])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FAMILIES), st.integers(0, 10_000), st.lists(st.tuples(ACTIONS, st.integers(0, 99)), max_size=60))
def test_no_object_is_ever_lost_or_doubled(family: str, seed: int, moves: list[tuple[str, int]]) -> None:
    room = Room(layout_of(make_task(family, "train", seed)), 100)
    things = sorted(thing for inside in room.contents.values() for thing in inside)
    for verb, pick in moves:
        place = room.places[pick % len(room.places)]
        thing = things[pick % len(things)]
        before = (room.here, room.held, dict(room.contents), set(room.opened), set(room.toggled))
        if verb in ("go", "open", "close"):
            seen = {"go": room.go, "open": room.open, "close": room.close}[verb](place)
        elif verb == "take":
            seen = room.take(thing, room.here) if room.here else room.inventory()
        elif verb == "put":
            seen = room.put(room.held, room.here) if room.here else room.look()
        elif verb in ("clean", "heat", "cool"):
            seen = room.change(verb, room.held, room.here)
        else:
            seen = room.use(thing) if verb == "use" else room.examine(thing)
        if seen == "Nothing happens.":
            assert before == (room.here, room.held, dict(room.contents), set(room.opened), set(room.toggled))
        inside = [thing for inside in room.contents.values() for thing in inside]
        assert sorted(inside + ([room.held] if room.held else [])) == things
    assert len(room.steps) == len(moves)
