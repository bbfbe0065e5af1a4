"""Ending what a killed engine left running: the Targets that its journal names (FAULTS: cleanup by GC)."""

from __future__ import annotations

from collections.abc import Iterable

from core.agents.isolation import processes
from core.evolution.events import Event, EventName


def recorded_targets(events: Iterable[Event]) -> tuple[str, ...]:
    """Return the identities of recorded Target processes that still live, by process id and start time."""
    found: list[str] = []
    for event in events:
        if event["event"] != EventName.TARGET_STARTED:
            continue
        named = event.get("identity")
        if isinstance(named, str):
            found += [named] if processes.is_alive(named) else []
            continue
        if not isinstance(event.get("pid"), int):
            continue
        pid, started = event["pid"], event.get("pid_started")
        if started is not None and processes.start_time(pid) == started:
            who = processes.identity(pid)
            if who is not None:
                found.append(who)
    return tuple(dict.fromkeys(found))


def clean_orphans(events: Iterable[Event]) -> int:
    """End every recorded Target that still lives, with all it started; return how many there were."""
    left = recorded_targets(events)
    for who in left:
        processes.kill_tree(who, grace_s=0.5)
    return len(left)
