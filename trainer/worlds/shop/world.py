"""The world `shop`: see `core.curation.worlds.World` for what each part is."""

from __future__ import annotations

import random
from collections.abc import Sequence

from core.curation.worlds import ContentVerdict, Episode, Game, Split, Task
from core.foundation.errors import UsageError
from core.skillrepo.skill import Skill
from core.strategy.shop.catalogue import Catalogue, catalogue
from trainer.worlds.shop import constants, judge, oracle, tasks
from trainer.worlds.shop.constants import CONSTANTS, FAMILIES
from trainer.worlds.shop.demand import Demand
from trainer.worlds.shop.executor import Trip, habits_of, plan
from trainer.worlds.shop.game import MAX_STEPS, ShopGame
from trainer.worlds.shop.search import SearchEngine


class Shop:
    """A catalogue to be shopped in; nothing in it changes. `goods` are the shop's own where none are given."""

    def __init__(self, goods: Catalogue | None = None) -> None:
        self._goods = goods or catalogue()
        self._engine = SearchEngine(self._goods.products.values())

    @property
    def name(self) -> str:
        return "shop"

    @property
    def families(self) -> tuple[str, ...]:
        return FAMILIES

    @property
    def executors(self) -> tuple[str, ...]:
        return tuple(CONSTANTS.executors)

    @property
    def max_steps(self) -> int:
        return MAX_STEPS

    @property
    def fingerprint(self) -> str:
        return constants.fingerprint(self._goods)

    def stream(self, split: Split, seed: int, count: int | None = None) -> tuple[Task, ...]:
        return tasks.stream(split, seed, count, self._goods)

    def group(self, split: Split, seed: int, count: int, family: str | None = None) -> tuple[Task, ...]:
        return tasks.group(split, seed, count, family, self._goods)

    def run(self, task: Task, skills: Sequence[Skill], executor: str) -> Episode:
        """Let an executor shop with the skills, best first. Raises UsageError for an executor that there isn't."""
        habits = CONSTANTS.executors.get(executor)
        if habits is None:
            raise UsageError(
                f"The shop has no executor {executor!r}.", hint=f"Executors: {', '.join(CONSTANTS.executors)}."
            )
        draw = random.Random(f"shop:run:{task.seed}:{task.id}")
        habit = habits_of(habits, CONSTANTS.trust, draw)
        demand = Demand.from_json(task.data["demand"])
        means = plan(demand, skills, habit, CONSTANTS.trust)
        game = ShopGame(demand, self._goods, self._engine)
        trip = Trip(game)
        trip.run(means)
        return Episode(
            task=task,
            success=game.won,
            steps=game.steps,
            trajectory=tuple(trip.steps),
            intro=game.intro,
            score=game.score,
            judged=game.won != habit.misjudges,
            used=means.followed,
        )

    def play(self, task: Task) -> Game:
        return ShopGame(Demand.from_json(task.data["demand"]), self._goods, self._engine)

    def oracle(self) -> tuple[Skill, ...]:
        return oracle.skills()

    def judge(self, content: str, episode: Episode) -> ContentVerdict:
        return judge.judge(content, episode)
