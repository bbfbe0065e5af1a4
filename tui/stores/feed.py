"""The road from the disk to the screen: changes wake the stores, at most twice a second; a stat each second is the
net below.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.stores.console import TOPICS, WAKES, ConsoleStore, ConsoleView, Topic
from tui.stores.runs import Subject

PACE_S = 0.5
NET_S = 1.0
_AGAIN = 5
"""Turns of the net after which what could not be read is tried again."""
Tell = Callable[[ConsoleView], None]
TellTrace = Callable[[frozenset[str]], None]


class Feed:
    """Keeps a ConsoleStore fresh.

    Invariant: loads run one after another in worker threads; `tell` is called on the event loop, and only with a
    view that differs from the one before. Whatever a file makes a reader raise, the view before stays, says so
    (`ConsoleView.fault`), and is loaded again at the next change, or a few seconds later.
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
                view = await self._load(stale)
                if view != before:
                    self._tell(view)
                if not view.fault and self.store.unfinished:
                    self._mark(self.store.unfinished)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), PACE_S)

    async def _load(self, stale: frozenset[Topic]) -> ConsoleView:
        try:
            return await asyncio.to_thread(self.store.load, stale)
        except Exception as error:  # following goes on, whatever the state of a file
            self._stale |= stale  # not woken for it: the next change wakes, or the net
            return self.store.failed(error)

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
            except Exception:  # watching is a library's, and raises what it likes
                # The project went away or can't be watched; the net below still looks once a second.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), 5 * NET_S)

    async def _net(self) -> None:
        """Look once a second at what tells of every change that matters, and whether live engines still live."""
        seen = await asyncio.to_thread(_signs, self.store)
        turns = 0
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), NET_S)
            now, turns = await asyncio.to_thread(_signs, self.store), turns + 1
            if now != seen:
                seen = now
                self._mark(TOPICS)
            elif self.store.view.fault and turns % _AGAIN == 0:
                self._mark(TOPICS)
            elif any(not view.observed for view in self.store.runs.live):
                self._mark(frozenset({"sessions"}))  # the heartbeats of engines are not watched


def _signs(store: ConsoleStore) -> tuple[object, ...]:
    try:
        return signs(store)
    except (ExuviaError, OSError, ValueError) as error:
        return (repr(error),)


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
    own = (*store.training.signs(), *store.strategies.signs(), *store.runs.observer.signs())
    return (*alive, *own, *(_stamp(path) for path in paths))


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
