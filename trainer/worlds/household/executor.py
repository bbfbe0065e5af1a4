"""The frozen executors: scripted, acting step by step as they decided, with slips of their own on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from trainer.worlds.household.conduct import Conduct, Luck, conduct
from trainer.worlds.household.constants import Habits
from trainer.worlds.household.reading import Reading
from trainer.worlds.household.tasks import Goal, is_openable
from trainer.worlds.household.things import LAMP, LAMP_PLACES, TOOLS, kind
from trainer.worlds.household.wordings import Meaning

__all__ = ["Attempt", "Body", "Luck", "attempt"]

_CHANGES = {Meaning.CLEAN: "clean", Meaning.HEAT: "heat", Meaning.COOL: "cool"}


class Body(Protocol):
    """Where an executor acts: the household's own room, or any game in ALFWorld's words.

    Actions return what is seen.
    """

    @property
    def goal(self) -> Goal: ...

    @property
    def places(self) -> Sequence[str]:
        """All receptacles, as the first observation names them."""
        ...

    @property
    def here(self) -> str: ...

    @property
    def held(self) -> str: ...

    @property
    def over(self) -> bool:
        """Won, or no step left."""
        ...

    def inside(self, place: str) -> Sequence[str] | None:
        """What lies in a receptacle as last seen; None where it is closed or was never seen."""
        ...

    def go(self, place: str) -> str: ...

    def open(self, place: str) -> str: ...

    def take(self, thing: str, place: str) -> str: ...

    def put(self, thing: str, place: str) -> str: ...

    def change(self, verb: str, thing: str, place: str) -> str: ...

    def use(self, lamp: str) -> str: ...

    def inventory(self) -> str: ...


class Attempt:
    """One attempt at a task. Invariant: it acts only while its body is not over, so it never takes a step too many."""

    def __init__(self, body: Body, way: Conduct, habits: Habits, luck: Luck) -> None:
        self.body = body
        self.way = way
        self.habits = habits
        self.luck = luck
        self.visits = 0
        self.visited: list[str] = []
        self.closed_seen = 0
        self.delivered: list[str] = []
        self.checked: set[str] = set()
        self.order = self._search_order() if way.systematic else ()

    def _search_order(self) -> tuple[str, ...]:
        """The order of a search with a system: what stands open first, and within that as the luck has it."""
        draws = self.luck.order
        places = self.body.places
        ranked = sorted(range(len(places)), key=lambda at: (is_openable(places[at]), draws[at % len(draws)]))
        return tuple(places[at] for at in ranked)

    def carry_out(self) -> None:
        """Do the steps in order; "repeat" goes back to the first, once."""
        steps, at, repeated = self.way.steps, 0, False
        while at < len(steps) and not self.body.over:
            step = steps[at]
            at += 1
            if step is Meaning.REPEAT:
                if not repeated:
                    repeated, at = True, 0
            else:
                self._step(step)

    def _step(self, step: Meaning) -> None:
        body = self.body
        if step is Meaning.TAKE:
            if not body.held:
                self._fetch()
        elif step in _CHANGES:
            if body.held:
                self._change(_CHANGES[step])
        elif step is Meaning.LAMP:
            self._lamp()
        elif step is Meaning.GOTO:
            if body.held and body.goal.place:
                self._walk(self._destination())
        elif step is Meaning.PUT:
            if body.held and body.goal.place:
                self._put()
        elif step is Meaning.VERIFY:
            body.inventory()

    def _walk(self, place: str) -> None:
        if place and place != self.body.here:
            self.body.go(place)

    def _destination(self) -> str:
        """The first receptacle of the wanted kind; the one that already took an object where there is one."""
        if self.delivered:
            return self.delivered[0]
        return next((place for place in self.body.places if kind(place) == self.body.goal.place), "")

    def _next_place(self, among: Sequence[str]) -> str:
        """Where to look next: in the order of the system, or anywhere, also where it has looked before."""
        if self.way.systematic:
            for place in self.order:
                if place not in self.checked and place in among:
                    return place
            self.checked.clear()
            return next(place for place in self.order if place in among)
        pick = self.luck.picks[self.visits % len(self.luck.picks)]
        return among[int(pick * len(among))]

    def _visit(self, place: str) -> None:
        """Go there, and open it where the executor does so."""
        body = self.body
        self.visits += 1
        self.visited.append(place)
        self.checked.add(place)
        self._walk(place)
        if body.over or body.inside(place) is not None:
            return
        draw = self.luck.opens[self.closed_seen % len(self.luck.opens)]
        self.closed_seen += 1
        if self.way.opens or draw < self.habits.opens:
            body.open(place)

    def _in(self, place: str, what: str) -> str:
        """An object of a kind that was seen in a receptacle; empty where none was."""
        for thing in self.body.inside(place) or ():
            if kind(thing) == what:
                return thing
        return ""

    def _search(self, what: str, among: Sequence[str]) -> tuple[str, str]:
        """Return an object of a kind and its receptacle, from memory or by search; empty where the steps ran out."""
        for place in self.visited:
            if place not in self.delivered and (thing := self._in(place, what)):
                return thing, place
        while not self.body.over:
            place = self._next_place(among)
            self._visit(place)
            if place not in self.delivered and (thing := self._in(place, what)):
                return thing, place
        return "", ""

    def _fetch(self) -> None:
        thing, place = self._search(self.body.goal.object, self.body.places)
        if not self.body.over:
            self._walk(place)
        if not self.body.over:
            self.body.take(thing, place)

    def _change(self, verb: str) -> None:
        tool = next((place for place in self.body.places if kind(place) == TOOLS[verb]), "")
        if not tool:
            self.body.change(verb, self.body.held, f"{TOOLS[verb]} 1")
            return
        self._walk(tool)
        if not self.body.over:
            self.body.change(verb, self.body.held, tool)

    def _lamp(self) -> None:
        among = [place for place in self.body.places if kind(place) in LAMP_PLACES]
        if self.body.goal.family != "look" or not among:
            self.body.use(f"{LAMP} 1")
            return
        lamp, place = self._search(LAMP, among)
        if not self.body.over:
            self._walk(place)
        if not self.body.over:
            self.body.use(lamp)

    def _put(self) -> None:
        body = self.body
        place = body.here
        body.put(body.held, place)
        if body.held and not body.over and is_openable(place) and body.inside(place) is None:
            body.open(place)
            if not body.over:
                body.put(body.held, place)
        if not body.held and kind(place) == body.goal.place:
            self.delivered.append(place)


def attempt(body: Body, readings: Sequence[Reading], habits: Habits, luck: Luck) -> Conduct:
    """Let an executor of these habits try the task in `body`; return how it went about it."""
    way = conduct(body.goal, readings, habits, luck)
    Attempt(body, way, habits, luck).carry_out()
    return way
