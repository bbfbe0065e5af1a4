"""Grouping of agentic tasks: the benchmark's own task types take the place of attributes (CURATION 1.5)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from core.curation.worlds import Task
from core.foundation.errors import UsageError


def families(tasks: Sequence[Task]) -> Mapping[str, tuple[Task, ...]]:
    """Return family -> its tasks, in the order given."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(task.family, []).append(task)
    return {family: tuple(members) for family, members in found.items()}


def group(tasks: Sequence[Task], size: int, seed: int, family: str | None = None) -> tuple[Task, ...]:
    """Return `size` tasks of one type, drawn by the seed where none is named; none twice.

    Raises UsageError where no type has so many, or the named one hasn't.
    """
    found = families(tasks)
    large = sorted(name for name, members in found.items() if len(members) >= size)
    if family is not None and family not in large:
        raise UsageError(f"The type {family!r} has {len(found.get(family, ()))} tasks; {size} were asked for.")
    if not large:
        raise UsageError(f"No type has {size} tasks.")
    draw = random.Random(f"group by type {seed}")
    chosen = family if family is not None else draw.choice(large)
    return tuple(draw.sample(found[chosen], size))
