"""One undisturbed loop: what disturbed ones are compared with."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.loop import Loop, outcome
from tests.e2e.timeline import Timeline
from tests.once import once


@dataclass(frozen=True)
class Undisturbed:
    """A loop that nothing disturbed. `built` is the home as the Builder left it, before anything was optimized."""

    built: Path
    build: dict[str, Any]
    whole: dict[str, Any]
    builder: Timeline
    optimizer: Timeline

    def home_after_build(self, place: Path) -> Loop:
        """Return a loop whose benchmark is built, in a home of its own: nothing in it knows where it lies."""
        shutil.copytree(self.built, place, symlinks=True)
        return Loop.at(place)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    async def go(root: Path) -> Undisturbed:
        loop = Loop.at(root / "home")
        build = await loop.build()
        assert build.state == "finished", loop.told(build.run_id)
        built = outcome(loop, build.run_id)
        shutil.copytree(root / "home", root / "built", symlinks=True)
        optimize = await loop.optimize()
        assert optimize.state == "finished", loop.told(optimize.run_id)
        whole = outcome(loop, build.run_id, optimize.run_id)
        return Undisturbed(
            root / "built",
            built,
            whole,
            Timeline.of(loop.events(build.run_id)),
            Timeline.of(loop.events(optimize.run_id)),
        )

    return once(tmp_path_factory, "undisturbed", lambda root: asyncio.run(go(root)))
