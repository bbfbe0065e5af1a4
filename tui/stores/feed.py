"""The road from the disk to the screen: changes wake the stores, at most twice a second; a stat each second is the
net below.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from core.foundation.errors import NotFoundError
from core.state.paths import ProjectPaths
from tui.stores.console import TOPICS, WAKES, ConsoleStore, ConsoleView, Topic
from tui.stores.runs import Subject

PACE_S = 0.5
NET_S = 1.0
Tell = Callable[[ConsoleView], None]
TellTrace = Callable[[frozenset[str]], None]


class Feed:
    """Keeps a ConsoleStore fresh.

    Invariant: loads run one after another in worker threads; `tell` is called on the event loop, and only with a
    view that differs from the one before.
    """

    def __init__(self, store: ConsoleStore, tell: Tell, tell_trace: TellTrace) -> None:
        self.store = store
        self._tell, self._tell_trace = tell, tell_trace
        self._stale: set[Topic] = set()
        self._sessions: set[str] = set()
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()

    def refresh(self) -> None:
        """Load everything anew, soon."""
        self._mark(TOPICS)

    def look_at(self, subject: Subject) -> None:
        """Show another agent or benchmark."""
        self.store.chosen = subject
        self._mark(TOPICS)

    def stop(self) -> None:
        """End `run`."""
        self._stop.set()
        self._wake.set()

    async def run(self) -> None:
        """Follow the Project until `stop`."""
        if self.store.unfinished:
            self._mark(self.store.unfinished)
        tasks: list[Awaitable[None]] = [self._watch(), self._net(), self._loads()]
        await asyncio.gather(*tasks)

    def _mark(self, topics: frozenset[Topic]) -> None:
        self._stale |= topics
        self._wake.set()

    async def _loads(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._stop.is_set():
                return
            stale, self._stale = frozenset(self._stale), set()
            sessions, self._sessions = frozenset(self._sessions), set()
            if sessions:
                self._tell_trace(sessions)
            before = self.store.view
            if stale:
                view = await asyncio.to_thread(self.store.load, stale)
                if view != before:
                    self._tell(view)
                if self.store.unfinished:
                    self._mark(self.store.unfinished)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), PACE_S)

    async def _watch(self) -> None:
        from core.state.watch import watch  # watchfiles: after the first paint

        while not self._stop.is_set():
            try:
                async for events in watch(self.store.project, self._stop):
                    for event in events:
                        self._stale |= WAKES[event.kind]
                        if event.kind == "trace" and event.subject_id:
                            self._sessions.add(event.subject_id)
                    self._wake.set()
            except (NotFoundError, OSError):
                # The project went away or can't be watched; the net below still looks once a second.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), 5 * NET_S)

    async def _net(self) -> None:
        """Look once a second at what tells of every change that matters, and whether live engines still live."""
        seen = await asyncio.to_thread(signs, self.store)
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), NET_S)
            now = await asyncio.to_thread(signs, self.store)
            if now != seen:
                seen = now
                self._mark(TOPICS)
            elif any(not view.observed for view in self.store.runs.live):
                self._mark(frozenset({"sessions"}))  # the heartbeats of engines are not watched


def signs(store: ConsoleStore) -> tuple[object, ...]:
    """Return what differs where anything shown may differ: a handful of stats, and the life of live engines."""
    from core.evolution import runs
    from core.evolution.run_paths import run_paths

    project = store.project
    paths: list[Path] = [project.runs, project.approvals, project.ledger, project.agents]
    alive: list[bool] = []
    for view in store.runs.live:
        if view.observed:
            continue
        run = run_paths(project, view.run_id)
        paths.append(run.journal)
        alive.append(runs.is_alive(run))
    paths += _of_subject(project, store.view.subject)
    return (*alive, *store.runs.observer.signs(), *(_stamp(path) for path in paths))


def _of_subject(project: ProjectPaths, subject: Subject | None) -> list[Path]:
    if subject is None:
        return []
    agent = project.agent(subject.agent_id)
    paths = [agent.config, agent.snapshots]
    if subject.benchmark_id:
        paths.append(agent.benchmark(subject.benchmark_id).scoreboard)
    return paths


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)
