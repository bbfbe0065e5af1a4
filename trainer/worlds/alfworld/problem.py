"""From a furnished room to a game of the real engine: PDDL over the domain that ALFWorld's wheel carries.

The engine makes its names from ids: `Cabinet_bar__02` becomes "cabinet N", where N counts from the last id of a kind in
sorted order, and an id with "basin" in it gets "basin" behind its kind. So a sink's id has ALFRED's own form
(Sink|..|SinkBasin), and ids are numbered backwards, to give each thing the name that it has in the room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.foundation.errors import UsageError

GOALS: Mapping[str, str] = {
    "pick": "pick_and_place_simple",
    "look": "look_at_obj_in_light",
    "clean": "pick_clean_then_place_in_recep",
    "heat": "pick_heat_then_place_in_recep",
    "cool": "pick_cool_then_place_in_recep",
    "two": "pick_two_obj_and_place",
}
"""Our families and ALFWorld's names for them."""
LAMP = "desklamp"
_ABLE = {
    "Cleanable": "cleanable",
    "Heatable": "heatable",
    "Coolable": "coolable",
    "Toggleable": "toggleable",
    "Sliceable": "sliceable",
}
_TOOLS = ("SinkBasin", "Microwave", "Fridge")


@dataclass(frozen=True)
class Wheel:
    """What ALFWorld's wheel carries (the engine's answer to "facts"), with kinds in ALFRED's spelling.

    `holds`: receptacle -> objects; `can`: "Cleanable" and so on -> objects; `plans`: floor plan -> places and objects.
    """

    version: str
    domain: str
    grammar: str
    goals: Mapping[str, Mapping[str, Any]]
    holds: Mapping[str, frozenset[str]]
    can: Mapping[str, frozenset[str]]
    openable: frozenset[str]
    kinds: Mapping[str, str]
    plans: Mapping[str, Mapping[str, Sequence[str]]]

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Wheel:
        """Read the engine's answer."""
        return cls(
            version=facts["version"],
            domain=facts["domain"],
            grammar=facts["grammar"],
            goals=facts["goals"],
            holds={place: frozenset(objects) for place, objects in facts["holds"].items()},
            can={action: frozenset(objects) for action, objects in facts["can"].items()},
            openable=frozenset(facts["openable"]),
            kinds={kind.lower(): kind for kind in facts["kinds"]},
            plans=facts["plans"],
        )

    def spelled(self, name: str) -> str:
        """Return ALFRED's spelling of a kind. Raises UsageError for one that the wheel doesn't know."""
        if name not in self.kinds:
            raise UsageError(f"ALFWorld {self.version} knows no {name!r}.", hint="Use kinds of its gen/constants.py.")
        return self.kinds[name]


def _ids(names: Sequence[str], wheel: Wheel) -> dict[str, tuple[str, str]]:
    """Return name -> (kind, id), such that the engine's own naming gives the names back."""
    numbers: dict[str, list[int]] = {}
    for name in names:
        kind, _, number = name.rpartition(" ")
        numbers.setdefault(kind, []).append(int(number))
    found = {}
    for name in names:
        kind, _, number = name.rpartition(" ")
        if sorted(numbers[kind]) != list(range(1, len(numbers[kind]) + 1)):
            raise UsageError(f"The {kind} things of a room must be numbered from 1 without a gap.")
        spelled, place = wheel.spelled(kind), len(numbers[kind]) - int(number)
        if kind.endswith("basin"):
            identity = f"{spelled.removesuffix('Basin')}_bar__{place:02d}_bar_{spelled}"
        else:
            identity = f"{spelled}_bar__{place:02d}"
        found[name] = (spelled, identity)
    return found


def _facts(
    contents: Mapping[str, Sequence[str]], places: Mapping[str, tuple[str, str]], things: Mapping[str, tuple[str, str]],
    wheel: Wheel,
) -> list[str]:  # fmt: skip
    kinds = sorted({kind for kind, _ in things.values()})
    lines = []
    for at, (name, (kind, identity)) in enumerate(places.items()):
        lines += [f"(receptacleType {identity} {kind}Type)", f"(receptacleAtLocation {identity} loc_{at})"]
        if kind in wheel.openable:
            lines.append(f"(openable {identity})")
        for thing in contents[name]:
            lines += [
                f"(inReceptacle {things[thing][1]} {identity})",
                f"(objectAtLocation {things[thing][1]} loc_{at})",
            ]
    for place in sorted({kind for kind, _ in places.values()}):
        lines += [f"(canContain {place}Type {kind}Type)" for kind in kinds if kind in wheel.holds.get(place, ())]
    for kind, identity in things.values():
        lines.append(f"(objectType {identity} {kind}Type)")
        if kind not in wheel.can["Toggleable"]:
            lines.append(f"(pickupable {identity})")
        lines += [f"({able} {identity})" for action, able in _ABLE.items() if kind in wheel.can[action]]
    return [*lines, "(atLocation agent1 loc_start)", "(= (total-cost) 0)"]


def _goal(family: str, wanted: str, place: str, wheel: Wheel) -> str:
    """Return the goal in PDDL; the wheel's text closes the problem as well, which is left to the caller."""
    pddl: str = wheel.goals[GOALS[family]]["pddl"]
    fields = {
        "obj": wheel.spelled(wanted),
        "recep": wheel.spelled(place) if place else "",
        "toggle": wheel.spelled(LAMP),
    }
    text = pddl.format(**fields).replace("#", "-").strip()
    while text.count(")") > text.count("("):
        text = text[: text.rindex(")")].rstrip()
    return text


def game(
    family: str, wanted: str, place: str, text: str, contents: Mapping[str, Sequence[str]], wheel: Wheel
) -> dict[str, Any]:
    """Return a game that the engine opens, in the shape of ALFWorld's `game.tw-pddl` files.

    `contents`: receptacle -> objects, by name; `place` is empty for the family `look`; `text` is the task's sentence.
    """
    places = _ids(list(contents), wheel)
    things = _ids([thing for inside in contents.values() for thing in inside], wheel)
    kinds = sorted({kind for kind, _ in places.values()} | set(_TOOLS))
    objects = (
        ("agent1", "agent"),
        (" ".join([f"loc_{at}" for at in range(len(places))] + ["loc_start"]), "location"),
        (" ".join(identity for _, identity in places.values()), "receptacle"),
        (" ".join(identity for _, identity in things.values()), "object"),
        (" ".join(f"{kind}Type" for kind in kinds), "rtype"),
        (" ".join(f"{kind}Type" for kind in sorted({kind for kind, _ in things.values()})), "otype"),
    )
    problem = "\n".join(
        (
            "(define (problem room)",
            " (:domain alfred)",
            " (:objects",
            *(f"  {names} - {type_}" for names, type_ in objects),
            " )",
            " (:init",
            *(f"  {fact}" for fact in _facts(contents, places, things, wheel)),
            " )",
            f" {_goal(family, wanted, place, wheel)}",
            " (:metric minimize (total-cost))",
            ")",
        )
    )
    return {
        "pddl_domain": wheel.domain,
        "grammar": wheel.grammar.replace("UNKNOWN GOAL", text),
        "pddl_problem": problem,
        "solvable": True,
    }
