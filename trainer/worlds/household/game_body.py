"""A body for the executors in any game that speaks ALFWorld's words: it knows what it has read, and no more."""

from __future__ import annotations

import re

from core.curation.worlds import Game, Step
from core.foundation.errors import UsageError
from trainer.worlds.household.tasks import Goal, read_goal
from trainer.worlds.household.telling import NOTHING

_PLACES = re.compile(r"you see (?P<list>.+?)\.?\s*(?:\n|$)", re.IGNORECASE)
_TASK = re.compile(r"your task is to: (?P<text>.+?)\.?\s*$", re.IGNORECASE)
_NAME = re.compile(r"(?:an?|the) (\w+ \d+)")
_INSIDE = re.compile(r"(?:^|\. )(?:On|In) (?:the (?P<on>\w+ \d+)|it), you see (?P<list>.+?)\.?\s*$")


class GameBody:
    """The household's executors act through it. Invariant: `steps` are exactly what was sent to the game.

    Raises UsageError where the first observation names no receptacles or no goal of the household's six families.
    """

    def __init__(self, game: Game, limit: int) -> None:
        places, task = _PLACES.search(game.intro), _TASK.search(game.intro)
        goal = read_goal(task["text"]) if task else None
        if places is None or goal is None:
            raise UsageError(
                "This game's first observation is not in ALFWorld's words.",
                hint="It names the receptacles (you see a cabinet 1, ...) and ends with: Your task is to: ...",
            )
        self._game = game
        self._limit = limit
        self._goal = goal
        self._places: tuple[str, ...] = tuple(_NAME.findall(places["list"]))
        self._inside: dict[str, tuple[str, ...]] = {}
        self._here = ""
        self._held = ""
        self.steps: list[Step] = []

    @property
    def goal(self) -> Goal:
        """What the game wants."""
        return self._goal

    @property
    def places(self) -> tuple[str, ...]:
        """All receptacles, as the first observation names them."""
        return self._places

    @property
    def here(self) -> str:
        """The receptacle one stands at, empty at the start."""
        return self._here

    @property
    def held(self) -> str:
        """The object in the hand, empty where there is none."""
        return self._held

    @property
    def over(self) -> bool:
        """Won, or no step left."""
        return self._game.done or self._game.won or len(self.steps) >= self._limit

    def inside(self, place: str) -> tuple[str, ...] | None:
        """What lies in a receptacle as last seen; None where it is closed or was never seen."""
        return self._inside.get(place)

    def _act(self, action: str) -> str:
        seen = self._game.step(action).strip()
        self.steps.append(Step(action, seen))
        return seen

    def _read(self, place: str, seen: str) -> None:
        if match := _INSIDE.search(seen):
            self._inside[place] = tuple(_NAME.findall(match["list"]))

    def go(self, place: str) -> str:
        """Walk to a receptacle."""
        seen = self._act(f"go to {place}")
        if seen != NOTHING:
            self._here = place
            self._read(place, seen)
        return seen

    def open(self, place: str) -> str:
        """Open a receptacle."""
        seen = self._act(f"open {place}")
        self._read(place, seen)
        return seen

    def take(self, thing: str, place: str) -> str:
        """Take an object out of a receptacle."""
        seen = self._act(f"take {thing} from {place}")
        if seen != NOTHING:
            self._held = thing
            self._inside[place] = tuple(other for other in self._inside.get(place, ()) if other != thing)
        return seen

    def put(self, thing: str, place: str) -> str:
        """Move the held object to a receptacle."""
        seen = self._act(f"move {thing} to {place}")
        if seen != NOTHING:
            self._held = ""
            self._inside[place] = (*self._inside.get(place, ()), thing)
        return seen

    def change(self, verb: str, thing: str, place: str) -> str:
        """Clean, heat or cool the held object."""
        return self._act(f"{verb} {thing} with {place}")

    def use(self, lamp: str) -> str:
        """Switch a lamp on."""
        return self._act(f"use {lamp}")

    def inventory(self) -> str:
        """Ask what is in the hand."""
        return self._act("inventory")
