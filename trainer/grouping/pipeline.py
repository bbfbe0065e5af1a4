"""From tasks and their annotations to the groups that training walks: Table 5 from end to end (CURATION 1.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.curation.worlds import Task
from core.foundation.errors import UsageError
from trainer.grouping import annotation_file
from trainer.grouping.sampler import Member, PairSampler, random_size
from trainer.grouping.settings import TABLE_5, GroupingSettings
from trainer.grouping.similarity import Encoder, Lexical
from trainer.seeds import derive


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """A group as training walks it, and how each task came in."""

    tasks: tuple[Task, ...]
    members: tuple[Member, ...]

    @property
    def fallbacks(self) -> int:
        """How many of its tasks passed no gate."""
        return sum(member.fallback for member in self.members)


def task_groups(
    tasks: Sequence[Task],
    file: Path,
    count: int,
    *,
    smallest: int = 5,
    largest: int = 12,
    seed: int = 0,
    encoder: Encoder | None = None,
    settings: GroupingSettings = TABLE_5,
) -> tuple[TaskGroup, ...]:
    """Return `count` groups of smallest..largest tasks (Table 4's Random(5, 12)) from the annotated ones.

    Raises UsageError where there is no file, or too few of the tasks are annotated.
    """
    by_id = {task.id: task for task in tasks}
    pool = annotation_file.annotated(tasks, annotation_file.load(file))
    if len(pool) < largest:
        raise UsageError(
            f"{len(pool)} of {len(tasks)} tasks are annotated in {file}; groups of up to {largest} need more.",
            hint="Annotate more of them, or draw smaller groups.",
        )
    sampler = PairSampler(pool, encoder or Lexical(), settings)
    groups = []
    for number in range(count):
        own = derive(seed, "task group", number)
        members = sampler.group(random_size(smallest, largest, own), own)
        groups.append(TaskGroup(tuple(by_id[member.task.id] for member in members), members))
    return tuple(groups)
