"""The worlds, by name. Each is imported when it is asked for; none needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from core.curation.worlds import World
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line

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


def world_of(name: str, options: Mapping[str, Any]) -> World:
    """Return a world with the options that somebody typed. Raises UsageError also where it takes no such options."""
    try:
        return open_world(name, **options)
    except TypeError as error:
        raise UsageError(
            f"The world {name!r} can't be opened with {visible_line(', '.join(sorted(options)))}: "
            f"{visible_line(str(error))}",
            hint="Leave them out, or see docs/training.md.",
        ) from error
