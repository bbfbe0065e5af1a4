"""Opening the console without a terminal, and reading what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from core.state.paths import ProjectPaths
from tui.console import Console
from tui.settings import Loaded
from tui.stores.console import ConsoleStore


@asynccontextmanager
async def console(
    project: ProjectPaths,
    size: tuple[int, int] = (120, 40),
    *,
    read_only: bool = False,
    loaded: Loaded | None = None,
) -> AsyncIterator[tuple[Console, Pilot[int]]]:
    """Open the console on a Project."""
    store = ConsoleStore(project)
    store.load()
    app = Console(project, store, read_only=read_only, loaded=loaded)
    # Tooltips and notifications: a screen then has the widgets that it has in a real terminal.
    async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
        await pilot.pause()
        yield app, pilot


def screen_text(app: Console) -> str:
    """Return what is on screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def foot(text: str) -> str:
    """Return the line of keys."""
    return text.rstrip("\n").split("\n")[-1]


async def until(app: Console, pilot: Pilot[int], met: Callable[[str], bool], timeout_s: float = 10.0) -> str:
    """Wait until the screen meets a condition and return it; fail with the screen where it doesn't."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:
        await pilot.pause()
        text = screen_text(app)
        if met(text):
            return text
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"the screen never showed what was waited for:\n{text}")
        await asyncio.sleep(0.05)
