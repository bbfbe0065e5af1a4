"""The household as a game for models: commands in ALFWorld's words in, what is seen out."""

from __future__ import annotations

import re

from trainer.worlds.household.room import Room
from trainer.worlds.household.tasks import Layout
from trainer.worlds.household.telling import NOTHING
from trainer.worlds.household.things import CAN, LAMP, LIES_ON, OPENABLE, TOOLS, kind

_COMMANDS = (
    ("go", re.compile(r"go to (?P<place>\w+ \d+)")),
    ("open", re.compile(r"open (?P<place>\w+ \d+)")),
    ("close", re.compile(r"close (?P<place>\w+ \d+)")),
    ("take", re.compile(r"take (?P<thing>\w+ \d+) from (?P<place>\w+ \d+)")),
    ("put", re.compile(r"(?:move (?P<moved>\w+ \d+) to|put (?P<thing>\w+ \d+) (?:in/on|in|on)) (?P<place>\w+ \d+)")),
    ("change", re.compile(r"(?P<verb>clean|heat|cool) (?P<thing>\w+ \d+) with (?P<place>\w+ \d+)")),
    ("use", re.compile(r"use (?P<thing>\w+ \d+)")),
    ("examine", re.compile(r"examine (?P<thing>\w+ \d+)")),
    ("inventory", re.compile(r"inventory")),
    ("look", re.compile(r"look")),
    ("help", re.compile(r"help")),
)
_HELP = (
    "\nAvailable commands:\n"
    "  look:                             look around your current location\n"
    "  inventory:                        check your current inventory\n"
    "  go to (receptacle):               move to a receptacle\n"
    "  open (receptacle):                open a receptacle\n"
    "  close (receptacle):               close a receptacle\n"
    "  take (object) from (receptacle):  take an object from a receptacle\n"
    "  move (object) to (receptacle):  place an object in or on a receptacle\n"
    "  examine (something):              examine a receptacle or an object\n"
    "  use (object):                     use an object\n"
    "  heat (object) with (receptacle):  heat an object using a receptacle\n"
    "  clean (object) with (receptacle): clean an object using a receptacle\n"
    "  cool (object) with (receptacle):  cool an object using a receptacle\n"
)


class HouseholdGame:
    """A task that a model plays. An illegal command is answered by "Nothing happens." and costs a step."""

    def __init__(self, layout: Layout, limit: int) -> None:
        self._room = Room(layout, limit)

    @property
    def intro(self) -> str:
        """The first observation, the task's line at its end."""
        return self._room.layout.intro

    @property
    def done(self) -> bool:
        """Won, or out of steps."""
        return self._room.over

    @property
    def won(self) -> bool:
        """Whether the goal was reached."""
        return self._room.won

    @property
    def score(self) -> float | None:
        """None: the household knows won and not won."""
        return None

    @property
    def admissible(self) -> tuple[str, ...]:
        """The commands that change or show something now, sorted."""
        room = self._room
        commands = {"look", "inventory", "help"}
        commands.update(f"go to {place}" for place in room.places if place != room.here)
        if room.held:
            commands.add(f"examine {room.held}")
        if not room.here:
            return tuple(sorted(commands))
        here = room.here
        commands.add(f"examine {here}")
        if kind(here) in OPENABLE:
            commands.add(f"close {here}" if here in room.opened else f"open {here}")
        inside = room.contents[here]
        commands.update(f"use {thing}" for thing in inside if kind(thing) == LAMP)
        if room.is_open(here):
            commands.update(f"examine {thing}" for thing in inside)
            if not room.held:
                commands.update(f"take {thing} from {here}" for thing in inside if kind(thing) != LAMP)
            elif kind(here) in LIES_ON[kind(room.held)]:
                commands.add(f"move {room.held} to {here}")
        for verb, tool in TOOLS.items():
            if room.held and kind(here) == tool and kind(room.held) in CAN[verb]:
                commands.add(f"{verb} {room.held} with {here}")
        return tuple(sorted(commands))

    def step(self, action: str) -> str:
        """Act and return what is seen. After the end nothing happens any more."""
        if self._room.over:
            return NOTHING
        plain = " ".join(action.lower().split())
        for name, pattern in _COMMANDS:
            if match := pattern.fullmatch(plain):
                return self._act(name, match.groupdict())
        return self._room.pass_by(plain)

    def _act(self, name: str, said: dict[str, str | None]) -> str:
        room = self._room
        place, thing = said.get("place") or "", said.get("thing") or said.get("moved") or ""
        if name == "change":
            return room.change(said["verb"] or "", thing, place)
        if name in ("take", "put"):
            return room.take(thing, place) if name == "take" else room.put(thing, place)
        if name in ("use", "examine"):
            return room.use(thing) if name == "use" else room.examine(thing)
        if name in ("go", "open", "close"):
            return {"go": room.go, "open": room.open, "close": room.close}[name](place)
        if name == "help":
            return room.pass_by("help", _HELP)
        return room.inventory() if name == "inventory" else room.look()
