"""A strict reader of tar headers, for archives of unknown origin.

It knows what a snapshot needs (ustar, pax and GNU long names) and refuses what it doesn't understand. The standard
library's reader is made to be forgiving: it guesses at unknown types, follows negative sizes (CVE-2025-8194) and
parses headers by backtracking expressions (CVE-2024-6232), which is what an attacker wants of a reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from core.foundation.errors import DamagedError

BLOCK = 512
_META_LIMIT = 1 << 20  # bytes of one extended header; a name fits 250 times


class ByteStream(Protocol):
    """What is read from: `read(n)` gives n bytes, fewer only at the end."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Header:
    """One member as its header tells it: nothing here is checked but the form.

    `kind` is "file", "directory" or a word for what a snapshot never holds ("symlink", "hard link", "device",
    "pipe", "sparse file", "type 'X'"). `name` is None where it is not UTF-8. `mtime` is in seconds.
    """

    name: str | None
    kind: str
    size: int
    mode: int
    mtime: float


_KINDS = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",  # "contiguous", an ordinary file everywhere today
    b"5": "directory",
    b"1": "hard link",
    b"2": "symlink",
    b"3": "device",
    b"4": "device",
    b"6": "pipe",
    b"S": "sparse file",
}


def members(stream: ByteStream) -> Iterator[tuple[Header, Iterator[bytes]]]:
    """Yield each member with its content in chunks, to be consumed or left before the next is asked for.

    Reads to the very end of the stream, so a broken end is found. Raises DamagedError.
    """
    extended: dict[str, bytes] = {}
    first = True
    while (block := _block(stream, first=first)).strip(b"\0"):
        first = False
        _verify(block)
        kind, size = block[156:157], _number(block[124:136], "size")
        if kind in (b"x", b"g", b"L", b"K"):
            body = _meta(stream, size)
            if kind == b"x":
                extended.update(_pax(body))
            elif kind == b"L":
                extended["path"] = body.rstrip(b"\0")
            elif kind == b"g" and any(key in ("path", "size") or "sparse" in key for key in _pax(body)):
                raise DamagedError("a global header names a path or a size for every member")
            continue
        header = _header(block, size, extended)
        extended = {}
        content = _content(stream, header.size)
        yield header, content
        for _ in content:  # whatever the caller left
            pass
    if extended:
        raise DamagedError("the archive ends after an extended header")
    while rest := stream.read(1 << 16):
        if rest.strip(b"\0"):
            raise DamagedError("there is something after the end of the archive")


def _block(stream: ByteStream, *, first: bool) -> bytes:
    block = stream.read(BLOCK)
    if len(block) < BLOCK:
        raise DamagedError("not a tar archive" if first else "the archive is cut short")
    return block


def _verify(block: bytes) -> None:
    """Check the header's checksum, over signed or unsigned bytes as both exist in the field."""
    told = _number(block[148:156], "checksum")
    plain = block[:148] + b" " * 8 + block[156:]
    unsigned = sum(plain)
    if told not in (unsigned, unsigned - 256 * sum(byte >= 0x80 for byte in plain)):
        raise DamagedError("not a tar archive, or a damaged one (checksum of a header)")


def _number(field: bytes, what: str) -> int:
    """Read a numeric field: octal, or base 256 where the top bit is set; never negative."""
    if field[0] & 0x80:
        if field[0] != 0x80:
            raise DamagedError(f"a negative {what} in a header")
        value = int.from_bytes(field[1:], "big")
    else:
        digits = field.split(b"\0", 1)[0].strip(b" ")
        if digits.strip(b"01234567"):
            raise DamagedError(f"a {what} that is no number in a header")
        value = int(digits, 8) if digits else 0
    if value >= 1 << 63:
        raise DamagedError(f"an absurd {what} in a header")
    return value


def _meta(stream: ByteStream, size: int) -> bytes:
    if size > _META_LIMIT:
        raise DamagedError("an extended header is larger than any name needs")
    return b"".join(_content(stream, size))


def _pax(body: bytes) -> dict[str, bytes]:
    """Read `<length> <key>=<value>\\n` records."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(body) and body[at] != 0:
        space = body.find(b" ", at, at + 12)
        digits = body[at:space] if space > at else b""
        end = at + int(digits) if digits.isdigit() else 0
        record = body[space + 1 : end]
        key, equals, value = record[:-1].partition(b"=")
        if end <= space or end > len(body) or not equals or record[-1:] != b"\n":
            raise DamagedError("an extended header that can't be read")
        found[key.decode("utf-8", errors="replace")] = value
        at = end
    return found


def _header(block: bytes, size: int, extended: dict[str, bytes]) -> Header:
    raw = extended.get("path")
    if raw is None:
        raw = block[:100].split(b"\0", 1)[0]
        prefix = block[345:500].split(b"\0", 1)[0]
        if block[257:263] == b"ustar\0" and prefix:
            raw = prefix + b"/" + raw
    kind = _KINDS.get(block[156:157]) or f"type {chr(block[156])!r}"
    if kind == "file" and raw.endswith(b"/"):
        kind = "directory"  # as the oldest archives write one
    if any("GNU.sparse" in key for key in extended):
        kind = "sparse file"
    if "size" in extended:
        if not extended["size"].isdigit() or len(extended["size"]) > 18:
            raise DamagedError("a size that is no number in an extended header")
        size = int(extended["size"])
    try:
        name: str | None = raw.decode("utf-8")
    except UnicodeDecodeError:
        name = None
    return Header(name, kind, size if kind == "file" else 0, _number(block[100:108], "mode"), _mtime(block, extended))


def _mtime(block: bytes, extended: dict[str, bytes]) -> float:
    """Return the modification time; one that can't be is the epoch, as times never matter for content."""
    try:
        value = float(extended["mtime"]) if "mtime" in extended else float(_number(block[136:148], "time"))
    except (ValueError, DamagedError):
        return 0.0
    return value if 0 <= value < 1 << 33 else 0.0


def _content(stream: ByteStream, size: int) -> Iterator[bytes]:
    left = size
    while left:
        chunk = stream.read(min(left, 1 << 16))
        if not chunk:
            raise DamagedError("the archive is cut short")
        left -= len(chunk)
        yield chunk
    padding = -size % BLOCK
    if len(stream.read(padding)) < padding:
        raise DamagedError("the archive is cut short")
