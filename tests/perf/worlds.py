"""Steps a second of the worlds, side by side in one run, with the engines that they stand beside.

python -m tests.perf.worlds [SECONDS]

Each engine plays whole episodes for SECONDS (2 by default), in rounds that are interleaved; the best round counts,
since what else the machine does can only slow one down. An engine that isn't installed is "not run".
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.curation.worlds import World
from core.skillrepo.retrieval import retrieve
from trainer.worlds import open_world

ROUNDS = 8
ANY_TEXT = ("search[blue shirt]",)
"""Sent where a game takes any text."""
Play = Callable[[], int]
"""Plays one episode and returns its steps."""


@dataclass
class Measured:
    """An engine's best round."""

    name: str
    play: Play
    steps_per_second: float = 0.0
    episode_us: float = float("inf")

    def round(self, seconds: float) -> None:
        """Play for a while."""
        steps = episodes = 0
        start = time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds:
            steps += self.play()
            episodes += 1
        self.steps_per_second = max(self.steps_per_second, steps / spent)
        self.episode_us = min(self.episode_us, spent / episodes * 1e6)


def scripted(world: World, taught: bool) -> Play:
    """The weak executor, alone or with what retrieval finds among the oracle's skills."""
    tasks = itertools.cycle(world.stream("train", 1))
    skills = world.oracle() if taught else ()
    executor = world.executors[0]

    def play() -> int:
        task = next(tasks)
        found = [hit.skill for hit in retrieve(skills, task.text, min_overlap=0.51)] if skills else []
        return world.run(task, found, executor).steps

    return play


def by_words(world: World) -> Play:
    """A random player that sends commands and reads the list of legal ones, as a model's harness does."""
    tasks = itertools.cycle(world.stream("train", 1))
    choose = random.Random(1).choice

    def play() -> int:
        game = world.play(next(tasks))
        steps = 0
        while not game.done and steps < world.max_steps:
            game.step(choose(game.admissible or ANY_TEXT))
            steps += 1
        return steps

    return play


def engines() -> Iterator[Measured | tuple[str, str]]:
    """Yield what can be measured here, and (name, why not) for the rest."""
    for name in ("household", "shop"):
        world = open_world(name)
        yield Measured(f"{name}, scripted executor alone", scripted(world, taught=False))
        yield Measured(f"{name}, scripted executor with retrieved skills", scripted(world, taught=True))
        yield Measured(f"{name}, as a game by words", by_words(world))


def main(argv: list[str]) -> None:
    """Measure and print a table."""
    seconds = float(argv[0]) if argv else 2.0
    found = list(engines())
    ready = [one for one in found if isinstance(one, Measured)]
    for _ in range(ROUNDS):
        for one in ready:
            one.round(seconds / ROUNDS)
    print("| world | steps a second | µs an episode |")
    print("|---|---|---|")
    for one in found:
        if isinstance(one, Measured):
            print(f"| {one.name} | {one.steps_per_second:,.0f} | {one.episode_us:,.0f} |")
        else:
            print(f"| {one[0]} | not run: {one[1]} | |")


if __name__ == "__main__":
    main(sys.argv[1:])
