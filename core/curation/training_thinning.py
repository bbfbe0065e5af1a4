"""Which lines of a long file of events are parsed: enough to show a run of any length within a second or two.

A run of some thousand steps is read whole. A longer one has its first and latest 64 kB read whole, and everything
that is no bulk (measurements, checkpoints, alarms, its end); of the steps, imitation steps and samples between, each
parsed one stands for its neighbours. What was passed over is counted, so that it can be said.
"""

from __future__ import annotations

import re

WHOLE = 12 << 20
"""Bytes up to which a file is parsed whole: about eight thousand steps."""
_PARSED = 6 << 20  # about as many bytes are parsed of a longer one
_EDGE = 64 << 10
_HEAD = 160  # bytes of a line within which a writer of ours names its event
_BULK = re.compile(rb'"event": ?"(?:step|imitation|sample)"')


class Thinning:
    """Decides line by line; `size` is the file's at the first look, and whatever is appended later is parsed."""

    def __init__(self, size: int) -> None:
        self.stride = 1 if size <= WHOLE else -(-size // _PARSED)
        self._last = size - _EDGE
        self._count = 0

    def wanted(self, raw: bytes, at: int, start: int) -> bool:
        """Tell whether the line at `at` in `raw`, byte `start` of the file, is parsed. Asked once a line, in order."""
        if self.stride == 1 or start < _EDGE or start >= self._last or not _BULK.search(raw, at, at + _HEAD):
            return True
        self._count += 1
        return self._count % self.stride == 0
