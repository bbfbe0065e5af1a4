"""Append-only JSON Lines of our own: one object a line, damaged lines counted and shown, never a silent stop."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import DamagedError
from core.foundation.visible import visible_line
from core.state import readonly
from core.state.atomic import append_line


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes `start` to `end` (exclusive) of a file that hold no record, and why."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """A record and the byte where its line starts."""

    start: int
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file held from some byte on.

    `end` is where to read on later: just behind the last whole line, so a tail that is still being written (or
    that a kill tore) is no gap yet. `torn` is the number of bytes of that tail, `passed` that of lines
    that were not wanted.
    """

    lines: tuple[Line, ...]
    gaps: tuple[Gap, ...]
    end: int
    torn: int
    passed: int = 0

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        return tuple(line.record for line in self.lines)


def append_record(path: Path, record: Mapping[str, Any], *, fsync: bool = True) -> None:
    """Append one record, making the directory where missing. Raises ValueError on a number that is not finite."""
    text = strict_json.dumps(record)
    readonly.refuse(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, text, fsync=fsync)


Wanted = Callable[[bytes, int, int], bool]
"""Tells whether a line is wanted, unparsed: the bytes that hold it, where in them it begins, and where in the file."""


def read_lines(path: Path, *, start: int = 0, most: int | None = None, wanted: Wanted | None = None) -> Lines:
    """Read the records from byte `start` on; a missing file has none (FAULTS: stop-at-first-error).

    Raises DamagedError where something else than a file stands there: a pipe would be waited for without end.

    `most` stops behind about so many bytes, but never before the first whole line: `end` is where to read on.
    `wanted` passes over lines of a long file without parsing them; those are counted, and are no gaps.
    """
    try:
        with os.fdopen(_opened(path), "rb") as file:
            file.seek(start)
            raw = file.read() if most is None else file.read(most) + file.readline()
    except FileNotFoundError:
        return Lines((), (), 0, 0)
    lines: list[Line] = []
    gaps: list[Gap] = []
    at = passed = 0
    while (newline := raw.find(b"\n", at)) >= 0:
        if wanted is not None and not wanted(raw, at, start + at):
            passed, at = passed + 1, newline + 1
            continue
        found = _parse(raw[at:newline])
        if isinstance(found, dict):
            lines.append(Line(start + at, found))
        elif found:
            gaps.append(Gap(start + at, start + newline + 1, found))
        at = newline + 1
    return Lines(tuple(lines), tuple(gaps), start + at, len(raw) - at, passed)


def _opened(path: Path) -> int:
    """Return a descriptor of a regular file, open for reading. Raises DamagedError for anything else, or OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise DamagedError(f"{visible_line(str(path))} is no file.", hint="Look what stands there, and put it away.")


def _parse(raw: bytes) -> dict[str, Any] | str:
    """Return the record, or the reason why there is none; "" for a blank line, which no one misses."""
    if not raw.strip(b" \t\r"):
        return ""
    try:
        value = strict_json.parse(raw)
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError as error:
        return f"not JSON: {error}"
    return value if isinstance(value, dict) else "not a JSON object"
