"""The household: an in-process text world in ALFWorld's grammar, with frozen executors that follow skills."""

from __future__ import annotations

from trainer.worlds.household.words import lexicon
from trainer.worlds.household.world import Household

__all__ = ["Household", "lexicon", "make"]


def make() -> Household:
    """Return the world. It takes no options: its constants are fixed and hashed."""
    return Household()
