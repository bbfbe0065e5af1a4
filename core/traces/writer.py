"""Appending to a trace: one write a record, never a half line under a whole one (EVOLUTION 2.4 no. 53)."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from core.foundation.clock import now_ms
from core.state import readonly
from core.state.atomic import StorageError, file_system_of
from core.traces.records import Record, encode
from core.traces.shards import new_trace_path, next_shard_path

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["TraceWriteError", "TraceWriter", "new_trace_path", "next_shard_path", "open_trace"]


class TraceWriteError(StorageError):
    """A record did not reach the file whole."""


def open_trace(path: Path) -> int:
    """Open `path` for TraceWriter.from_fd, its directories made; the caller may confine itself afterwards."""
    readonly.refuse(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


class TraceWriter:
    """The writer of one trace file.

    Invariant: whatever stood in the file before, each record it appends begins a line of its own and is written
    by one system call on an O_APPEND descriptor; a torn tail, from a crash or from its own failed write, is closed
    with a newline before the next record. It owns its descriptor and closes it.
    """

    def __init__(self, path: Path | int) -> None:
        """Open `path` (made if missing), or take over an already open descriptor."""
        self.path: Path | None = None if isinstance(path, int) else path
        self._fd = path if isinstance(path, int) else open_trace(path)
        self._tail_is_whole: bool | None = None  # None: not looked at yet

    @classmethod
    def from_fd(cls, fd: int) -> Self:
        """Take over `fd`, as `open_trace` gives it; nothing is opened, so this works in a confined process."""
        return cls(fd)

    @property
    def fd(self) -> int:
        """The descriptor, or -1 after `close`."""
        return self._fd

    def append(self, record: Record, timestamp: str | None = None) -> str:
        """Append `record` and return its timestamp (now, where none is given).

        Raises TraceWriteError where the file system did not take the whole line.
        """
        moment = now_ms() if timestamp is None else timestamp
        if self._tail_is_whole is None:
            self._tail_is_whole = self._ends_with_newline()
        line = encode(record, moment)
        if not self._tail_is_whole:
            line = b"\n" + line
        self._tail_is_whole = False  # until the whole line is out
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from error
        if written != len(line):
            raise self._failure(f"only {written} of {len(line)} bytes were taken")
        self._tail_is_whole = True
        return moment

    def sync(self) -> None:
        """Return once everything appended is on the disk."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _ends_with_newline(self) -> bool:
        size = os.fstat(self._fd).st_size
        if size == 0:
            return True
        try:
            return os.pread(self._fd, 1, size - 1) == b"\n"
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            return False  # opened for writing only: a blank line too many is skipped by every reader

    def _failure(self, reason: str) -> TraceWriteError:
        where = f"descriptor {self._fd}"
        if self.path is not None:
            where = f"{self.path} (file system {file_system_of(self.path)})"
        return TraceWriteError(
            f"A trace record was not written whole to {where}: {reason}.",
            hint="Free space on that file system, then resume; the records before it are whole.",
        )
