"""Objects, receptacles and rooms after ALFRED's tables: what may lie where, what can be cleaned, heated, cooled.

Facts of ALFWorld's domain (its wheel's `gen/constants.py`), restricted to the kinds that our rooms have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from core.curation.worlds import Split

FAMILIES = ("pick", "look", "clean", "heat", "cool", "two")
COUNTS: Mapping[str, int] = {"pick": 35, "look": 13, "clean": 27, "heat": 16, "cool": 25, "two": 24}
"""ALFWorld's 140 evaluation tasks by family (CURATION 1.6)."""

OPENABLE = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})
TOOLS: Mapping[str, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
LAMP = "desklamp"
LAMP_PLACES = ("desk", "sidetable", "dresser", "shelf", "coffeetable")


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SURFACE = (
    "alarmclock apple baseballbat basketball book bowl bread butterknife candle cd cellphone cloth creditcard "
    "cup dishsponge egg fork glassbottle handtowel kettle keychain knife ladle laptop lettuce mug newspaper "
    "pan pen pencil peppershaker plate pot potato remotecontrol saltshaker soapbar soapbottle spatula spoon "
    "spraybottle statue tissuebox toiletpaper tomato vase watch winebottle"
)

HOLDS: Mapping[str, tuple[str, ...]] = {
    place: tuple(things.split())
    for place, things in {
        "armchair": "basketball book cellphone cloth creditcard keychain laptop newspaper pillow remotecontrol",
        "bathtubbasin": "cloth dishsponge handtowel soapbar",
        "bed": "baseballbat basketball book cellphone laptop newspaper pillow",
        "cabinet": (
            "book bowl candle cd cloth cup dishsponge glassbottle handtowel kettle ladle mug newspaper pan "
            "peppershaker plate pot saltshaker soapbar soapbottle spraybottle tissuebox toiletpaper vase "
            "winebottle"
        ),
        "coffeemachine": "mug",
        "coffeetable": _SURFACE,
        "countertop": _SURFACE,
        "desk": (
            "alarmclock basketball book bowl candle cd cellphone cloth creditcard cup glassbottle keychain "
            "laptop mug newspaper pen pencil plate remotecontrol soapbottle spraybottle statue tissuebox "
            "toiletpaper vase watch winebottle"
        ),
        "diningtable": _SURFACE,
        "drawer": (
            "book butterknife candle cd cellphone cloth creditcard dishsponge fork handtowel keychain knife "
            "ladle newspaper pen pencil peppershaker remotecontrol saltshaker soapbar soapbottle spatula "
            "spoon spraybottle tissuebox toiletpaper watch"
        ),
        "dresser": (
            "alarmclock basketball book bowl candle cd cellphone cloth creditcard cup glassbottle keychain "
            "laptop mug newspaper pen pencil plate remotecontrol spraybottle statue tissuebox toiletpaper "
            "vase watch winebottle"
        ),
        "fridge": "apple bowl bread cup egg glassbottle lettuce mug pan plate pot potato tomato winebottle",
        "garbagecan": (
            "apple bread cd cloth dishsponge egg handtowel lettuce newspaper pen pencil potato soapbar "
            "soapbottle spraybottle tissuebox toiletpaper tomato winebottle"
        ),
        "microwave": "apple bowl bread cup egg glassbottle mug plate potato tomato",
        "safe": "cd cellphone creditcard keychain statue vase watch",
        "shelf": (
            "alarmclock book bowl candle cd cellphone cloth creditcard cup dishsponge glassbottle handtowel "
            "kettle keychain mug newspaper pen pencil peppershaker plate pot remotecontrol saltshaker "
            "soapbar soapbottle spraybottle statue tissuebox toiletpaper vase watch winebottle"
        ),
        "sidetable": _SURFACE,
        "sinkbasin": (
            "apple bowl butterknife cloth cup dishsponge egg fork glassbottle handtowel kettle knife ladle "
            "lettuce mug pan plate pot potato soapbar spatula spoon tomato"
        ),
        "sofa": "basketball book cellphone cloth creditcard keychain laptop newspaper pillow remotecontrol",
        "stoveburner": "kettle pan pot",
        "toilet": ("candle cloth dishsponge handtowel newspaper soapbar soapbottle spraybottle tissuebox toiletpaper"),
    }.items()
}
"""What a kind of receptacle can hold."""

LIES_ON: Mapping[str, tuple[str, ...]] = {
    thing: tuple(place for place, inside in HOLDS.items() if thing in inside)
    for thing in sorted({thing for inside in HOLDS.values() for thing in inside})
}
"""The kinds of receptacle that a kind of object may lie in, sorted."""

CAN: Mapping[str, frozenset[str]] = {
    "clean": _kinds(
        "apple bowl butterknife cloth cup dishsponge egg fork kettle knife ladle lettuce mug pan plate pot potato "
        "soapbar spatula spoon tomato"
    ),
    "heat": _kinds("apple bread cup egg mug plate potato tomato"),
    "cool": _kinds("apple bowl bread cup egg lettuce mug pan plate pot potato tomato winebottle"),
}

HELD_OUT = _kinds(
    "alarmclock cellphone cup egg keychain ladle lettuce newspaper pan plate pencil pillow saltshaker soapbar spatula "
    "statue toiletpaper winebottle"
)
"""Objects of the test split; a training room holds none of them, a test room none of the others."""

KITCHEN_THINGS = _kinds(
    "apple bread butterknife egg fork kettle knife ladle lettuce pan peppershaker potato pot saltshaker spatula spoon "
    "tomato"
)
"""Objects that lie in kitchens only."""

ROOMS: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "kitchen": (
        ("countertop", 2, 2),
        ("diningtable", 1, 1),
        ("shelf", 1, 2),
        ("stoveburner", 1, 1),
        ("coffeemachine", 1, 1),
        ("garbagecan", 1, 1),
        ("sinkbasin", 1, 1),
        ("cabinet", 3, 4),
        ("drawer", 2, 3),
        ("fridge", 1, 1),
        ("microwave", 1, 1),
    ),
    "bathroom": (
        ("countertop", 1, 1),
        ("sinkbasin", 1, 2),
        ("bathtubbasin", 1, 1),
        ("toilet", 1, 1),
        ("garbagecan", 1, 1),
        ("shelf", 1, 2),
        ("cabinet", 3, 4),
        ("drawer", 2, 3),
    ),
    "bedroom": (
        ("bed", 1, 1),
        ("desk", 1, 1),
        ("dresser", 1, 1),
        ("shelf", 1, 2),
        ("sidetable", 1, 2),
        ("garbagecan", 1, 1),
        ("drawer", 4, 5),
        ("cabinet", 1, 2),
        ("safe", 1, 1),
    ),
    "livingroom": (
        ("sofa", 1, 1),
        ("armchair", 1, 2),
        ("coffeetable", 1, 1),
        ("sidetable", 1, 2),
        ("shelf", 1, 2),
        ("garbagecan", 1, 1),
        ("drawer", 3, 4),
        ("cabinet", 2, 3),
        ("safe", 1, 1),
    ),
}
"""Kinds of receptacle with the fewest and the most of them; about half of a room's receptacles are closed at first."""

FAMILY_ROOMS: Mapping[str, tuple[str, ...]] = {
    "pick": ("kitchen", "bathroom", "bedroom", "livingroom"),
    "look": ("bedroom", "livingroom"),
    "clean": ("kitchen", "bathroom"),
    "heat": ("kitchen",),
    "cool": ("kitchen",),
    "two": ("kitchen", "bathroom", "bedroom", "livingroom"),
}
"""ALFRED's rooms of each goal."""


def objects(split: Split) -> tuple[str, ...]:
    """The kinds of object that occur in a split, sorted."""
    return tuple(sorted(thing for thing in LIES_ON if (thing in HELD_OUT) == (split == "test")))


PLACES = tuple(sorted({kind for room in ROOMS.values() for kind, _, _ in room}))


@cache
def kind(name: str) -> str:
    """Return the kind of an instance: `cabinet` for `cabinet 3`."""
    return name.rpartition(" ")[0] or name
