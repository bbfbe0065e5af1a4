"""What takes time, told on stderr: a run while a command waits for it, and the share and time left of anything else.

On a terminal one line is drawn over itself; in a log, under EXUVIA_PLAIN and on TERM=dumb there are whole lines, few of
them. Nothing is said of what is done within a second.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.foundation.visible import visible_line
from tui.cli.common import note

if TYPE_CHECKING:
    from core.evolution.run_view import RunView
    from core.state.paths import ProjectPaths

BEFORE_S = 1.0  # what takes less is not worth a word
_DRAW_S = 0.2
_LINE_S = 10.0
_WIDTH = 24


def follow(project: ProjectPaths, run_id: str, *, end: bool = True) -> RunView:
    """Tell a run on stderr until it has ended; return its last view. Ctrl-C leaves the run alone."""
    from core.evolution import runs
    from core.state import approvals
    from tui.cli.lines import Teller, waits

    async def told() -> RunView:
        teller, asked = Teller(end=end), set[str]()
        async for view in runs.follow(project, run_id):
            for line in teller.news(view):
                note(line)
            # One that ends to wait is told of by its end; here somebody looks on while the run waits.
            for approval_id in view.waiting_for if view.state == "waiting" else ():
                if approval_id not in asked:
                    asked.add(approval_id)
                    note(waits(approvals.get(project, approval_id)[0]).text)
        return runs.read_run(project, run_id)

    return asyncio.run(told())


@dataclass
class Progress:
    """The progress of one act. `done` and `total` count the same unit (bytes, files ...); `total` 0 is not known yet.

    Invariant: what stands on the terminal's line is what `_drawn` says, and nothing is left there after `close`.
    """

    label: str
    unit: str = "bytes"
    done: int = 0
    total: int = 0

    def __post_init__(self) -> None:
        self._began = self._said = time.monotonic()
        self._drawn = 0
        self._lock = threading.Lock()
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("EXUVIA_PLAIN")

    def __call__(self, done: int, total: int) -> None:
        """Take how far it is, and say it where it is time to."""
        self.done, self.total = done, total
        self.say()

    def say(self) -> None:
        """Say how far it is, if a second has gone by and the last word is old enough."""
        with self._lock:
            now = time.monotonic()
            pause = _DRAW_S if self._terminal else _LINE_S
            if now - self._began < BEFORE_S or (self._said > self._began and now - self._said < pause):
                return
            self._said = now
            line = visible_line(said_of(self.label, self.done, self.total, now - self._began, self.unit))
            if self._terminal:
                sys.stderr.write("\r" + line.ljust(self._drawn))
                self._drawn = len(line)
            else:
                sys.stderr.write(line + "\n")
            sys.stderr.flush()

    def close(self) -> None:
        """Clear the line."""
        with self._lock:
            if self._drawn:
                sys.stderr.write("\r" + " " * self._drawn + "\r")
                sys.stderr.flush()
                self._drawn = 0


@contextmanager
def working(label: str, unit: str = "bytes") -> Iterator[Progress]:
    """Give the Progress of an act; it goes on telling the seconds also while the act itself says nothing."""
    progress = Progress(label, unit)
    over = threading.Event()

    def tick() -> None:
        while not over.wait(BEFORE_S):
            progress.say()

    ticking = threading.Thread(target=tick, name="progress", daemon=True)
    ticking.start()
    try:
        yield progress
    finally:
        over.set()
        ticking.join()
        progress.close()


def said_of(label: str, done: int, total: int, elapsed_s: float, unit: str = "bytes") -> str:
    """Return the line of an act: its share and the time left, or what is done so far where the end is not known.

    The time left is what the rest takes at the mean speed so far.
    """
    if total <= 0:
        so_far = f", {_amount(done, unit)} so far" if done else ""
        return f"{label}: {_seconds(elapsed_s)}{so_far}"
    share = min(max(done / total, 0.0), 1.0)
    filled = round(share * _WIDTH)
    left = f", {_seconds(elapsed_s * (1 - share) / share)} left" if share else ""
    bar = "#" * filled + "." * (_WIDTH - filled)
    return f"{label}: [{bar}] {share:4.0%} of {_amount(total, unit)}{left}"


def _amount(count: int, unit: str) -> str:
    if unit != "bytes":
        return f"{count:,} {unit}"
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"


def _seconds(seconds: float) -> str:
    whole = max(round(seconds), 0)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
