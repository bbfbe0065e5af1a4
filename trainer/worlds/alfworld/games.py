"""Games in the real engine: for models step by step, and as the body that a scripted executor acts through."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.curation.worlds import Step
from trainer.worlds.alfworld.engine_process import EngineProcess
from trainer.worlds.household.executor import Body
from trainer.worlds.household.tasks import Goal

_SEEN = re.compile(r"you see (?P<list>.+?)\.")
_ITEM = re.compile(r"an? (\w+ \d+)")


class EngineGame:
    """A task that is open in an engine. Invariant: the engine plays this game until another is opened in it."""

    def __init__(self, engine: EngineProcess, game: object, limit: int) -> None:
        key = "path" if isinstance(game, str) else "game"
        seen = engine.ask("open", **{key: game})
        self._engine = engine
        self._limit = limit
        self._intro: str = seen["text"]
        self._admissible: tuple[str, ...] = tuple(seen["admissible"])
        self._won = bool(seen["won"])
        self.steps: list[Step] = []

    @property
    def intro(self) -> str:
        return self._intro

    @property
    def admissible(self) -> Sequence[str]:
        return self._admissible

    @property
    def done(self) -> bool:
        return self._won or len(self.steps) >= self._limit

    @property
    def won(self) -> bool:
        return self._won

    @property
    def score(self) -> float | None:
        return None

    def step(self, action: str) -> str:
        """Act in the engine. Raises EngineLostError where its process is gone."""
        if self.done:
            return "Nothing happens."
        seen = self._engine.ask("step", action=" ".join(action.lower().split()))
        self._won, self._admissible = bool(seen["won"]), tuple(seen["admissible"])
        self.steps.append(Step(action, seen["text"]))
        text: str = seen["text"]
        return text


def items(observation: str) -> tuple[str, ...] | None:
    """Return the things that an observation lists; None where it lists none because nothing can be seen."""
    match = _SEEN.search(observation)
    return None if match is None else tuple(_ITEM.findall(match["list"]))


class EngineBody(Body):
    """The household's executors in the real engine: they know what its texts have told them, and no more."""

    def __init__(self, game: EngineGame, goal: Goal) -> None:
        self._game = game
        self._goal = goal
        room = game.intro.partition("Looking quickly around you,")[2]
        self._places = items(room) or ()
        self._inside: dict[str, tuple[str, ...]] = {}
        self._here = ""
        self._held = ""

    @property
    def goal(self) -> Goal:
        return self._goal

    @property
    def places(self) -> Sequence[str]:
        return self._places

    @property
    def here(self) -> str:
        return self._here

    @property
    def held(self) -> str:
        return self._held

    @property
    def over(self) -> bool:
        return self._game.done

    def inside(self, place: str) -> Sequence[str] | None:
        return self._inside.get(place)

    def go(self, place: str) -> str:
        said = self._game.step(f"go to {place}")
        if said.startswith("You arrive"):
            self._here = place
            self._look_into(place, said)
        return said

    def open(self, place: str) -> str:
        said = self._game.step(f"open {place}")
        self._look_into(place, said)
        return said

    def take(self, thing: str, place: str) -> str:
        said = self._game.step(f"take {thing} from {place}")
        if said.startswith("You pick up"):
            self._held = thing
            self._inside[place] = tuple(other for other in self._inside.get(place, ()) if other != thing)
        return said

    def put(self, thing: str, place: str) -> str:
        said = self._game.step(f"move {thing} to {place}")
        if said.startswith("You move"):
            self._held = ""
            self._inside[place] = (*self._inside.get(place, ()), thing)
        return said

    def change(self, verb: str, thing: str, place: str) -> str:
        return self._game.step(f"{verb} {thing} with {place}")

    def use(self, lamp: str) -> str:
        return self._game.step(f"use {lamp}")

    def inventory(self) -> str:
        return self._game.step("inventory")

    def _look_into(self, place: str, said: str) -> None:
        found = items(said)
        if found is not None:
            self._inside[place] = found
        elif "you see nothing" in said:
            self._inside[place] = ()
