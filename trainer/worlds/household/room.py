"""The household's rules: what each action does, and the words in which ALFWorld tells it.

The rules are those of ALFWorld's planning domain (its wheel's `data/alfred.pddl`), the words those of its grammar
(`data/alfred.twl2`), so that a trajectory can be replayed in the real engine.
"""

from __future__ import annotations

from core.curation.worlds import Step
from trainer.worlds.household.tasks import Layout
from trainer.worlds.household.telling import NOTHING, around, in_order, view
from trainer.worlds.household.things import CAN, LAMP, LIES_ON, OPENABLE, TOOLS, kind

_STATES = {"clean": "clean", "heat": "hot", "cool": "cool"}


class Room:
    """A task being played. Invariant: an object lies in one receptacle or is in the hand, which holds one at most.

    Each action appends to `steps` and returns what is seen; an action that the rules forbid changes nothing and is
    answered by "Nothing happens.". `won` says that the goal held after some action. Callers stop when it is `over`.
    """

    __slots__ = (
        "contents", "goal", "held", "here", "layout", "limit", "opened", "places", "seen", "steps", "toggled",
        "touched", "won",
    )  # fmt: skip

    def __init__(self, layout: Layout, limit: int) -> None:
        self.layout = layout
        self.limit = limit
        self.places = layout.places
        self.seen: set[str] = set()  # receptacles whose inside was seen; nobody else changes it
        self.won = False
        self.goal = layout.goal
        self.contents = dict(layout.contents)
        self.here = ""
        self.held = ""
        self.opened: set[str] = set()
        self.toggled: set[str] = set()
        self.touched: dict[str, set[str]] = {}  # object -> states: clean, hot, cool
        self.steps: list[Step] = []

    def _say(self, action: str, observation: str) -> str:
        self.steps.append(Step(action, observation))
        return observation

    def _view(self, place: str) -> str:
        return view(place, self.contents[place], place in self.opened)

    def pass_by(self, action: str, observation: str = NOTHING) -> str:
        """Count an action that changes nothing."""
        return self._say(action, observation)

    @property
    def over(self) -> bool:
        """Won, or no step left."""
        return self.won or len(self.steps) >= self.limit

    def inside(self, place: str) -> tuple[str, ...] | None:
        """What lies in a receptacle as far as it was seen; None where its inside never was."""
        return self.contents[place] if place in self.seen else None

    def is_open(self, place: str) -> bool:
        """Whether one can see and reach into a receptacle."""
        return place in self.opened or kind(place) not in OPENABLE

    def go(self, place: str) -> str:
        """Go to a receptacle. Going where one stands does nothing, as in the planning domain."""
        action = f"go to {place}"
        if place == self.here or place not in self.contents:
            return self._say(action, NOTHING)
        self.here = place
        if self.toggled:
            self._settle_look()
        if self.is_open(place):
            self.seen.add(place)
        if place not in self.opened and self.contents[place] is self.layout.contents[place]:
            return self._say(action, self.layout.arrivals[place])
        return self._say(action, f"You arrive at {place}. {self._view(place)}")

    def open(self, place: str) -> str:
        """Open a closed receptacle that one stands at."""
        action = f"open {place}"
        if place != self.here or self.is_open(place):
            return self._say(action, NOTHING)
        self.opened.add(place)
        self.seen.add(place)
        return self._say(action, f"You open the {place}. {self._view(place)}")

    def close(self, place: str) -> str:
        """Close an open receptacle that one stands at."""
        action = f"close {place}"
        if place != self.here or place not in self.opened:
            return self._say(action, NOTHING)
        self.opened.discard(place)
        return self._say(action, f"You close the {place}.")

    def take(self, thing: str, place: str) -> str:
        """Take an object with an empty hand out of an open receptacle that one stands at."""
        action = f"take {thing} from {place}"
        if self.held or place != self.here or not self.is_open(place) or thing not in self.contents[place]:
            return self._say(action, NOTHING)
        if kind(thing) == LAMP:
            return self._say(action, NOTHING)
        self.contents[place] = tuple(other for other in self.contents[place] if other != thing)
        self.held = thing
        self._settle_look()
        return self._say(action, f"You pick up the {thing} from the {place}.")

    def put(self, thing: str, place: str) -> str:
        """Move the held object to an open receptacle that one stands at and that can hold its kind."""
        action = f"move {thing} to {place}"
        if not thing or thing != self.held or place != self.here or not self.is_open(place):
            return self._say(action, NOTHING)
        if kind(place) not in LIES_ON[kind(thing)]:
            return self._say(action, NOTHING)
        self.contents[place] = in_order((*self.contents[place], thing))
        self.held = ""
        self._settle(place)
        return self._say(action, f"You move the {thing} to the {place}.")

    def change(self, verb: str, thing: str, place: str) -> str:
        """`clean`, `heat` or `cool` the held object with the tool that one stands at; heat and cool undo each other."""
        action = f"{verb} {thing} with {place}"
        if not thing or thing != self.held or place != self.here or kind(place) != TOOLS[verb]:
            return self._say(action, NOTHING)
        if kind(thing) not in CAN[verb]:
            return self._say(action, NOTHING)
        states = self.touched.setdefault(thing, set())
        states.discard({"heat": "cool", "cool": "hot"}.get(verb, ""))
        states.add(_STATES[verb])
        return self._say(action, f"You {verb} the {thing} using the {place}.")

    def use(self, lamp: str) -> str:
        """Switch a lamp that stands here. The planning domain remembers that it was switched, not whether it shines."""
        action = f"use {lamp}"
        if kind(lamp) != LAMP or not self.here or lamp not in self.contents[self.here]:
            return self._say(action, NOTHING)
        self.toggled.add(lamp)
        self._settle_look()
        return self._say(action, f"You turn on the {lamp}.")

    def examine(self, name: str) -> str:
        """Look at a receptacle here, at an object in it or at the one in the hand."""
        action = f"examine {name}"
        if name == self.here and name:
            return self._say(action, self._view(name))
        near = self.contents[self.here] if self.here and self.is_open(self.here) else ()
        if name != self.held and name not in near:
            return self._say(action, NOTHING)
        if kind(name) == LAMP:
            return self._say(action, f"This {name} is {'on' if name in self.toggled else 'off'}.")
        states = self.touched.get(name, ())
        words = [word for word in ("hot", "cool", "clean") if word in states]
        if not words:
            return self._say(action, f"There's nothing special about {name}.")
        told = "cold" if words == ["cool"] else " and ".join(words)
        return self._say(action, f"This is a {told} {name}.")

    def inventory(self) -> str:
        """Tell what is in the hand."""
        return self._say(
            "inventory", f"You are carrying: a {self.held}." if self.held else "You are not carrying anything."
        )

    def look(self) -> str:
        """Tell where one stands."""
        if self.here:
            return self._say("look", f"You are facing the {self.here}. Next to it, you see nothing.")
        return self._say("look", around(self.places))

    def _settle(self, place: str) -> None:
        """See whether the goal holds now that something was put into `place`: only there it can have come true."""
        goal = self.goal
        if kind(place) != goal.place:
            return
        need = _STATES.get(goal.family, "")
        right = 0
        for thing in self.contents[place]:
            right += kind(thing) == goal.object and (not need or need in self.touched.get(thing, ()))
        self.won = self.won or right >= goal.count

    def _settle_look(self) -> None:
        """See whether one stands by a lamp that was switched on, with the wanted object in the hand."""
        if self.toggled and self.goal.family == "look" and kind(self.held) == self.goal.object and self.here:
            self.won = self.won or any(lamp in self.contents[self.here] for lamp in self.toggled)
