"""The world `alfworld`: the household's executors, oracle and judge in the real ALFWorld engine."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from core.curation.worlds import ContentVerdict, Episode, Game, Split, Task
from core.foundation.errors import UsageError
from core.foundation.strict_json import dumps
from core.skillrepo.skill import Skill
from trainer.worlds.alfworld import files, rooms
from trainer.worlds.alfworld.engine_process import EngineLostError, EngineProcess, interpreter
from trainer.worlds.alfworld.games import EngineGame
from trainer.worlds.alfworld.problem import Wheel, game
from trainer.worlds.household import oracle
from trainer.worlds.household.constants import CONSTANTS
from trainer.worlds.household.executor import Luck, attempt
from trainer.worlds.household.fingerprint import fingerprint as household_fingerprint
from trainer.worlds.household.game_body import GameBody
from trainer.worlds.household.judge import judge_content
from trainer.worlds.household.reading import read_skill
from trainer.worlds.household.tasks import layout_of
from trainer.worlds.household.things import FAMILIES


class AlfWorld:
    """Real games. Each thread has an engine of its own, which plays one game at a time.

    `games` is None for games of our own generator, or the folder of ALFWorld's.
    """

    name = "alfworld"
    families = FAMILIES
    executors = tuple(CONSTANTS.executors)
    max_steps = CONSTANTS.max_steps

    def __init__(self, python: str | None = None, games: Path | None = None, plain: bool = False) -> None:
        self._python = interpreter(python)
        self._options = ("--plain",) if plain else ()  # as the engine is shipped, many times slower
        self._games = games
        self._engines = threading.local()
        self._idle: list[EngineProcess] = []  # of games for models that ended; a list's append and pop are atomic

    @cached_property
    def wheel(self) -> Wheel:
        """What the installed wheel carries."""
        return Wheel.of(self._engine().ask("facts"))

    @property
    def fingerprint(self) -> str:
        """Over the executors, the wheel and the generator, or the names of the games by path."""
        document: dict[str, Any] = {
            "household": household_fingerprint(),
            "version": self.wheel.version,
            "domain": self.wheel.domain,
            "grammar": self.wheel.grammar,
            "rooms": [list(rooms.TEST_PLANS), rooms.MOST_OF_A_KIND, rooms.EXTRA_PLACES, rooms.OBJECTS],
        }
        if self._games is not None:
            document["games"] = sorted(
                path.relative_to(self._games).as_posix() for path in self._games.glob("*/*/*/game.tw-pddl")
            )
        return hashlib.sha256(dumps(document).encode()).hexdigest()

    def stream(self, split: Split, seed: int, count: int | None = None) -> tuple[Task, ...]:
        if self._games is not None:
            return files.stream(self._games, split, seed, count)
        return rooms.stream(split, seed, count, self.wheel)

    def group(self, split: Split, seed: int, count: int, family: str | None = None) -> tuple[Task, ...]:
        if self._games is not None:
            return files.group(self._games, split, seed, count, family)
        return rooms.group(split, seed, count, family, self.wheel)

    def run(self, task: Task, skills: Sequence[Skill], executor: str) -> Episode:
        """Let a household executor try the task in the real engine. A lost engine gives a masked Episode."""
        habits = CONSTANTS.executors.get(executor)
        if habits is None:
            raise UsageError(
                f"ALFWorld has no executor {executor!r} here.", hint=f"Executors: {', '.join(self.executors)}."
            )
        luck = Luck.of(task.seed)
        played: EngineGame | None = None
        try:
            played = self._open(task)
            way = attempt(GameBody(played, self.max_steps), [read_skill(skill) for skill in skills], habits, luck)
        except EngineLostError as error:
            trajectory = tuple(played.steps) if played else ()
            return Episode(task, None, len(trajectory), trajectory, failure=str(error))
        success = played.won
        mistaken = luck.judges < (CONSTANTS.judge_misses if success else CONSTANTS.judge_flatters)
        return Episode(
            task=task,
            success=success,
            steps=len(played.steps),
            trajectory=tuple(played.steps),
            intro=played.intro,
            judged=success != mistaken,
            used=way.used,
        )

    def play(self, task: Task) -> Game:
        """Open a task for a model, in an engine of its own, which the next game takes over when this one is dropped."""
        try:
            engine = self._idle.pop()
        except IndexError:
            engine = EngineProcess(self._python, self._options)
        opened = self._open(task, engine)
        weakref.finalize(opened, self._idle.append, engine)
        return opened

    def plan(self, task: Task) -> tuple[str, ...]:
        """Return the bundled planner's way to the goal; empty where it finds none."""
        self._open(task)
        return tuple(self._engine().ask("plan")["plan"])

    def oracle(self) -> tuple[Skill, ...]:
        return oracle.skills()

    def judge(self, content: str, episode: Episode) -> ContentVerdict:
        return judge_content(content, episode)

    def close(self) -> None:
        """End this thread's engine and the idle ones."""
        self._engine().close()
        while self._idle:
            self._idle.pop().close()

    def _engine(self) -> EngineProcess:
        engine: EngineProcess | None = getattr(self._engines, "engine", None)
        if engine is None:
            engine = self._engines.engine = EngineProcess(self._python, self._options)
        return engine

    def _open(self, task: Task, engine: EngineProcess | None = None) -> EngineGame:
        return EngineGame(engine or self._engine(), self._data(task), self.max_steps)

    def _data(self, task: Task) -> object:
        if "path" in task.data:
            return str(task.data["path"])
        try:
            layout = layout_of(task)
        except ValueError as error:
            raise UsageError(f"ALFWorld can't play this: {error}.") from error
        goal = layout.goal
        return game(task.family, goal.object, goal.place, task.text, layout.contents, self.wheel)
