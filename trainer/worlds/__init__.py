"""The worlds, by name. Each is imported when it is asked for; none needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from core.curation.worlds import World
from core.foundation.errors import UsageError

WORLDS: Mapping[str, str] = {
    "household": "trainer.worlds.household",
    "shop": "trainer.worlds.shop",
    "reasoning": "trainer.worlds.reasoning",
    "alfworld": "trainer.worlds.alfworld",
}


def open_world(name: str, **options: Any) -> World:
    """Return a world; each module's `make(**options)` builds it. Raises UsageError naming the known ones."""
    if name not in WORLDS:
        raise UsageError(f"There is no world {name!r}.", hint=f"Worlds: {', '.join(WORLDS)}, benchmark:AGENT/ID.")
    world: World = import_module(WORLDS[name]).make(**options)
    return world
