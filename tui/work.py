"""A deed under way in a thread: how far it is, how long it may still take, and whether the operator wants it ended."""

from __future__ import annotations

import threading
from time import monotonic

SHOWN_AFTER_S = 0.4


class Ended(Exception):  # noqa: N818 (not an error: the operator asked for it)
    """The operator ended the work."""


class Work:
    """Invariant: `done` never exceeds `total` where a total is known (0: nothing is known of it).

    `can_end` tells whether it can be ended half-way: it has reported, which is where it would end.
    """

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self.done = self.total = 0
        self.can_end = False
        self._began = monotonic()
        self._ended = threading.Event()

    def report(self, done: int, total: int) -> None:
        """Say how far it is. Raises Ended where the operator wants no more of it; call it often."""
        self.can_end = True
        self.done, self.total = min(done, total) if total else done, total
        if self._ended.is_set():
            raise Ended

    def end(self) -> None:
        """Ask the work to end at its next report."""
        self._ended.set()

    @property
    def is_ending(self) -> bool:
        """Whether the operator wants it ended."""
        return self._ended.is_set()

    def words(self, now: float | None = None) -> str:
        """Return it as people read it: `exporting v3  43 %  about 4 s left`; "" for the first moment."""
        elapsed = (monotonic() if now is None else now) - self._began
        if elapsed < SHOWN_AFTER_S:
            return ""
        if not self.total:
            return f"{self.doing}  {elapsed:.0f} s"
        share = self.done / self.total
        left = f"  about {_span(elapsed / share - elapsed)} left" if share > 0.02 and share < 1 else ""
        return f"{self.doing}  {share:.0%}{left}".replace("%", " %")


def _span(seconds: float) -> str:
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 100 else f"{whole // 60}:{whole % 60:02}"
