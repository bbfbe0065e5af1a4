"""Reading one trace file by window: an index of newlines, built in batches, and nothing else in memory.

Pieces are read with pread rather than through a memory map: a file that is truncated under a map kills its
reader with SIGBUS, and files here are truncated and replaced while they are open.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from core.foundation.errors import DamagedError, NotFoundError
from core.traces.parsing import Entry, Gap, TraceRecord, parse_line, preview_line

if TYPE_CHECKING:
    from types import TracebackType

BATCH = 4 << 20
PREVIEW_OVER = 256 << 10  # bytes of a line; above, a window shows a preview
LONGEST = 64 << 20  # bytes of a line; above, it is a gap
PREVIEWED = 16 << 10  # bytes of a longer line that a preview begins with
_TAIL, _MARK = 1 << 10, 64

Change = Literal["same", "grown", "replaced", "gone"]


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far the index is: bytes seen of the bytes there are, and whole lines so far."""

    done: int
    total: int
    lines: int


class TraceFile:
    """One trace file, growing or not.

    Invariant: `_ends[i]` is the offset of the newline that ends line i, for every line of the first `_seen` bytes.
    Lines that are no records keep their number, so an entry's number never changes while the file grows. A last
    line without its newline counts only once it is a whole record; until then it is the `tail`.

    One thread may run `index_batches` while another reads windows; `refresh` belongs to the reading one.
    """

    def __init__(self, path: Path) -> None:
        """Open `path` without reading it. Raises NotFoundError, or DamagedError where it cannot be opened."""
        self.path = path
        self._fd = _open(path)
        self._ends = array("Q")
        self._seen = 0
        self._mark = b""  # what stood before the last newline, to know the file again
        self._last: TraceRecord | None = None  # a whole record at the end that lacks its newline
        self._tail: Gap | None = None

    # Indexing

    def index_batches(self, batch: int = BATCH) -> Iterator[IndexProgress]:
        """Index what is not indexed yet, up to the present end, a batch of bytes a step; stop it by not going on."""
        total = os.fstat(self._fd).st_size
        while self._seen < total:
            chunk = os.pread(self._fd, min(batch, total - self._seen), self._seen)
            if not chunk:
                break
            base, at, add = self._seen, chunk.find(b"\n"), self._ends.append
            while at >= 0:
                add(base + at)
                at = chunk.find(b"\n", at + 1)
            self._seen += len(chunk)
            yield IndexProgress(self._seen, total, len(self._ends))
        self._look_at_tail()

    def index(self) -> int:
        """Index to the present end of the file and return the number of entries."""
        for _ in self.index_batches():
            pass
        return len(self)

    def refresh(self) -> Change:
        """Follow the file: index what was appended; start over where it was truncated or another took its place.

        "gone" where nothing that can be read stands in its place; what was read before stays readable.
        """
        try:
            now = self.path.stat()
        except OSError:
            return "gone"
        then = os.fstat(self._fd)
        if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino) or not self._still_holds(now.st_size):
            try:
                self._start_over()
            except (NotFoundError, DamagedError):
                return "gone"
            self.index()
            return "replaced"
        if now.st_size == self._seen:
            return "same"
        self.index()
        return "grown"

    # Entries by number

    def __len__(self) -> int:
        return len(self._ends) + (self._last is not None)

    @property
    def size(self) -> int:
        """Bytes indexed so far."""
        return self._seen

    @property
    def tail(self) -> Gap | None:
        """What follows the last newline and is no record: a write still under way, or torn by a crash."""
        return self._tail

    def span(self, number: int) -> tuple[int, int]:
        """Return the byte range [start, end) of a line, its newline not included. Raises IndexError."""
        if not 0 <= number < len(self):
            raise IndexError(f"entry {number} of {len(self)}")
        if number == len(self._ends):
            assert self._last is not None
            return self._last.start, self._last.end
        return (self._ends[number - 1] + 1 if number else 0), self._ends[number]

    def entry(self, number: int) -> Entry:
        """Return an entry as a list shows it: a very long line as a preview, marked `cut`."""
        start, end = self.span(number)
        if end - start <= PREVIEW_OVER:
            return self.whole(number)
        head, tail = self._read(start, start + PREVIEWED), self._read(end - _TAIL, end)
        return preview_line(head, tail, line=number, start=start, end=end)

    def whole(self, number: int) -> Entry:
        """Return an entry read whole, up to 64 MiB; a longer line is a gap."""
        start, end = self.span(number)
        if end - start > LONGEST:
            return Gap(number, start, end, "too_long", f"a line of {end - start} bytes")
        return parse_line(self._read(start, end), line=number, start=start)

    def record(self, number: int) -> TraceRecord | None:
        """Return the whole record of a line, None where the line is a gap."""
        entry = self.whole(number)
        return entry if isinstance(entry, TraceRecord) else None

    def window(self, start: int, count: int) -> tuple[Entry, ...]:
        """Return up to `count` entries from number `start` on, clamped to what is there."""
        first = max(0, start)
        return tuple(self.entry(number) for number in range(first, min(len(self), start + count)))

    def raw(self, number: int, limit: int = LONGEST) -> bytes:
        """Return the first `limit` bytes of a line as they stand in the file, gap or record."""
        start, end = self.span(number)
        return self._read(start, min(end, start + limit))

    # Everything, streamed

    def iter_entries(self) -> Iterator[Entry]:
        """Yield every entry whole, records and gaps (a torn tail last), one line in memory at a time.

        Independent of the index: it reads to the end that the file has when it gets there.
        """
        fd = os.dup(self._fd)
        try:
            yield from _stream(fd)
        finally:
            os.close(fd)

    def iter_records(self) -> Iterator[TraceRecord]:
        """Yield every record, skipping the gaps."""
        return (entry for entry in self.iter_entries() if isinstance(entry, TraceRecord))

    def gaps(self) -> Iterator[Gap]:
        """Yield every gap with its byte range; reads the whole file, streaming."""
        return (entry for entry in self.iter_entries() if isinstance(entry, Gap))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def piece(self, start: int, count: int) -> bytes:
        """Return up to `count` bytes from offset `start` on, as they stand in the file."""
        return self._read(start, start + count)

    def _read(self, start: int, end: int) -> bytes:
        """Return bytes [start, end), fewer where the file has been truncated meanwhile."""
        pieces = bytearray()
        while start + len(pieces) < end:
            piece = os.pread(self._fd, end - start - len(pieces), start + len(pieces))
            if not piece:
                break
            pieces += piece
        return bytes(pieces)

    def _look_at_tail(self) -> None:
        start = self._ends[-1] + 1 if self._ends else 0
        self._last, self._tail, self._mark = None, None, self._before_last_newline()
        if start >= self._seen:
            return
        entry: Entry = Gap(len(self._ends), start, self._seen, "torn", "the last line has no end")
        if self._seen - start <= LONGEST and self._read(self._seen - 1, self._seen) == b"}":
            parsed = parse_line(self._read(start, self._seen), line=len(self._ends), start=start)
            entry = parsed if isinstance(parsed, TraceRecord) else entry
        if isinstance(entry, TraceRecord):
            self._last = entry
        else:
            self._tail = entry

    def _still_holds(self, size: int) -> bool:
        """Say whether the indexed part still looks as it did; a truncated file may have grown beyond its old size."""
        return size >= self._seen and self._before_last_newline() == self._mark

    def _before_last_newline(self) -> bytes:
        end = self._ends[-1] + 1 if self._ends else 0
        return self._read(max(0, end - _MARK), end)

    def _start_over(self) -> None:
        fd = _open(self.path)
        os.close(self._fd)
        self._fd = fd
        self._ends = array("Q")
        self._seen = 0


