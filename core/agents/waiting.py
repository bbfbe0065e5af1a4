"""Time that a Session spends waiting for a person: it is nobody's work, so no budget of time runs meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class PersonWait:
    """A clock that runs while at least one thing waits for a person. Waits that overlap count once."""

    def __init__(self) -> None:
        self._open = 0
        self._since = 0.0
        self._before = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the duration of the block."""
        if self._open == 0:
            self._since = time.monotonic()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if self._open == 0:
                self._before += time.monotonic() - self._since

    @property
    def now(self) -> bool:
        """Whether something waits for a person at this moment."""
        return self._open > 0

    @property
    def seconds(self) -> float:
        """Seconds waited so far, with the wait that is under way."""
        return self._before + (time.monotonic() - self._since if self._open else 0.0)
