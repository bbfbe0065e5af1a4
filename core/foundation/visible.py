"""The one sanitizer: text from an agent, a model or a file, made safe for a terminal.

Control characters, C1 codes, bidirectional overrides, zero-width joiners, variation selectors and lone
surrogates become visible stand-ins, so nothing an agent wrote can move the cursor, retitle the window, reach
the clipboard or reverse a line (FAULTS: escape injection; TERMINAL 3.9).
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_UNSAFE_LINE = re.compile(_UNSAFE.pattern[:-1] + "\t\n]")


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # control pictures: ESC shows as ␛
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return f"<{code:02X}>" if code < 0x100 else f"<U+{code:04X}>"


def visible(text: str) -> str:
    """Return `text` with every unsafe character shown; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_stand_in, text)


def visible_line(text: str) -> str:
    """Like `visible`, on one line: newlines and tabs are shown too."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE_LINE.sub(_stand_in, text)


def well_formed(text: str) -> str:
    """Join surrogate halves that came apart and replace lone ones, so that text survives any writer unchanged."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def decode(raw: bytes) -> str:
    """Decode bytes a child or a file gave as UTF-8, replacing what is not (FAULTS: encoding assumptions)."""
    return raw.decode("utf-8", errors="replace")
