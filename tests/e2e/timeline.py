"""Instants of a run that do not depend on how busy the machine is: so long after so many events.

An instant drawn uniformly from an undisturbed run's duration is told by the event before it and the time since. Another
run that is slower or faster reaches the same place in its work.
"""

from __future__ import annotations

import asyncio
import os
import signal
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from core.agents.isolation import processes
from core.evolution.events import Event
from core.evolution.specs import RunPaths

_START_S = 0.4  # about what a process takes to its first event; instants may fall into it too


@dataclass(frozen=True)
class Instant:
    """`after_s` seconds after the run's event number `events` (0: after its process was started)."""

    events: int
    after_s: float


@dataclass(frozen=True)
class Timeline:
    """When each event of an undisturbed run was journalled, in seconds since its process was started."""

    moments: tuple[float, ...]
    names: tuple[str, ...]

    @staticmethod
    def of(events: Sequence[Event]) -> Timeline:
        times = [datetime.fromisoformat(event["time"]).timestamp() for event in events]
        return Timeline(
            tuple(time - times[0] + _START_S for time in times),
            tuple(" ".join(str(event[key]) for key in ("event", "tool", "state") if key in event) for event in events),
        )

    def at(self, share: float) -> Instant:
        """Return the instant at `share` (0 to 1) of the duration."""
        moment = share * self.moments[-1]
        known = bisect_right(self.moments, moment)
        return Instant(known, moment - (self.moments[known - 1] if known else 0.0))

    def after(self, name: str, nth: int = 1) -> Instant:
        """Return the instant right after the nth event of a name, such as `intent decide` or `cell scored`."""
        places = [number for number, told in enumerate(self.names, 1) if told == name]
        assert len(places) >= nth, f"no event {nth} {name!r} in {sorted(set(self.names))}"
        return Instant(places[nth - 1], 0.0)


async def kill_at(run: RunPaths, instant: Instant, *, from_event: int = 0, patience_s: float = 120.0) -> bool:
    """Kill -9 the engine of a run, and nothing else, at an instant; tell whether it still lived.

    With `from_event` the instant counts from that event on, for a run that was resumed.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + patience_s
    who = await _engine(run)
    while who is not None and processes.is_alive(who) and _lines(run.journal) < from_event + instant.events:
        assert loop.time() < end, f"{run.id} did not come to event {from_event + instant.events}"
        await asyncio.sleep(0.004)
    await asyncio.sleep(instant.after_s)
    if who is None or not processes.is_alive(who):
        return False
    os.kill(int(who.partition(":")[0]), signal.SIGKILL)
    while processes.is_alive(who):  # noqa: ASYNC110 -- nothing tells of a foreign process's end
        await asyncio.sleep(0.002)
    return True


async def _engine(run: RunPaths, patience_s: float = 5.0) -> str | None:
    """Return who the run's engine is, once it has written that down: a resumed one takes a moment to."""
    loop = asyncio.get_running_loop()
    end = loop.time() + patience_s
    who = processes.recorded(run.root / "engine.pid")
    while who is None and loop.time() < end:
        await asyncio.sleep(0.002)
        who = processes.recorded(run.root / "engine.pid")
    return who


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
