"""The world `alfworld` (extra): the real ALFWorld engine, in a process and an environment of its own."""

from __future__ import annotations

from pathlib import Path

from trainer.worlds.alfworld.world import AlfWorld
from trainer.worlds.household.words import lexicon

__all__ = ["AlfWorld", "lexicon", "make"]


def make(python: str | None = None, games: str | Path | None = None, plain: bool = False) -> AlfWorld:
    """Return the world. `python`: the interpreter that has alfworld; `games`: a folder of ALFWorld's own games.

    `plain` runs the engine as it is shipped. Raises UsageError where no engine is installed.
    """
    return AlfWorld(python, Path(games) if games else None, plain)
