"""Tasks of the household: a goal in ALFWorld's words and a furnished room, both made from one seed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from core.curation.worlds import Split, Task
from trainer.worlds.household.constants import CONSTANTS
from trainer.worlds.household.telling import in_order, opening, view
from trainer.worlds.household.things import (
    CAN,
    FAMILY_ROOMS,
    KITCHEN_THINGS,
    LAMP,
    LAMP_PLACES,
    LIES_ON,
    OPENABLE,
    ROOMS,
    TOOLS,
    kind,
    objects,
)

TEMPLATES = {
    "pick": ("put a {obj} in {place}", "put some {obj} on {place}"),
    "look": ("look at {obj} under the desklamp", "examine the {obj} with the desklamp"),
    "clean": ("put a clean {obj} in {place}", "clean some {obj} and put it in {place}"),
    "heat": ("put a hot {obj} in {place}", "heat some {obj} and put it in {place}"),
    "cool": ("put a cool {obj} in {place}", "cool some {obj} and put it in {place}"),
    "two": ("put two {obj} in {place}", "find two {obj} and put them in {place}"),
}
"""ALFWorld's wording of its goals (its wheel's `gen/goal_library.py`)."""


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(template.replace("{obj}", r"(?P<obj>\w+)").replace("{place}", r"(?P<place>\w+)"))


_READINGS = tuple(
    (family, _pattern(template))
    for family in ("two", "clean", "heat", "cool", "look", "pick")
    for template in TEMPLATES[family]
)


@dataclass(frozen=True, slots=True)
class Goal:
    """What a task wants. `place` is the kind of receptacle it ends in, empty for the family `look`."""

    family: str
    object: str
    place: str

    @property
    def count(self) -> int:
        """How many objects must lie there."""
        return 2 if self.family == "two" else 1


@cache
def read_goal(text: str) -> Goal | None:
    """Read a goal in ALFWorld's wording (a full stop and capitals don't matter); None where it is none."""
    plain = text.strip().rstrip(".").lower()
    for family, pattern in _READINGS:
        if match := pattern.fullmatch(plain):
            found = match.groupdict()
            return Goal(family, found["obj"], found.get("place") or "")
    return None


@dataclass(frozen=True, slots=True)
class Layout:
    """A furnished room: its receptacles, in the order of the first observation, with what lies in each.

    `arrivals` is what one sees on coming to each for the first time.
    """

    goal: Goal
    intro: str
    room: str
    places: tuple[str, ...]
    contents: Mapping[str, tuple[str, ...]]
    arrivals: Mapping[str, str]


@cache
def _choices(family: str, split: Split) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return the objects that a family may want, each with the (room, destination) pairs that leave it a source."""
    tool = TOOLS.get(family, "")
    wanted = []
    for thing in objects(split):
        if family in CAN and thing not in CAN[family]:
            continue
        pairs = []
        for room in FAMILY_ROOMS[family]:
            if room != "kitchen" and thing in KITCHEN_THINGS:
                continue
            places = [place for place, _, _ in ROOMS[room] if place in LIES_ON[thing] and place != tool]
            if family == "look":
                pairs += [(room, "")] if places else []
            elif len(places) > 1:
                pairs += [(room, place) for place in places]
        if pairs:
            wanted.append((thing, tuple(pairs)))
    return tuple(wanted)


def _furnish(random: Random, room: str) -> list[str]:
    receptacles = []
    for place, fewest, most in ROOMS[room]:
        count = random.randint(fewest, most)
        receptacles += [f"{place} {number}" for number in range(1, count + 1)]
    return list(in_order(receptacles))


def make_task(family: str, split: Split, seed: int) -> Task:
    """Make the task of a family, a split and a seed: the same three give the same task anywhere."""
    random = Random(f"household {split} {family} {seed}")
    thing, pairs = random.choice(_choices(family, split))
    room, place = random.choice(pairs)
    receptacles = _furnish(random, room)
    contents: dict[str, list[str]] = {name: [] for name in receptacles}
    counts: dict[str, int] = {}

    def lay(what: str, places: list[str]) -> None:
        counts[what] = counts.get(what, 0) + 1
        contents[random.choice(places)].append(f"{what} {counts[what]}")

    goal = Goal(family, thing, place)
    banned = {place, TOOLS.get(family, "")}
    sources = [name for name in receptacles if kind(name) in LIES_ON[thing] and kind(name) not in banned]
    for _ in range(goal.count):
        lay(thing, sources)
    lamp_places = [name for name in receptacles if kind(name) in LAMP_PLACES]
    if family == "look" or (lamp_places and room != "kitchen" and random.random() < CONSTANTS.lamps):
        lay(LAMP, lamp_places)
    for _ in range(random.randint(*CONSTANTS.distractors)):
        other = random.choice(objects(split))
        places = [name for name in receptacles if kind(name) in LIES_ON[other]]
        stray = room != "kitchen" and other in KITCHEN_THINGS
        if other != thing and not stray and places and counts.get(other, 0) < 3:
            lay(other, places)
    text = random.choice(TEMPLATES[family]).format(obj=thing, place=place)
    return Task(
        id=f"{split}-{family}-{seed}",
        family=family,
        text=text,
        split=split,
        seed=seed,
        data={"room": room, "receptacles": [[name, list(in_order(contents[name]))] for name in receptacles]},
    )


def layout_of(task: Task) -> Layout:
    """Return the furnished room of a task. Raises ValueError where the task is not one of the household's."""
    goal = read_goal(task.text)
    if goal is None or "receptacles" not in task.data:
        raise ValueError(f"no task of the household: {task.id}")
    contents = {name: tuple(inside) for name, inside in task.data["receptacles"]}
    return Layout(
        goal,
        opening(tuple(contents), task.text),
        str(task.data["room"]),
        tuple(contents),
        contents,
        {place: f"You arrive at {place}. {view(place, inside, opened=False)}" for place, inside in contents.items()},
    )


def is_openable(name: str) -> bool:
    """Whether a receptacle has a door or a lid; it is closed at first."""
    return kind(name) in OPENABLE
