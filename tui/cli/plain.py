"""`exuvia --plain`: where things stand, then one line an event, for screen readers, logs and bare terminals.

No cursor is moved and no colour is used; every line is complete and flushed when it appears. It ends on Ctrl-C, when
a person ends its input (Ctrl-D, or the other end of a pipe), or when nobody reads it any more. Nothing is written in
the home.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.foundation.clock import now_s, parse_ms
from core.foundation.errors import ExitCode
from core.foundation.visible import visible_line
from core.state.paths import ProjectPaths
from core.state.watch import watch
from tui.cli.news import Told, Watcher

# The file system tells at once. What it doesn't tell (a killed process, a network mount, a change that came before
# the watch stood) is found by looking this often, which costs a few stat calls.
_LOOK_S = 1.0


@dataclass
class Printer:
    """Puts events on standard output, as text or as JSON lines. A line of text begins with the local time of day; the
    date is said at the start and when it changes.
    """

    as_json: bool = False
    _day: str = ""

    def standing(self, said: list[str], values: dict[str, Any]) -> None:
        """Print where things stand."""
        if self.as_json:
            self._put(json.dumps({"event": "standing", "time": now_s(), **values}, default=str))
            return
        self._date(datetime.now().astimezone())
        for line in said:
            self._put(line)

    def event(self, told: Told) -> None:
        """Print an event."""
        if self.as_json:
            head = {"event": told.line.event, "time": told.time, "run_id": told.run_id or None}
            self._put(json.dumps({**head, **told.line.facts, "text": told.line.text.strip()}, default=str))
            return
        milliseconds = parse_ms(told.time)
        moment = datetime.now().astimezone() if milliseconds is None else _local(milliseconds)
        self._date(moment)
        about = "" if not told.run_id or told.run_id in told.line.text else f"{told.run_id}: "
        self._put(f"{moment:%H:%M:%S} {about}{told.line.text.strip()}")

    def say(self, line: str) -> None:
        """Print a line that is no event."""
        self._put(line)

    def _date(self, moment: datetime) -> None:
        day = f"{moment:%Y-%m-%d}"
        if day != self._day:
            self._day = day
            self._put(f"{day}, times {moment:UTC%z}")

    def _put(self, line: str) -> None:
        # Not by click, which takes an ASCII terminal for a mistake; flushed, so that a line is there when it happens.
        sys.stdout.write(visible_line(line) + "\n")
        sys.stdout.flush()


def _local(milliseconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(milliseconds / 1000).astimezone()
    except (OverflowError, OSError, ValueError):
        return datetime.now().astimezone()  # a time that some file claims and no clock has


def tell(project: ProjectPaths, *, home: str = "", as_json: bool = False, once: bool = False) -> int:
    """Tell the project until it is ended; return the exit code. Raises KeyboardInterrupt on Ctrl-C."""
    watcher, printer = Watcher(project, home), Printer(as_json)
    watcher.look()
    printer.standing(*watcher.standing())
    if once:
        return int(ExitCode.DONE)
    if not as_json:
        printer.say("Ctrl-C ends this; runs go on.")
    return asyncio.run(_follow(watcher, printer))


async def _follow(watcher: Watcher, printer: Printer) -> int:
    loop = asyncio.get_running_loop()
    stop, stirred = asyncio.Event(), asyncio.Event()
    left = _ends_input(loop, stop)
    watching = asyncio.ensure_future(_stir(watcher.project, stop, stirred))
    try:
        while not stop.is_set() and not _unheard():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stirred.wait(), _LOOK_S)
            stirred.clear()
            for told in watcher.look():
                printer.event(told)
    finally:
        stop.set()
        left()
        watching.cancel()
    return int(ExitCode.DONE)


async def _stir(project: ProjectPaths, stop: asyncio.Event, stirred: asyncio.Event) -> None:
    async for _ in watch(project, stop):
        stirred.set()


def _ends_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Callable[[], object]:
    """Let the end of standard input stop the loop, where a person or a program holds it; return how to let go.

    A file or /dev/null is at its end from the beginning and says nothing, so those are not listened to.
    """
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return lambda: None
    terminal = os.isatty(descriptor)
    if not (terminal or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return lambda: None

    def read() -> None:
        try:
            if terminal and os.tcgetpgrp(descriptor) != os.getpgrp():
                loop.remove_reader(descriptor)  # sent to the background: reading would stop the process
                return
            given = os.read(descriptor, 4096)
        except OSError:
            given = b""  # the terminal is gone
        if not given:
            loop.remove_reader(descriptor)
            stop.set()

    try:
        loop.add_reader(descriptor, read)
    except (OSError, ValueError):
        return lambda: None
    return lambda: loop.remove_reader(descriptor)


def _unheard() -> bool:
    """Tell whether the reader of a pipe has gone, which no write would tell while nothing happens."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
    except (OSError, ValueError):
        return False  # no descriptor of its own (a test's buffer)
