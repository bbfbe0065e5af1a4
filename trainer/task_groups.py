"""The task groups of a step, and the streams of a measurement: drawn by the run's seed and a name alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from core.curation.worlds import Split, Task, World
from trainer.rollout import Stream
from trainer.seeds import derive
from trainer.settings import EvaluationOptions, GroupOptions


def task_groups(
    world: World, options: GroupOptions, *, seed: int, step: int, pool: Sequence[Sequence[Task]] = ()
) -> list[tuple[Task, ...]]:
    """Return the groups of a step, each |G| tasks in the order they are walked.

    Families take turns, so that chance can't leave one out for long. `pool` holds the groups that "pipeline" takes.
    """
    families = _in_turn(world.families, options.groups, seed, step)
    groups: list[tuple[Task, ...]] = []
    for index, family in enumerate(families):
        draw = Random(derive(seed, "group", step, index))
        size = draw.randint(options.smallest, options.largest)
        source = draw.getrandbits(32)
        if options.by == "pipeline":
            groups.append(tuple(pool[draw.randrange(len(pool))]))
        elif options.by == "random":
            groups.append(tuple(world.stream("train", source, size)))
        else:
            group = list(world.group("train", source, size, family))
            strangers = world.stream("train", draw.getrandbits(32), size) if options.strangers else ()
            for place, stranger in enumerate(strangers):
                if draw.random() < options.strangers:
                    group[place] = stranger
            groups.append(tuple(group))
    return groups


def _in_turn(families: Sequence[str], count: int, seed: int, step: int) -> list[str]:
    """Return the families of a step's groups: rounds over all families, each round in an order of its own."""
    found: list[str] = []
    for place in range(step * count, (step + 1) * count):
        lap, at = divmod(place, len(families))
        order = list(families)
        Random(derive(seed, "families", lap)).shuffle(order)
        found.append(order[at])
    return found


def rollouts_of(groups: Sequence[tuple[Task, ...]], count: int) -> list[Stream]:
    """Return `count` rollouts of each group, those of a group beside each other."""
    return [Stream(index, rollout, tasks) for index, tasks in enumerate(groups) for rollout in range(count)]


def mixed_streams(world: World, split: Split, *, seed: int, purpose: str, count: int, tasks: int) -> list[Stream]:
    """Return `count` mixed streams; `tasks` 0 is the world's own number.

    Their seed is not the run's: every run is measured on the same tasks.
    """
    return [
        Stream(index, 0, tuple(world.stream(split, derive(seed, purpose, index), tasks or None)))
        for index in range(count)
    ]


def grouped_streams(world: World, *, seed: int, options: EvaluationOptions, size: int) -> list[Stream]:
    """Return streams as training has them: one family each, in turn, of the split "test"."""
    return [
        Stream(index, 0, tuple(world.group("test", derive(seed, "grouped", index), size, family)))
        for index in range(options.groups)
        for family in (world.families[index % len(world.families)],)
    ]
