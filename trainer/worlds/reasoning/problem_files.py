"""Problems from files: DeepMath, AIME and GPQA as their hubs serve them, loaded by path (trainer.worlds.datasets)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.curation.worlds import Split, Task
from core.foundation.errors import UsageError
from trainer.worlds.datasets import Problem, load_problems
from trainer.worlds.reasoning.answers import same
from trainer.worlds.reasoning.problems import Checked

HELD_OUT = 10  # of a data set without a split of its own, one problem in ten is test, by its id's hash


def _is_test(problem: Problem) -> bool:
    return int(hashlib.sha256(problem.id.encode()).hexdigest()[:8], 16) % HELD_OUT == 0


class ProblemFile:
    """The problems of one file. A set made for testing (AIME, GPQA) has no train split."""

    def __init__(self, dataset: str, path: Path) -> None:
        self._dataset = dataset
        self._path = path
        self._problems = load_problems(dataset, path)
        self._families = tuple(sorted({problem.family for problem in self._problems}))

    @property
    def families(self) -> tuple[str, ...]:
        return self._families

    @property
    def facts(self) -> Mapping[str, Any]:
        digest = hashlib.sha256(self._path.read_bytes()).hexdigest()
        return {"dataset": self._dataset, "sha256": digest, "held_out": HELD_OUT}

    def _of(self, split: Split) -> list[Problem]:
        if self._dataset in ("aime", "gpqa"):
            if split == "train":
                raise UsageError(f"{self._dataset} is a test set: nothing may be trained on it.", hint="Take deepmath.")
            return list(self._problems)
        return [problem for problem in self._problems if _is_test(problem) == (split == "test")]

    def _task(self, problem: Problem, split: Split, seed: int) -> Task:
        return Task(
            f"{self._dataset}-{problem.id}",
            problem.family,
            problem.question,
            split,
            seed,
            problem.difficulty,
            {"answer": problem.answer},
        )

    def stream(self, split: Split, seed: int, count: int | None) -> Sequence[Task]:
        draw = random.Random(f"problems stream {split} {seed}")
        problems = self._of(split)
        wanted = len(problems) if count is None else count
        if wanted > len(problems):
            raise UsageError(f"{self._path} has {len(problems)} problems for {split}, {wanted} were asked for.")
        return tuple(self._task(problem, split, draw.getrandbits(30)) for problem in draw.sample(problems, wanted))

    def group(self, split: Split, seed: int, count: int, family: str | None) -> Sequence[Task]:
        draw = random.Random(f"problems group {split} {seed}")
        problems = self._of(split)
        large = [name for name in self._families if sum(p.family == name for p in problems) >= count]
        if (family is not None and family not in large) or not large:
            raise UsageError(f"{self._path} has no {count} problems of {family or 'one family'} for {split}.")
        chosen = family if family is not None else draw.choice(large)
        drawn = draw.sample([problem for problem in problems if problem.family == chosen], count)
        return tuple(self._task(problem, split, draw.getrandbits(30)) for problem in drawn)

    def check(self, task: Task, answer: str) -> Checked:
        return Checked(1.0 if same(answer, task.data["answer"]) else 0.0)
