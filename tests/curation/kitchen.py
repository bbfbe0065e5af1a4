"""A world small enough to work out by hand: dishes that are boiled or fried, and an executor that reads skills.

The executor `plain` knows by itself every fourth dish of a stream. With a skill that says "boil" (or "fry") as the
first one it is given, it does that and nothing else; so the right skill always helps, and the wrong one always harms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.curation.worlds import ContentVerdict, Episode, Game, Split, Step, Task
from core.foundation.errors import UsageError
from core.skillrepo.skill import Skill, write

WAYS = ("boil", "fry")
DISHES = ("egg", "potato", "leek", "bean", "carrot", "mushroom")


def task(number: int, split: Split = "test", seed: int = 0, family: str | None = None) -> Task:
    way = family or WAYS[(number + seed) % 2]
    dish = DISHES[(number * 5 + seed) % len(DISHES)]
    return Task(f"{split}-{seed}-{number}", way, f"{way} the {dish}", split, seed * 1000 + number)


@dataclass
class KitchenGame:
    """`look`, `boil it`, `fry it`; the first cooking ends it."""

    of: Task
    done: bool = False
    won: bool = False
    score: float | None = None
    taken: list[str] = field(default_factory=list)

    @property
    def intro(self) -> str:
        return f"You are in a kitchen. Your task is to: {self.of.text}."

    @property
    def admissible(self) -> Sequence[str]:
        return ("look", *(f"{way} it" for way in WAYS))

    def step(self, action: str) -> str:
        self.taken.append(action)
        if action in self.admissible and action != "look":
            self.done, self.won = True, action == f"{self.of.family} it"
            return "It is done." if self.won else "It is spoilt."
        return "A pan and a pot." if action == "look" else "Nothing happens."


@dataclass(frozen=True)
class Kitchen:
    """See the module. `lose` names tasks that infrastructure loses; `misjudges` those that the executor misjudges."""

    lose: frozenset[str] = frozenset()
    misjudges: frozenset[str] = frozenset()
    name: str = "kitchen"
    families: tuple[str, ...] = WAYS
    executors: tuple[str, ...] = ("plain",)
    max_steps: int = 5

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(b"kitchen 1").hexdigest()

    def stream(self, split: Split, seed: int, count: int | None = None) -> tuple[Task, ...]:
        return tuple(task(number, split, seed) for number in range(12 if count is None else count))

    def group(self, split: Split, seed: int, count: int, family: str | None = None) -> tuple[Task, ...]:
        return tuple(task(number, split, seed, family or WAYS[seed % 2]) for number in range(count))

    def run(self, of: Task, skills: Sequence[Skill], executor: str) -> Episode:
        if executor not in self.executors:
            raise UsageError(f"There is no executor {executor!r}.")
        if of.id in self.lose:
            return Episode(of, None, 0, (), failure="the line went dead")
        told = next((way for way in WAYS for skill in skills[:1] if way in skill.body), None)
        way = told or (of.family if of.seed % 4 == 0 else "look")
        won = way == of.family
        steps = (Step("look", "A pan and a pot."), Step(f"{way} it", "It is done." if won else "It is spoilt."))
        judged = won != (of.id in self.misjudges)
        return Episode(of, won, 2, steps, judged=judged, used=tuple(skill.title for skill in skills[:1] if told))

    def play(self, of: Task) -> Game:
        return KitchenGame(of)

    def oracle(self) -> tuple[Skill, ...]:
        return tuple(skill(way) for way in WAYS)

    def judge(self, content: str, episode: Episode) -> ContentVerdict:
        named = [dish for dish in DISHES if dish in content]
        return ContentVerdict(not named, ("ABSTRACTION",) if named else ())


def skill(way: str) -> Skill:
    return write(way, f"How to {way} a dish.", f"# Workflow\n1. {way.capitalize()} it; {way} nothing else.")