def _open(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # not to wait for a pipe's writer
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no trace {path}.") from error
    except OSError as error:
        raise DamagedError(f"The trace {path} cannot be opened: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise DamagedError(f"The trace {path} is no regular file.")
    return fd


def _stream(fd: int) -> Iterator[Entry]:
    offset = line_start = line = 0
    pending = bytearray()  # the beginning of a line, at most LONGEST + BATCH bytes of it
    while chunk := os.pread(fd, BATCH, offset):
        offset += len(chunk)
        at = 0
        while (newline := chunk.find(b"\n", at)) >= 0:
            end = offset - len(chunk) + newline
            if end - line_start > LONGEST:
                yield Gap(line, line_start, end, "too_long", f"a line of {end - line_start} bytes")
            elif pending:
                yield parse_line(bytes(pending) + chunk[at:newline], line=line, start=line_start)
            else:
                yield parse_line(chunk[at:newline], line=line, start=line_start)
            pending.clear()
            line, line_start, at = line + 1, end + 1, newline + 1
        if len(pending) <= LONGEST:
            pending += chunk[at:]
    if line_start < offset:
        torn = Gap(line, line_start, offset, "torn", "the last line has no end")
        parsed = parse_line(bytes(pending), line=line, start=line_start) if offset - line_start <= LONGEST else torn
        yield parsed if isinstance(parsed, TraceRecord) else torn
