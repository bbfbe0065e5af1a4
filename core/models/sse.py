"""Server-sent events out of a byte stream that may be cut anywhere, also inside a character."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

LONGEST_EVENT = 16 << 20


class StreamTooLongError(ValueError):
    """One event went on beyond LONGEST_EVENT bytes."""


async def events(pieces: AsyncIterable[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event; lines end with LF, CR or CRLF, `data:` lines of one event are joined by newlines.

    A last event without its blank line is yielded too: some servers close right after it.
    """
    data: list[str] = []
    async for line in _lines(pieces):
        if not line:
            if data:
                yield "\n".join(data)
                data = []
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" ").decode("utf-8", errors="replace"))
    if data:
        yield "\n".join(data)


async def _lines(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Split at line ends; bytes, so a character that two pieces share is whole again before it is decoded."""
    pending = bytearray()
    after_cr = False
    async for piece in pieces:
        if after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        after_cr = piece.endswith(b"\r") if piece else after_cr
        pending += piece
        if len(pending) > LONGEST_EVENT:
            raise StreamTooLongError(f"one line of the stream is longer than {LONGEST_EVENT} bytes")
        if b"\n" not in piece and b"\r" not in piece:
            continue
        *whole, rest = bytes(pending).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        pending = bytearray(rest)
        for line in whole:
            yield line
    if pending:
        yield bytes(pending)
