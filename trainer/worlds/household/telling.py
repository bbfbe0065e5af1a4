"""What is seen, in the words of ALFWorld's grammar (its wheel's `data/alfred.twl2`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainer.worlds.household.things import OPENABLE, kind

NOTHING = "Nothing happens."


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Instances as the engine lists them: kinds in the order of the alphabet, the numbers of a kind falling."""
    return tuple(sorted(names, key=lambda name: (kind(name), -int(name.rpartition(" ")[2]))))


def listing(things: Sequence[str]) -> str:
    """`a mug 1, a pan 2, and a plate 1`; the grammar says "a" before a vowel too."""
    if not things:
        return "nothing"
    if len(things) == 1:
        return f"a {things[0]}"
    return f"a {', a '.join(things[:-1])}, and a {things[-1]}"


def view(place: str, inside: Sequence[str], opened: bool) -> str:
    """A receptacle as it looks from where one stands before it."""
    if kind(place) not in OPENABLE:
        return f"On the {place}, you see {listing(inside)}."
    if opened:
        return f"The {place} is open. In it, you see {listing(inside)}."
    return f"The {place} is closed."


def around(places: Sequence[str]) -> str:
    """The room from its middle."""
    return f"You are in the middle of a room. Looking quickly around you, you see {listing(places)}."


def opening(places: Sequence[str], task: str) -> str:
    """The first observation; the task's line comes last (CURATION 1.8, lesson 6)."""
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{around(places)}\n\nYour task is to: {task}."
