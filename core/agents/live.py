"""The text of a reply while it streams, in a small file that a screen may tail (ARCHITECTURE, Sessions are processes).

It is no part of a trace: it is emptied when the request ends, bounded while it runs, and nobody depends on it.
"""

from __future__ import annotations

import os
from pathlib import Path

LIVE_BYTES = 64 * 1024


class LiveText:
    """One live file. Invariant: it never holds more than LIVE_BYTES; a disk that refuses it silences it, no more."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._tail = bytearray()

    @classmethod
    def open(cls, path: Path | None) -> LiveText:
        """Open the file, or a mute one where there is no path or it cannot be made."""
        if path is None:
            return cls(None)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return cls(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        except OSError:
            return cls(None)

    def write(self, text: str) -> None:
        """Add a piece; of what grows too long the older half goes."""
        if self._descriptor is None or not text:
            return
        piece = text.encode("utf-8", errors="replace")
        self._tail += piece
        try:
            if len(self._tail) > LIVE_BYTES:
                self._tail = self._tail[-LIVE_BYTES // 2 :]
                os.ftruncate(self._descriptor, 0)
                piece = bytes(self._tail)
            os.write(self._descriptor, piece)
        except OSError:
            self.close()

    def clear(self) -> None:
        """Empty it: the request has ended, the trace has the whole text."""
        if self._descriptor is None or not self._tail:
            return
        self._tail.clear()
        try:
            os.ftruncate(self._descriptor, 0)
        except OSError:
            self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
