"""Tasks in real floor plans: a generator of games from what ALFWorld's wheel carries, without ALFRED's data.

A floor plan says which receptacles and kinds of objects a room has; where the objects lie is drawn, by ALFRED's own
table of what may lie where. Train and test rooms are ALFRED's own split of its floor plans.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from core.curation.worlds import Split, Task
from core.foundation.errors import UsageError
from trainer.worlds.alfworld.problem import GOALS, LAMP, Wheel
from trainer.worlds.household.things import COUNTS, FAMILIES, FAMILY_ROOMS, LAMP_PLACES, TOOLS

TEST_PLANS = range(1, 7)  # of each room's hundred: ALFRED's TEST_SCENE_NUMBERS
MOST_OF_A_KIND = 4  # receptacles of one kind in a room; floor plans have up to 20 cabinets, 30 steps reach no such room
EXTRA_PLACES = ("stoveburner", "coffeemachine", "garbagecan", "toilet")  # named among a plan's objects only
OBJECTS = (12, 18)  # fewest and most in a room
_ROOM_OF = {0: "kitchen", 2: "livingroom", 3: "bedroom", 4: "bathroom"}
_TRIES = 200


def room_of(plan: str) -> str:
    """Return the kind of room of a floor plan, by its hundred."""
    return _ROOM_OF[int(plan) // 100]


def plans_of(split: Split, family: str, wheel: Wheel) -> tuple[str, ...]:
    """Return the floor plans of a split in which a family is at home."""
    rooms = FAMILY_ROOMS[family]
    found = [plan for plan in wheel.plans if room_of(plan) in rooms]
    return tuple(sorted((p for p in found if (int(p) % 100 in TEST_PLANS) == (split == "test")), key=int))


def _places(plan: str, wheel: Wheel) -> list[str]:
    """Return a room's receptacles as the engine orders them: by kind, numbers falling."""
    named = [place.lower() for place in wheel.plans[plan]["places"] if place in wheel.holds]
    objects = {kind.lower() for kind in wheel.plans[plan]["objects"]}
    named += [kind for kind in EXTRA_PLACES if kind in objects and kind not in named]
    counts = {kind: min(MOST_OF_A_KIND, named.count(kind)) for kind in sorted(set(named))}
    return [f"{kind} {number}" for kind, count in counts.items() for number in range(count, 0, -1)]


def _kind(name: str) -> str:
    return name.rpartition(" ")[0]


def _draw(family: str, split: Split, draw: random.Random, wheel: Wheel) -> Mapping[str, object] | None:
    """Draw a furnished room with a goal, or None where this floor plan has none for the family."""
    plan = draw.choice(plans_of(split, family, wheel))
    places = _places(plan, wheel)
    kinds = sorted({_kind(place) for place in places})
    holds = {kind: {thing.lower() for thing in wheel.holds[wheel.spelled(kind)]} for kind in kinds}
    here = sorted({kind.lower() for kind in wheel.plans[plan]["objects"]} - set(kinds))
    things = [thing for thing in here if any(thing in holds[kind] for kind in kinds) and thing != LAMP]
    able = {"clean": "Cleanable", "heat": "Heatable", "cool": "Coolable"}.get(family)
    tool = TOOLS.get(family, "")
    wanted = [thing for thing in things if able is None or wheel.spelled(thing) in wheel.can[able]]
    pairs = []
    for thing in wanted:
        fits = [kind for kind in kinds if thing in holds[kind] and kind != tool]
        if family == "look":
            pairs += [(thing, "")] if fits else []
        elif len(fits) > 1:
            pairs += [(thing, place) for place in fits]
    lamps = [place for place in places if _kind(place) in LAMP_PLACES]
    if not pairs or (tool and tool not in kinds) or (family == "look" and not (lamps and LAMP in here)):
        return None
    thing, place = draw.choice(pairs)
    contents: dict[str, list[str]] = {name: [] for name in places}
    count: dict[str, int] = {}

    def lay(what: str, among: Sequence[str]) -> None:
        count[what] = count.get(what, 0) + 1
        contents[draw.choice(among)].append(f"{what} {count[what]}")

    sources = [name for name in places if thing in holds[_kind(name)] and _kind(name) not in (place, tool)]
    for _ in range(2 if family == "two" else 1):
        lay(thing, sources)
    if LAMP in here and lamps:
        lay(LAMP, lamps)
    others = [other for other in things if other != thing]
    for _ in range(draw.randint(*OBJECTS)):
        other = draw.choice(others)
        if count.get(other, 0) < 3:
            lay(other, [name for name in places if other in holds[_kind(name)]])
    templates: Sequence[str] = wheel.goals[GOALS[family]]["templates"]
    text = draw.choice(templates).format(obj=thing, recep=place, toggle=LAMP)
    receptacles = [[name, sorted(inside)] for name, inside in contents.items()]
    return {"text": text, "data": {"room": f"FloorPlan{plan}", "receptacles": receptacles}}


def make_task(family: str, split: Split, seed: int, wheel: Wheel) -> Task:
    """Return the task of a family, a split and a seed. Raises UsageError where no floor plan has one."""
    draw = random.Random(f"alfworld {split} {family} {seed}")
    for _ in range(_TRIES):
        drawn = _draw(family, split, draw, wheel)
        if drawn is not None:
            text, data = drawn["text"], drawn["data"]
            assert isinstance(text, str)
            assert isinstance(data, dict)
            return Task(f"alfworld-{split}-{family}-{seed}", family, text, split, seed, None, data)
    raise UsageError(f"No floor plan of the {split} split has a task of the family {family!r}.")


def stream(split: Split, seed: int, count: int | None, wheel: Wheel) -> tuple[Task, ...]:
    """Return a mixed stream by ALFWorld's counts, as `household` does."""
    draw = random.Random(f"alfworld stream {split} {seed}")
    families = [family for family in FAMILIES for _ in range(COUNTS[family])]
    draw.shuffle(families)
    while count is not None and len(families) < count:
        families += draw.sample(families, len(families))
    return tuple(make_task(family, split, draw.getrandbits(32), wheel) for family in families[:count])


def group(split: Split, seed: int, count: int, family: str | None, wheel: Wheel) -> tuple[Task, ...]:
    """Return tasks of one family, drawn by the seed where none is named."""
    draw = random.Random(f"alfworld group {split} {seed}")
    drawn = draw.choice(FAMILIES)
    if family is not None and family not in FAMILIES:
        raise UsageError(f"ALFWorld has no family {family!r} here.", hint=f"Families: {', '.join(FAMILIES)}.")
    return tuple(make_task(family or drawn, split, draw.getrandbits(32), wheel) for _ in range(count))
