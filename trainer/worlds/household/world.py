"""The household as a World: its streams and groups, its frozen executors, its oracle and its judge."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from core.curation.worlds import ContentVerdict, Episode, Game, Split, Task
from core.foundation.errors import UsageError
from core.skillrepo.skill import Skill
from trainer.worlds.household import oracle
from trainer.worlds.household.conduct import Luck
from trainer.worlds.household.constants import CONSTANTS
from trainer.worlds.household.executor import attempt
from trainer.worlds.household.fingerprint import fingerprint
from trainer.worlds.household.game import HouseholdGame
from trainer.worlds.household.judge import judge_content
from trainer.worlds.household.reading import read_skill
from trainer.worlds.household.room import Room
from trainer.worlds.household.tasks import Layout, layout_of, make_task
from trainer.worlds.household.things import COUNTS, FAMILIES


class Household:
    """The world `household`. It holds no state: a method gives the same for the same arguments, in any process."""

    name = "household"
    families = FAMILIES
    executors = tuple(CONSTANTS.executors)
    max_steps = CONSTANTS.max_steps

    @property
    def fingerprint(self) -> str:
        """See `core.curation.worlds.World`."""
        return fingerprint()

    def stream(self, split: Split, seed: int, count: int | None = None) -> tuple[Task, ...]:
        """Return a mixed stream: ALFWorld's 140 tasks by its counts in a drawn order, or `count` of such an order."""
        random = Random(f"household stream {split} {seed}")
        families = [family for family in FAMILIES for _ in range(COUNTS[family])]
        random.shuffle(families)
        while count is not None and len(families) < count:
            families += random.sample(families, len(families))
        return tuple(make_task(family, split, random.getrandbits(32)) for family in families[:count])

    def group(self, split: Split, seed: int, count: int, family: str | None = None) -> tuple[Task, ...]:
        """Return `count` tasks of one family, drawn by the seed where none is named."""
        random = Random(f"household group {split} {seed}")
        drawn = random.choice(FAMILIES)
        if family is not None and family not in FAMILIES:
            raise UsageError(f"The household has no family {family!r}.", hint=f"Families: {', '.join(FAMILIES)}.")
        return tuple(make_task(family or drawn, split, random.getrandbits(32)) for _ in range(count))

    def run(self, task: Task, skills: Sequence[Skill], executor: str) -> Episode:
        """Let a scripted executor try a task with the retrieved skills, best first."""
        habits = CONSTANTS.executors.get(executor)
        if habits is None:
            raise UsageError(
                f"The household has no executor {executor!r}.", hint=f"Executors: {', '.join(self.executors)}."
            )
        layout, luck = _prepared(_Key(task))
        room = Room(layout, CONSTANTS.max_steps)
        way = attempt(room, [read_skill(skill) for skill in skills], habits, luck)
        success = room.won
        mistaken = luck.judges < (CONSTANTS.judge_misses if success else CONSTANTS.judge_flatters)
        return Episode(
            task=task,
            success=success,
            steps=len(room.steps),
            trajectory=tuple(room.steps),
            intro=layout.intro,
            judged=success != mistaken,
            used=way.used,
        )

    def play(self, task: Task) -> Game:
        """Open a task for a model. Raises UsageError where it is none of the household's."""
        return HouseholdGame(_layout(task), CONSTANTS.max_steps)

    def oracle(self) -> tuple[Skill, ...]:
        """Six skills written by hand."""
        return oracle.skills()

    def judge(self, content: str, episode: Episode) -> ContentVerdict:
        """Judge by rules."""
        return judge_content(content, episode)


class _Key:
    """A task as a key: two are the same where everything that a run depends on is."""

    __slots__ = ("_hash", "task")

    def __init__(self, task: Task) -> None:
        self.task = task
        self._hash = hash((task.id, task.seed))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Key):
            return NotImplemented
        mine, others = self.task, other.task
        return mine is others or (mine.seed, mine.text, mine.data) == (others.seed, others.text, others.data)


def _layout(task: Task) -> Layout:
    try:
        return layout_of(task)
    except ValueError as error:
        raise UsageError(
            f"The household can't play this: {error}.", hint="Take tasks from its stream or group."
        ) from error


@lru_cache(maxsize=4_096)
def _prepared(key: _Key) -> tuple[Layout, Luck]:
    return _layout(key.task), Luck.of(key.task.seed)
