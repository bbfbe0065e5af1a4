"""Where a machine that has the real engine keeps it; tests skip with a reason where there is none."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from core.foundation.errors import ExuviaError
from trainer.worlds.alfworld import AlfWorld
from trainer.worlds.alfworld.engine_process import VARIABLE

HOME = Path("~/.cache/exuvia-perf/alfworld/bin/python").expanduser()


@cache
def _found() -> AlfWorld | str:
    named = os.environ.get(VARIABLE) or (str(HOME) if HOME.exists() else None)
    try:
        world = AlfWorld(named)
        world.wheel  # noqa: B018 - starts the engine's process
    except ExuviaError as error:
        return str(error)
    return world


def real_world() -> AlfWorld:
    """Return the world with its engine, or skip the test with the reason why there is none."""
    found = _found()
    if isinstance(found, str):
        pytest.skip(f"the real ALFWorld engine is absent: {found}")
    return found
