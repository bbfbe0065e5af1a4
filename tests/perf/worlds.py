"""Steps a second of the worlds, side by side in one run, with the engines that they stand beside.

python -m tests.perf.worlds [SECONDS]

Each engine plays whole episodes for SECONDS (2 by default), in rounds that are interleaved; the best round counts,
since what else the machine does can only slow one down. The real ALFWorld engine plays the household's own tasks, once
as it is shipped and once with what it parsed remembered (as the world `alfworld` runs it). TextWorld plays a game of
its own in its fastest engine. What isn't installed is "not run": EXUVIA_ALFWORLD_PYTHON names an interpreter with both.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.curation.worlds import World
from core.foundation.errors import ExuviaError
from core.skillrepo.retrieval import retrieve
from trainer.worlds import open_world
from trainer.worlds.alfworld.engine_process import VARIABLE, interpreter

ROUNDS = 8
ANY_TEXT = ("search[blue shirt]",)
"""Sent where a game takes any text."""
Play = Callable[[], int]
"""Plays one episode and returns its steps."""
PLAYER = Path(__file__).with_name("textworld_player.py")
KEPT = Path("~/.cache/exuvia-perf/alfworld/bin/python").expanduser()


@dataclass
class Measured:
    """An engine's best round. Where `elsewhere` is set, another process plays, and says how it went."""

    name: str
    play: Play | None = None
    elsewhere: Callable[[float], tuple[int, int, float]] | None = None
    steps_per_second: float = 0.0
    episode_us: float = float("inf")

    def round(self, seconds: float) -> None:
        """Play for a while."""
        steps, episodes, spent = self.elsewhere(seconds) if self.elsewhere else self._here(seconds)
        self.steps_per_second = max(self.steps_per_second, steps / spent)
        self.episode_us = min(self.episode_us, spent / episodes * 1e6)

    def _here(self, seconds: float) -> tuple[int, int, float]:
        assert self.play is not None
        steps = episodes = 0
        start = time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds:
            steps += self.play()
            episodes += 1
        return steps, episodes, spent


def scripted(world: World, taught: bool, source: World | None = None) -> Play:
    """The weak executor, alone or with what retrieval finds among the oracle's skills, on tasks of `source`."""
    tasks = itertools.cycle((source or world).stream("train", 1))
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


def textworld(python: str) -> Callable[[float], tuple[int, int, float]]:
    """Start TextWorld's player; its first game is played and not counted."""
    process = subprocess.Popen([python, "-P", str(PLAYER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def play(seconds: float) -> tuple[int, int, float]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
        steps, episodes, spent = json.loads(process.stdout.readline())
        return steps, episodes, spent

    play(0.1)
    return play


def engines() -> Iterator[Measured | tuple[str, str]]:
    """Yield what can be measured here, and (name, why not) for the rest."""
    for name in ("household", "shop"):
        world = open_world(name)
        yield Measured(f"{name}, scripted executor alone", scripted(world, taught=False))
        yield Measured(f"{name}, scripted executor with retrieved skills", scripted(world, taught=True))
        yield Measured(f"{name}, as a game by words", by_words(world))
    names = ("ALFWorld's engine, remembering", "ALFWorld's engine, as shipped")
    try:
        python = interpreter(os.environ.get(VARIABLE) or (str(KEPT) if KEPT.exists() else None))
        household = open_world("household")
        for name, plain in zip(names, (False, True), strict=True):
            real = open_world("alfworld", python=python, plain=plain)
            real.run(household.stream("train", 1, 1)[0], (), "weak")  # starts it
            yield Measured(f"{name}, scripted executor alone", scripted(real, taught=False, source=household))
        yield Measured("TextWorld's Python engine, by words", elsewhere=textworld(python))
    except ExuviaError as error:
        for absent in (*names, "TextWorld's Python engine"):
            yield absent, str(error)


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
    for entry in found:
        if isinstance(entry, Measured):
            print(f"| {entry.name} | {entry.steps_per_second:,.0f} | {entry.episode_us:,.0f} |")
        else:
            print(f"| {entry[0]} | not run: {entry[1]} | |")


if __name__ == "__main__":
    main(sys.argv[1:])
