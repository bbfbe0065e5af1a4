"""Reading what is new in a file that another program appends to: whole records, or only whether names are in it."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from core.traces.parsing import TraceRecord, parse_line

_CHUNK = 4 << 20
_MARK = 64
_LONGEST = 64 << 20  # bytes of a line; a longer one is passed over


@dataclass(slots=True)
class File:
    """How far a file was read: the offset after the last whole record.

    `inode` and `mark`, the bytes before it, tell when another took its place or it was written anew.
    """

    inode: int
    offset: int = 0
    mark: bytes = b""


@dataclass(slots=True)
class Scanned:
    """How much of a file was looked through for names, and whether one was `found`."""

    inode: int
    offset: int = 0
    found: bool = False


def goes_on(path: str, file: File | None) -> bool:
    """Tell whether a file still begins with what was read of it."""
    if file is None:
        return True
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        status = os.fstat(fd)
        same = status.st_ino == file.inode and status.st_size >= file.offset
        return same and os.pread(fd, len(file.mark), file.offset - len(file.mark)) == file.mark
    finally:
        os.close(fd)


def scan(path: str, known: Scanned, names: Sequence[bytes]) -> None:
    """Look for any of `names` in what a file has beyond what was scanned of it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        overlap = max(map(len, names)) - 1  # a name may lie across two pieces
        at = max(0, known.offset - overlap)
        while not known.found and (piece := os.pread(fd, _CHUNK, at)):
            known.found = any(name in piece for name in names)
            known.offset = at + len(piece)
            at = known.offset if len(piece) <= overlap else known.offset - overlap
            if len(piece) < _CHUNK:
                break
    finally:
        os.close(fd)


def new_records(path: str, files: dict[str, File]) -> Generator[TraceRecord]:
    """Yield the whole records that a file has beyond what was read of it; a torn last line waits until it is whole.

    Where it is closed early, what was yielded counts as read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    file = files.setdefault(path, File(os.fstat(fd).st_ino))
    try:
        at, pending = file.offset, bytearray()
        while chunk := os.pread(fd, _CHUNK, at):
            at += len(chunk)
            lines = chunk.split(b"\n")
            for line in lines[:-1]:
                start, whole = file.offset, bytes(pending) + line
                file.offset += len(whole) + 1
                pending.clear()
                if len(whole) <= _LONGEST and isinstance(entry := parse_line(whole, line=0, start=start), TraceRecord):
                    yield entry
            pending += lines[-1]
            if len(pending) > _LONGEST:
                # No record. What is left of the line, once it comes, is no record either.
                file.offset, pending = at, bytearray()
        if pending.endswith(b"}") and len(pending) <= _LONGEST:
            # A whole record that only lacks its newline counts; the newline then is a blank line.
            entry = parse_line(bytes(pending), line=0, start=file.offset)
            if isinstance(entry, TraceRecord):
                file.offset += len(pending)
                yield entry
    finally:
        kept = min(_MARK, file.offset)
        file.mark = os.pread(fd, kept, file.offset - kept)
        os.close(fd)
