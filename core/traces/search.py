"""Finding a text in traces by scanning their bytes: only lines that may hold it are ever parsed.

What is looked in is what a person can read: the texts of a record's payload, whatever escapes its writer used, and JSON
inside them once more; for a line that is no record, its bytes. A space in the wanted text stands for any white space.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.foundation.errors import DamagedError, NotFoundError, UsageError
from core.foundation.visible import well_formed
from core.traces.parsing import Gap, parse_line
from core.traces.reader import LONGEST

BATCH = 1 << 20  # what stays in the processor's cache
LONGEST_TEXT = 500
_BEFORE, _AFTER = 30, 90  # characters of a snippet around what was found
_NOT_TOLD = frozenset({"type", "role", "stop_reason"})  # fields of the format itself, which nobody looks for
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_SPACE = r"[\s\x1c-\x1f\x85\xa0\u2000-\u200a\u2028\u2029\u3000]+"
_ESCAPE = re.compile(r'\\(u[0-9A-Fa-f]{4}|["\\/bfnrt])')
_NEVER_ESCAPED = re.compile(r"[\x21\x23-\x2e\x30-\x5b\x5d-\x7e]+")  # printable but for space " / and backslash
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. `exact` minds upper and lower case. Raises UsageError where there is nothing to look for."""

    text: str
    exact: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)
    needles: tuple[tuple[bytes, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        words = self.text[:LONGEST_TEXT].split()
        if not words:
            raise UsageError("There is nothing to look for.", hint="Give a text.")
        flags = re.NOFLAG if self.exact else re.IGNORECASE | re.ASCII
        source = _SPACE.join("".join(_pattern(char, self.exact) for char in word) for word in words)
        object.__setattr__(self, "pattern", re.compile(source, flags))
        object.__setattr__(self, "needles", _needles(words, self.exact))

    @classmethod
    def of(cls, text: str) -> Query:
        """Return what an operator who typed `text` wants: a capital in it makes upper and lower case count."""
        return cls(text, exact=text != text.lower())


@dataclass(frozen=True, slots=True)
class Match:
    """A line that holds the text: its number in the file from 0, its bytes [start, end), and where it was found first.

    `before`, `hit` and `after` are that place as it reads, white space made single.
    """

    line: int
    start: int
    end: int
    moment: str
    before: str
    hit: str
    after: str


@dataclass(frozen=True, slots=True)
class Scanned:
    """How far a scan is: bytes seen, and the offset of the line where the next one would begin."""

    done: int
    total: int
    offset: int


def search_file(path: Path, query: Query, *, start: int = 0, batch: int = BATCH) -> Iterator[Match | Scanned]:
    """Yield every line of a file that holds the text, each once, and after each batch how far the scan is.

    It begins at byte `start`, which must be the beginning of a line, and ends where the file ends when it gets there; a
    last line without its newline is looked in too, but scanned again next time. Raises NotFoundError or DamagedError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no trace {path}.") from error
    except OSError as error:
        raise DamagedError(f"The trace {path} cannot be opened: {error.strerror}.") from error
    try:
        yield from _scan(_Lines(fd), query, start, batch)
    finally:
        os.close(fd)


class _Lines:
    """Tells line numbers of one file.

    Invariant: `_number` newlines stand before `_offset`, and offsets asked for only grow.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._offset = self._number = 0

    def number_at(self, offset: int) -> int:
        """Return the number of the line that begins at `offset`; counts only what was not counted yet."""
        while self._offset < offset:
            piece = os.pread(self.fd, min(BATCH, offset - self._offset), self._offset)
            if not piece:
                break  # truncated meanwhile
            self._number += piece.count(b"\n")
            self._offset += len(piece)
        return self._number


def _scan(lines: _Lines, query: Query, start: int, batch: int) -> Iterator[Match | Scanned]:
    total = os.fstat(lines.fd).st_size
    at, pending = start, b""
    while piece := os.pread(lines.fd, batch, at + len(pending)):
        block = pending + piece
        whole = block.rfind(b"\n") + 1
        if not whole:
            # A line longer than anything that may be a record is not kept whole: its beginning was looked in.
            if len(block) > LONGEST:
                yield from _block(block, query, at, lines)
                at, pending = at + len(block), b""
            else:
                pending = block
            yield Scanned(at, max(total, at), at)
            continue
        yield from _block(block[:whole], query, at, lines)
        at, pending = at + whole, block[whole:]
        total = max(total, at + len(pending))
        yield Scanned(at, total, at)
    if pending:
        yield from _block(pending, query, at, lines)
    yield Scanned(at + len(pending), at + len(pending), at)


def _block(block: bytes, query: Query, offset: int, lines: _Lines) -> Iterator[Match]:
    """Yield the matches in whole lines that lie at `offset` of the file."""
    looked = block if query.exact else block.lower()
    for begin in _candidates(looked, query.needles):
        end = block.find(b"\n", begin)
        end = len(block) if end < 0 else end
        found = find_in(block[begin:end], query)
        if found is not None:
            yield Match(lines.number_at(offset + begin), offset + begin, offset + end, *found)


def _candidates(looked: bytes, needles: tuple[tuple[bytes, ...], ...]) -> Iterator[int]:
    """Yield where the lines begin that may hold the text, in order, each once: those with the rarest needle."""
    rarest = needles[0]
    if len(needles) > 1:
        rarest = min(needles, key=lambda group: sum(looked.count(needle) for needle in group))
    next_at = {needle: looked.find(needle) for needle in rarest}
    escape = _escaped_ascii(looked, 0)
    while True:
        places = [at for at in (*next_at.values(), escape) if at >= 0]
        if not places:
            return
        first = min(places)
        yield looked.rfind(b"\n", 0, first) + 1
        done = looked.find(b"\n", first) + 1
        if not done:
            return
        for needle, at in next_at.items():
            if 0 <= at < done:
                next_at[needle] = looked.find(needle, done)
        if 0 <= escape < done:
            escape = _escaped_ascii(looked, done)


def _escaped_ascii(looked: bytes, start: int) -> int:
    """Return where a plain character next stands escaped, as some writers do with < and &; -1 where none does."""
    found = _ESCAPED_ASCII.search(looked, start) if looked.find(b"\\u00", start) >= 0 else None
    return found.start() if found else -1


def find_in(raw: bytes, query: Query) -> tuple[str, str, str, str] | None:
    """Return (moment, before, hit, after) of the first place in a line that holds the text, None where none does."""
    entry = parse_line(raw, line=0, start=1)
    if isinstance(entry, Gap):
        moment, texts = "", [raw.decode("utf-8", "replace")]
    else:
        moment, texts = entry.timestamp, list(texts_of(entry.payload))
    for said in texts:
        # JSON inside a text, as arguments are, is looked in as it reads; then any text as it stands.
        is_json = "\\" in said and said.lstrip()[:1] in ("{", "[", '"')
        readings = (unescaped(said), said) if is_json else (said, unescaped(said)) if "\\" in said else (said,)
        for text in readings:
            found = query.pattern.search(text)
            if found is None:
                continue
            before = text[max(0, found.start() - _BEFORE) : found.start()]
            after = text[found.end() : found.end() + _AFTER]
            return moment, _line(before), _line(found[0]), _line(after)
    return None


def texts_of(payload: dict[str, Any]) -> Iterator[str]:
    """Yield every text of a payload in order, at any depth, but for those of the format itself (type, role)."""
    waiting: list[object] = [value for key, value in reversed(payload.items()) if key not in _NOT_TOLD]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, item in reversed(value.items()):
                waiting += (item, key)
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def unescaped(text: str) -> str:
    """Return `text` with JSON's escapes read, as the strings of a JSON document inside it would be."""
    return well_formed(_ESCAPE.sub(_read_escape, text))


def _read_escape(match: re.Match[str]) -> str:
    sign = match[1]
    return chr(int(sign[1:], 16)) if len(sign) == 5 else _SHORT.get(sign, sign)


def _line(text: str) -> str:
    """Return a piece of a snippet with each run of white space as one space."""
    return re.sub(r"\s+", " ", text)


def _variants(char: str, exact: bool) -> tuple[str, ...]:
    """Return a character beyond ASCII in the cases that count as the same."""
    forms = (char,) if exact else (char, char.lower(), char.upper())
    return tuple(dict.fromkeys(form for form in forms if len(form) == 1))


def _pattern(char: str, exact: bool) -> str:
    if char.isascii():
        return re.escape(char)
    forms = _variants(char, exact)
    return re.escape(char) if len(forms) == 1 else f"[{''.join(re.escape(form) for form in forms)}]"


def _needles(words: list[str], exact: bool) -> tuple[tuple[bytes, ...], ...]:
    """Return groups of bytes: of each group every line that holds the text has at least one, escapes of plain letters
    left aside.

    A group is a run of plain characters that JSON never has to escape; where there is none, all ways in which one
    character can stand in a file.
    """
    runs = sorted((run for word in words for run in _NEVER_ESCAPED.findall(word)), key=len, reverse=True)
    if runs:
        return tuple(((run if exact else run.lower()).encode("ascii"),) for run in runs[:3])
    char = next((char for word in words for char in word if not char.isascii()), words[0][0])
    if char.isascii():
        return ((char.encode() if char.isprintable() else b"\\", char.encode()),)
    found: list[bytes] = []
    for form in _variants(char, exact):
        unit = form.encode("utf-16-be", "surrogatepass")[:2].hex()
        escapes = (f"\\u{unit}", f"\\u{unit.upper()}") if exact else (f"\\u{unit}",)
        found += (form.encode("utf-8", "surrogatepass"), *(escape.encode() for escape in escapes))
    return (tuple(dict.fromkeys(found)),)
