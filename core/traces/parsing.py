"""One line of a trace: a record, or a gap with its byte range and reason. Nothing in a file can raise from here.

A line that is no record is skipped by the numbers but never silently (EVOLUTION 2.4 no. 53; FAULTS:
stop-at-first-error).
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

GapReason = Literal["blank", "nul", "not_json", "not_a_record", "too_deep", "too_long", "torn"]


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """A record at line `line` of its file, bytes [start, end) without the newline.

    `timestamp` is "" where the line has none. `cut` says that the line was too long for a list: texts end early
    and fields may be missing until it is read whole.
    """

    line: int
    start: int
    end: int
    timestamp: str
    type: str
    payload: dict[str, Any]
    cut: bool = False

    @property
    def kind(self) -> str:
        """The payload's type ("text", "tool_call", "request_begin", ...), "session_meta", or ""."""
        if self.type == "session_meta":
            return "session_meta"
        kind = self.payload.get("type")
        return kind if isinstance(kind, str) else ""

    def text(self, field: str) -> str:
        """Return the payload's `field` where it is a string, else ""."""
        value = self.payload.get(field)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes [start, end) at line `line` that hold no record."""

    line: int
    start: int
    end: int
    reason: GapReason
    detail: str = ""

    @property
    def size(self) -> int:
        return self.end - self.start


Entry = TraceRecord | Gap


class _NotFiniteError(ValueError):
    pass


def _refuse_constant(name: str) -> NoReturn:
    raise _NotFiniteError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*("|\\?\Z)|[{}\[\]]', re.DOTALL)
_WHOLE_ESCAPES = re.compile(r"[^\\]*(?:\\(?:[^u]|u[0-9A-Fa-f]{4})[^\\]*)*", re.DOTALL)
_LAST_FIELDS = re.compile(
    r'((?:,\s*"[A-Za-z_]{1,40}"\s*:\s*(?:"[^"\\]{0,200}"|-?\d{1,18}|true|false|null)){1,8})\s*\}\s*\}\s*\Z'
)


def parse_line(raw: bytes, *, line: int, start: int) -> Entry:
    """Parse the bytes of a line, its newline removed. Bytes that are no UTF-8 are replaced."""
    end = start + len(raw)
    body = raw.removeprefix(codecs.BOM_UTF8) if start == 0 else raw
    if not body.strip(b" \t\r"):
        return Gap(line, start, end, "blank")
    if not body.strip(b"\0"):
        return Gap(line, start, end, "nul", f"{len(body)} NUL bytes")
    try:
        value = _DECODER.decode(body.decode("utf-8", errors="replace"))
    except RecursionError:
        return Gap(line, start, end, "too_deep", "nested too deep to be read")
    except ValueError as error:
        return Gap(line, start, end, "not_json", str(error))
    return _record(value, line, start, end, cut=False)


def preview_line(head: bytes, tail: bytes, *, line: int, start: int, end: int) -> Entry:
    """Make a record of a long line from its first and last bytes, without reading what lies between.

    `head` is closed where it was cut, and the plain fields that stand at the very end of the line are taken from
    `tail`. The record is marked `cut`; where even that fails, the gap says how long the line is.
    """
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head.removeprefix(codecs.BOM_UTF8))
    closed = _close(text)
    try:
        value = None if closed is None else _DECODER.decode(closed)
    except (ValueError, RecursionError):
        value = None
    if value is None:
        return Gap(line, start, end, "too_long", f"a line of {end - start} bytes that a list cannot show")
    entry = _record(value, line, start, end, cut=True)
    last = _LAST_FIELDS.search(tail.decode("utf-8", errors="replace"))
    if isinstance(entry, TraceRecord) and last is not None:
        missing = _DECODER.decode("{" + last[1].lstrip(",") + "}")
        entry.payload.update({key: item for key, item in missing.items() if key not in entry.payload})
    return entry


def _record(value: object, line: int, start: int, end: int, *, cut: bool) -> Entry:
    if not isinstance(value, dict):
        return Gap(line, start, end, "not_a_record", f"a JSON {type(value).__name__}, not an object")
    kind, payload, timestamp = value.get("type"), value.get("payload"), value.get("timestamp")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        return Gap(line, start, end, "not_a_record", "an object without type and payload")
    return TraceRecord(line, start, end, timestamp if isinstance(timestamp, str) else "", kind, payload, cut)


def _close(text: str) -> str | None:
    """Return the start of a JSON object as a whole one: the open string and every open bracket closed."""
    open_brackets: list[str] = []
    open_string = -1
    for token in _STRUCTURE.finditer(text):
        sign = token[0]
        if sign in "{[":
            open_brackets.append("}" if sign == "{" else "]")
        elif sign in "}]":
            if not open_brackets:
                return None
            open_brackets.pop()
        elif token[1] != '"':
            open_string = token.start()
    if open_string >= 0:
        whole = _WHOLE_ESCAPES.match(text, open_string + 1)
        text = text[: whole.end() if whole else open_string + 1] + '"'
    return text + "".join(reversed(open_brackets))
