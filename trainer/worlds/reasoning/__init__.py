"""The world `reasoning` (extra): problems with verifiers, from generators or from files by path."""

from __future__ import annotations

from pathlib import Path

from core.foundation.errors import UsageError
from trainer.worlds.reasoning.gym import GENERATORS, Gym
from trainer.worlds.reasoning.problem_files import ProblemFile
from trainer.worlds.reasoning.world import Reasoning

__all__ = ["Reasoning", "make"]


def make(generators: str | None = None, dataset: str | None = None, path: str | Path | None = None) -> Reasoning:
    """Return the world: of reasoning-gym's `generators` (names with commas), or of a `dataset` at a `path`.

    Raises UsageError where the one needs a package or the other a file that isn't there.
    """
    if (dataset is None) != (path is None):
        raise UsageError("A data set of problems needs its name and its path.", hint="dataset=deepmath path=FILE.")
    if dataset is not None and path is not None:
        return Reasoning(ProblemFile(dataset, Path(path).expanduser()))
    names = tuple(name.strip() for name in generators.split(",")) if generators else GENERATORS
    return Reasoning(Gym(names))
