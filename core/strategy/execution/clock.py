"""Time as the executor has it: the machine's, or a virtual one in which a simulation takes no time and is exact.

Everything here that waits or limits a wait does so through a Clock, so that the same plan runs against both.
"""

from __future__ import annotations

import asyncio
import heapq
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Protocol

from core.foundation.errors import UsageError

BEGINNING = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
"""Where virtual time begins unless told otherwise."""


class Clock(Protocol):
    """Where time comes from. Milliseconds throughout."""

    def now(self) -> datetime:
        """Return the present, with its zone."""

    def monotonic_ms(self) -> float:
        """Return milliseconds since some fixed moment; never goes back."""

    async def sleep(self, ms: float) -> None:
        """Wait."""

    def timeout(self, ms: float) -> AbstractAsyncContextManager[None]:
        """Return a context whose body is cancelled after that long; TimeoutError is raised behind it."""


class RealClock:
    """The machine's time."""

    def now(self) -> datetime:
        """Return the present in UTC."""
        return datetime.now(UTC)

    def monotonic_ms(self) -> float:
        """Return milliseconds of the system's steady clock."""
        return time.monotonic() * 1000

    async def sleep(self, ms: float) -> None:
        """Wait."""
        await asyncio.sleep(ms / 1000)

    @asynccontextmanager
    async def timeout(self, ms: float) -> AsyncIterator[None]:
        """Limit a body."""
        async with asyncio.timeout(ms / 1000):
            yield


class _Timer:
    """Somebody who waits. Ordered by when, then by who came first; without `wake` nobody does any more."""

    __slots__ = ("at", "count", "wake")

    def __init__(self, at: float, count: int, wake: Callable[[], None]) -> None:
        self.at = at
        self.count = count
        self.wake: Callable[[], None] | None = wake

    def __lt__(self, other: _Timer) -> bool:
        return (self.at, self.count) < (other.at, other.count)


class VirtualClock:
    """Time that passes only when nothing can go on without it: branches that wait at the same time overlap exactly.

    It moves to the earliest waiter when the event loop has no callback left to run; waiters of the same moment wake
    in the order in which they began, one after the other. Invariant: a body that waits through this clock alone sees
    the same times in every run. A body that waits for a thread or a socket does not hold time up.
    """

    def __init__(self, start: datetime = BEGINNING) -> None:
        if start.tzinfo is None:
            raise UsageError("a virtual clock needs a moment with its zone", hint="datetime(..., tzinfo=UTC)")
        self._start = start
        self._ms = 0.0
        self._count = 0
        self._waiting: list[_Timer] = []

    def now(self) -> datetime:
        """Return the virtual present."""
        return self._start + timedelta(milliseconds=self._ms)

    def monotonic_ms(self) -> float:
        """Return the milliseconds that passed since the start."""
        return self._ms

    def advance(self, ms: float) -> None:
        """Move on between turns, while nobody waits. Raises UsageError where somebody does."""
        if any(timer.wake for timer in self._waiting):
            raise UsageError("virtual time moves by itself while something waits for it")
        self._ms += max(0.0, ms)

    async def sleep(self, ms: float) -> None:
        """Wait in virtual time."""
        if ms <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        timer = self._begin(ms, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.wake = None

    @asynccontextmanager
    async def timeout(self, ms: float) -> AsyncIterator[None]:
        """Limit a body in virtual time."""
        # asyncio's own context, whose timer is never set: ours moves its deadline to now when virtual time is up.
        async with asyncio.timeout(None) as limit:
            loop = asyncio.get_running_loop()
            timer = self._begin(ms, lambda: limit.reschedule(loop.time()))
            try:
                yield
            finally:
                timer.wake = None

    def _begin(self, ms: float, wake: Callable[[], None]) -> _Timer:
        self._count += 1
        timer = _Timer(self._ms + max(0.0, ms), self._count, wake)
        heapq.heappush(self._waiting, timer)
        _Driver.of(asyncio.get_running_loop()).begin(self)
        return timer

    def step(self) -> bool:
        """Move to the earliest waiter and wake it. Return whether somebody else waits."""
        while self._waiting and self._waiting[0].wake is None:
            heapq.heappop(self._waiting)
        if self._waiting:
            timer = heapq.heappop(self._waiting)
            self._ms = max(self._ms, timer.at)
            wake, timer.wake = timer.wake, None
            assert wake is not None
            wake()
        return bool(self._waiting)


class _Driver:
    """Moves the virtual clocks of one event loop, each a step, whenever the loop has nothing else to run.

    Whether it has is read off the loop's queue of ready callbacks. asyncio has no public name for that; without it
    every waiting place in skills would have to be told to the clock, and one forgotten place would stop time for good.
    """

    _all: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Driver]] = weakref.WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        ready = getattr(loop, "_ready", None)
        if not isinstance(ready, deque):
            raise UsageError("a virtual clock needs asyncio's own event loop", hint="run it by asyncio.run()")
        self._ready = ready
        self._soon = weakref.WeakMethod(loop.call_soon)
        self._clocks: dict[int, VirtualClock] = {}
        self._running = False

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> _Driver:
        driver = cls._all.get(loop)
        if driver is None:
            driver = cls._all[loop] = cls(loop)
        return driver

    def begin(self, clock: VirtualClock) -> None:
        self._clocks[id(clock)] = clock
        if not self._running:
            self._running = True
            self._again()

    def _again(self) -> None:
        soon = self._soon()
        if soon is not None:
            soon(self._look)

    def _look(self) -> None:
        if not self._ready:
            for key, clock in list(self._clocks.items()):
                if not clock.step():
                    del self._clocks[key]
        if self._clocks:
            self._again()
        else:
            self._running = False
