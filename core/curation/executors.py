"""The frozen executor of a stream: a world's own scripted one, or any model that plays its Games (K4).

An attempt that infrastructure broke gives an Episode whose success is None: masked, never a failure (lesson 3). An
error that will not pass by waiting (a refused key, a model that is gone) is no lost attempt: it is raised, and the
stream stops where it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from core.curation import react
from core.curation.asking import Asker, Model, spent, together
from core.curation.meter import Meter
from core.curation.worlds import Episode, Game, Step, Task, World
from core.foundation.errors import UsageError
from core.models.interface import ProviderError, Usage
from core.skillrepo.skill import Skill

Attempt = tuple[Task, tuple[Skill, ...]]


class Executor(Protocol):
    """Attempts tasks with the skills that were found for them."""

    @property
    def name(self) -> str: ...

    def run(self, world: World, attempts: Sequence[Attempt]) -> list[Episode]:
        """Return an Episode for each attempt, in order."""
        ...


@runtime_checkable
class RunsMany(Protocol):
    """A world whose attempts take long enough to be worth running several at a time."""

    def run_many(self, attempts: Sequence[Attempt], executor: str) -> list[Episode]:
        """Return an Episode for each attempt, in order, as `World.run` would one by one."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptedExecutor:
    """One of a world's own executors."""

    name: str

    def run(self, world: World, attempts: Sequence[Attempt]) -> list[Episode]:
        if isinstance(world, RunsMany):
            return world.run_many(attempts, self.name)
        return [world.run(task, skills, self.name) for task, skills in attempts]


@dataclass(frozen=True, slots=True)
class MeteredExecutor:
    """A world's own executor that asks a real model by itself: what its attempts say they spent is metered."""

    of: ScriptedExecutor
    meter: Meter

    @property
    def name(self) -> str:
        return self.of.name

    def run(self, world: World, attempts: Sequence[Attempt]) -> list[Episode]:
        self.meter.check()
        before: int = getattr(world, "other_tokens", 0)  # what a world spends beside its executor, to judge
        episodes = self.of.run(world, attempts)
        if judging := getattr(world, "other_tokens", 0) - before:
            self.meter.take(Usage(output=judging), None)
        for episode in episodes:
            self.meter.take(None if episode.tokens is None else Usage(output=episode.tokens), None)
        return episodes


@dataclass(frozen=True, slots=True)
class ModelExecutor:
    """A model that plays. `max_turns` bounds the world's own cap; `seed` names the draws of models that take one."""

    model: Model
    max_turns: int = react.MAX_TURNS
    history: int = react.HISTORY
    seed: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    def run(self, world: World, attempts: Sequence[Attempt]) -> list[Episode]:
        turns = min(self.max_turns, world.max_steps)
        return together(
            self.model,
            [partial(self._play, world=world, task=task, skills=skills, turns=turns) for task, skills in attempts],
        )

    async def _play(self, asker: Asker, world: World, task: Task, skills: tuple[Skill, ...], turns: int) -> Episode:
        game = world.play(task)
        intro = game.intro
        system = react.system_text(turns, skills)
        steps: list[Step] = []
        usages: list[Usage | None] = []
        while not game.done and len(steps) < turns:
            admissible = () if turns == 1 else tuple(game.admissible)
            shown = react.turn_text(task, intro, steps, admissible, turns, self.history)
            try:
                answer = await asker.ask(system, shown, seed=_seed(self.seed, task, len(steps)))
            except ProviderError as error:
                if error.permanent:
                    raise
                usages.append(error.usage)
                return Episode(task, None, len(steps), tuple(steps), intro, tokens=spent(usages), failure=str(error))
            usages.append(answer.usage)
            chosen = react.whole_answer(answer.text) if turns == 1 else react.choose(answer.text, admissible)
            steps.append(Step(chosen.action, game.step(chosen.action), chosen.coerced))
        return _episode(task, game, intro, steps, spent(usages))


def _episode(task: Task, game: Game, intro: str, steps: Sequence[Step], tokens: int | None) -> Episode:
    return Episode(task, game.won, len(steps), tuple(steps), intro, score=game.score, tokens=tokens)


def _seed(seed: int, task: Task, turn: int) -> int:
    digest = hashlib.sha256(f"{seed}\n{task.id}\n{task.seed}\n{turn}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def check_executor(world: World, name: str) -> None:
    """Raise UsageError where `name` is none of the world's own executors."""
    if name not in world.executors:
        known = ", ".join(world.executors) or "none of its own; name a model as PROVIDER/MODEL"
        raise UsageError(f"World {world.name} has no executor {name!r}.", hint=f"Executors: {known}.")
