"""An entry of a trace for reading: laid out, kept short where it is huge, or as the bytes it is. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from core.traces.parsing import Entry, Gap, TraceRecord
from core.traces.reader import PREVIEWED

DETAIL_CHARACTERS = 64 << 10
"""Of an entry that is read; `GLANCE_CHARACTERS` of one that the cursor only passes: a held key must not wait."""
GLANCE_CHARACTERS = 8 << 10
RAW_BYTES = 16 << 10
_DATA_URL = re.compile(r"data:([A-Za-z0-9.+/-]{1,80}(?:;[A-Za-z0-9=.-]{1,40})*);base64,([A-Za-z0-9+/=_-]{64,})")
_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]{64,}")
_DEEPEST = 12
_FLAT = 60  # characters of numbers that may stand in one line
_HEX_ROW = 16


def size_of(count: float) -> str:
    """Return a number of bytes as people read it: 812 B, 64 KB, 2.9 MB."""
    if count < 1_000:
        return f"{count:.0f} B"
    return f"{count / 1_000:.0f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def lean_text(text: str, unread: int = 0) -> str:
    """Return `text` with each base64 document in it named by its type and size: `<image/png 2.9 MB>`.

    `unread` are the bytes of its line that were not read: a document that ends where the text was cut has them too.
    """
    if ";base64," not in text:
        return text

    def named(match: re.Match[str]) -> str:
        size = len(match[2]) + (unread if match.end() == len(text) else 0)
        return f"<{match[1]} {size_of(size * 3 / 4)}>"

    return _DATA_URL.sub(named, text)


def unread_of(entry: Entry) -> int:
    """Return how many bytes of an entry's line were not read, as it was too long for a list."""
    return max(0, entry.end - entry.start - PREVIEWED) if isinstance(entry, TraceRecord) and entry.cut else 0


def lean(value: object, unread: int = 0) -> object:
    """Return a payload with every base64 document in it named by its type and size, at any depth."""
    if isinstance(value, str):
        return lean_text(value, unread)
    if isinstance(value, list):
        return [_lean_below(item, unread) for item in value]
    if isinstance(value, dict):
        kind = next(
            (value[name] for name in ("mime_type", "mimeType", "media_type") if isinstance(value.get(name), str)), ""
        )
        found: dict[str, object] = {}
        for key, item in value.items():
            if kind and key == "data" and isinstance(item, str) and _BASE64.fullmatch(item):
                found[key] = f"<{kind} {size_of((len(item) + unread) * 3 / 4)}>"
            else:
                found[key] = _lean_below(item, unread)
        return found
    return value


def _lean_below(value: object, unread: int) -> object:
    try:
        return lean(value, unread)
    except RecursionError:
        return "(nested too deep to be shown)"


def dump(value: object, indent: int | None = None) -> str:
    """Return a value as JSON, as far as it can be written."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    except (ValueError, RecursionError):
        return "(nested too deep to be shown)"


def text_of(entry: Entry) -> str:
    """Return what an entry says, JSON laid out; of a gap, why it is one."""
    if isinstance(entry, Gap):
        return gap_words(entry)
    record, unread = entry, unread_of(entry)
    match record.kind:
        case "text" | "thinking":
            return lean_text(record.text("text") or record.text("thinking"), unread)
        case "tool_call":
            return f"{record.text('name')}\n{_pretty(record.text('arguments'))}"
        case "tool_call_output":
            images = record.payload.get("images")
            more = (
                "\n".join(["", *(lean_text(str(image), unread) for image in images)])
                if isinstance(images, list)
                else ""
            )
            return _pretty(lean_text(record.text("output"), unread)) + more
        case _:
            return laid_out(lean(record.payload, unread))


def gap_words(gap: Gap) -> str:
    """Say what a gap is and where its bytes lie."""
    head = f"No record: {gap.reason.replace('_', ' ')}".rstrip()
    detail = f" ({gap.detail})" if gap.detail else ""
    return f"{head}{detail}, bytes {gap.start} to {gap.end} ({size_of(gap.size)})"


def whole(entry: Entry, raw: bytes, most: int = DETAIL_CHARACTERS) -> tuple[str, ...]:
    """Return an entry for reading, line by line, at most `most` characters; a gap with the bytes that are there."""
    if isinstance(entry, Gap):
        return (gap_words(entry), "", *bytes_shown(raw, entry.size))
    lines = cut_lines(text_of(entry), most)
    if entry.cut:
        lines.append(f"... {size_of(entry.end - entry.start)} in all; v reads it whole in the pager")
    return tuple(lines)


def cut_lines(text: str, most: int = DETAIL_CHARACTERS) -> list[str]:
    """Return the lines of a text, at most `most` characters of it, and what is left out."""
    cut = text[:most]
    lines = cut.split("\n")
    if len(text) > len(cut):
        more = "Enter shows more, " if most < DETAIL_CHARACTERS else ""
        lines.append(f"... {len(text) - len(cut)} characters more; {more}v reads it whole in the pager")
    return lines


def bytes_shown(raw: bytes, size: int) -> tuple[str, ...]:
    """Return the first bytes of a line as they stand in the file: text where they are UTF-8, hexadecimal where not.

    `size` is how many bytes the line has.
    """
    shown = raw[:RAW_BYTES]
    try:
        text = shown.decode("utf-8") if len(raw) >= size else shown.decode("utf-8", "ignore")
        lines = [] if "\0" in text else text.split("\n")
        is_text = bool(lines) and (len(raw) >= size or len(text.encode()) > len(shown) - 4)
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        lines = [_hex(shown, at) for at in range(0, min(len(shown), 4096), _HEX_ROW)]
        shown = shown[:4096]
    if size > len(shown):
        lines.append(f"... {size_of(size - len(shown))} more; v reads it whole in the pager")
    return tuple(lines)


def _hex(raw: bytes, at: int) -> str:
    row = raw[at : at + _HEX_ROW]
    return f"{at:08x}  {row.hex(' '):<{_HEX_ROW * 3}} {''.join(chr(b) if 32 <= b < 127 else '.' for b in row)}"


def _pretty(text: str) -> str:
    """Return JSON laid out for reading, and anything else as it is."""
    if len(text) > DETAIL_CHARACTERS or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return laid_out(lean(value))


def laid_out(value: object) -> str:
    """Return a JSON value for reading: a name and its value a line, texts as they are, deeper things indented.

    It can't be read back, as texts stand without quotes and escapes; the raw record is there for that.
    """
    return "\n".join(_laid(value, 0))


def _laid(value: object, depth: int) -> list[str]:
    inset = "  " * depth
    if depth > _DEEPEST:
        return [inset + dump(value)]
    lines: list[str] = []
    if isinstance(value, dict) and value:
        for key, item in value.items():
            lines += _named(f"{inset}{key}:", item, depth)
    elif isinstance(value, list) and value:
        for item in value:
            lines += _named(f"{inset}-", item, depth)
    else:
        lines.append(inset + (value if isinstance(value, str) else dump(value)))
    return lines


def _named(name: str, item: object, depth: int) -> list[str]:
    """Return a value behind its name, or below it where it has several lines."""
    if isinstance(item, str):
        below = item.split("\n")
        if len(below) == 1:
            return [f"{name} {item}"]
        return [name, *("  " * (depth + 1) + line for line in below)]
    if isinstance(item, dict | list) and item:
        flat = dump(item)
        if len(flat) <= _FLAT and '"' not in flat:
            return [f"{name} {flat}"]
        return [name, *_laid(item, depth + 1)]
    return [f"{name} {dump(item)}"]
