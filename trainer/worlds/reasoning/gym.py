"""Problems by reasoning-gym: generators with verifiers and levels of difficulty (CURATION 2a), nothing to download."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from core.curation.worlds import Split, Task
from core.foundation.errors import UsageError
from trainer.worlds.reasoning.problems import Checked

GENERATORS = (
    "chain_sum",
    "gcd",
    "fraction_simplification",
    "base_conversion",
    "simple_equations",
    "number_sequence",
    "calendar_arithmetic",
    "time_intervals",
    "leg_counting",
    "knights_knaves",
    "family_relationships",
    "syllogism",
)
LEVELS = 4
STREAM = 120
_SEEDS = 2**30  # train problems have seeds below, test problems from here on


def _gym() -> Any:
    if importlib.util.find_spec("reasoning_gym") is None:
        raise UsageError("The world of reasoning problems needs reasoning-gym.", hint="Install exuvia[reasoning].")
    from reasoning_gym import factory

    return factory


@lru_cache(maxsize=1_024)
def _entry(generator: str, level: int, seed: int) -> tuple[Any, Mapping[str, Any]]:
    """Return the data set of one problem, and the problem."""
    factory = _gym()
    curriculum = factory.create_curriculum(generator)
    curriculum.set_global_level(level)  # of an attribute with fewer levels its highest
    configuration = curriculum.generate_configuration({"seed": seed, "size": 1})
    dataset = factory.create_dataset(generator, **vars(configuration))
    return dataset, dataset[0]


class Gym:
    """Problems of the chosen generators; the level, from 0, is the difficulty. Invariant: it holds no state."""

    def __init__(self, generators: Sequence[str] = GENERATORS) -> None:
        known = set(_gym().CURRICULA)
        unknown = [name for name in generators if name not in known]
        if unknown or not generators:
            raise UsageError(
                f"reasoning-gym has no generator with levels named {', '.join(unknown) or '(none named)'}.",
                hint=f"The default ones: {', '.join(GENERATORS)}.",
            )
        self._generators = tuple(generators)

    @property
    def families(self) -> tuple[str, ...]:
        return self._generators

    @property
    def facts(self) -> Mapping[str, Any]:
        from importlib.metadata import version

        return {"reasoning-gym": version("reasoning-gym"), "generators": self._generators, "levels": LEVELS}

    def task(self, generator: str, split: Split, level: int, seed: int) -> Task:
        """Return the problem of a seed below 2**30; the splits share no seed."""
        own = seed % _SEEDS + (_SEEDS if split == "test" else 0)
        _, entry = _entry(generator, level, own)
        data = {"generator": generator, "level": level, "seed": own, "answer": str(entry["answer"])}
        return Task(
            f"reasoning-{generator}-{level}-{own}", generator, str(entry["question"]), split, own, float(level), data
        )

    def stream(self, split: Split, seed: int, count: int | None) -> Sequence[Task]:
        draw = random.Random(f"reasoning stream {split} {seed}")
        wanted = STREAM if count is None else count
        rounds = -(-wanted // len(self._generators))
        names = [name for _ in range(rounds) for name in draw.sample(self._generators, len(self._generators))]
        return tuple(self.task(name, split, draw.randrange(LEVELS), draw.randrange(_SEEDS)) for name in names[:wanted])

    def group(self, split: Split, seed: int, count: int, family: str | None) -> Sequence[Task]:
        """Return problems of one generator, in order of difficulty."""
        draw = random.Random(f"reasoning group {split} {seed}")
        drawn = draw.choice(self._generators)
        if family is not None and family not in self._generators:
            raise UsageError(
                f"The reasoning world has no family {family!r}.", hint=f"Families: {', '.join(self._generators)}."
            )
        levels = sorted(draw.randrange(LEVELS) for _ in range(count))
        return tuple(self.task(family or drawn, split, level, draw.randrange(_SEEDS)) for level in levels)

    def check(self, task: Task, answer: str) -> Checked:
        """Let the generator's own verifier check; an answer that it can't read is wrong."""
        dataset, entry = _entry(task.data["generator"], task.data["level"], task.data["seed"])
        scores = [0.0]
        for said in (answer, f"${answer}$"):  # some verifiers want the formula's dollars, which a box leaves out
            try:
                scores.append(float(dataset.score_answer(said, entry)))
            except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
                continue
        return Checked(max(scores))
