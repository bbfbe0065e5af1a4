"""Values written as YAML that a 1.1 and a 1.2 reader understand alike (EVOLUTION 2.2 no. 46, 2.3 no. 48)."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from decimal import Decimal

# What one of the two readers would take for something other than this text: null, booleans of both versions,
# numbers (also octal, hex, binary, underscored and sexagesimal ones), merge and value keys.
_RETYPED = re.compile(
    r"(?i:~|null|true|false|yes|no|on|off|y|n|<<|=|[-+]?\.(?:inf|nan)"
    r"|[-+]?(?:0x[0-9a-f_]+|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*(?::[0-9_.]+)*"
    r"|[0-9_]*\.?[0-9_]*(?:e[-+]?[0-9]+)?))\Z"
)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})?\Z")
_DATE_LIKE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_PLAIN = re.compile(r"[A-Za-z0-9_./][^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*\Z")
_FOLDABLE = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*\Z")
_WIDTH = 100


def scalar(text: str) -> str:
    """Return `text` as one YAML scalar: plain where every reader takes it for this text, else double-quoted.

    Timestamps stay plain, as the format writes them.
    """
    if _TIMESTAMP.match(text):
        return text
    plain = (
        _PLAIN.match(text)
        and not _RETYPED.match(text)
        and not _DATE_LIKE.match(text)
        and text == text.strip()
        and ": " not in text
        and " #" not in text
        and not text.endswith(":")
        and not text.startswith(("---", "..."))
        and not any(mark in text for mark in "[]{},")  # these end a plain scalar inside a flow collection
    )
    return text if plain else quoted(text)


def quoted(text: str) -> str:
    """Return `text` double-quoted, everything unprintable escaped and lone surrogates replaced."""
    plain = json.dumps(re.sub("[\ud800-\udfff]", "\ufffd", text), ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda m: f"\\u{ord(m.group()):04x}", plain)


def literal(text: str, indent: int) -> str:
    """Return `text` as a `|` block with its line breaks, lines indented by `indent`; no newline at the end.

    What such a block cannot carry to the letter comes back double-quoted.
    """
    body = text.removesuffix("\n")
    lines = body.split("\n")
    if not body or not _FOLDABLE.match(text) or lines[0] != lines[0].lstrip() or not lines[0] or not lines[-1].strip():
        return quoted(text)
    pad = " " * indent
    return "\n".join(["|" if text.endswith("\n") else "|-", *(pad + line if line else "" for line in lines)])


def flow(value: object) -> str:
    """Return a value on one line, for inside brackets; texts double-quoted where anything could retype them."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{scalar(str(key))}: {flow(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(part) for part in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return number(value) if isinstance(value, int | float) else scalar(str(value))


def number(value: float) -> str:
    """Return a finite number without exponent: `1e-07` is text to a 1.1 reader, `0.0000001` a number to both."""
    if value == int(value):
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def folded(text: str, indent: int) -> str:
    """Return `text` as a `>-` block: the marker, then lines indented by `indent` spaces, no newline at the end.

    What a folded block cannot carry to the letter (leading or trailing white space of a line, control characters,
    trailing newlines, an empty text) comes back double-quoted.
    """
    lines = text.split("\n")
    if not text or not _FOLDABLE.match(text) or any(line != line.strip() for line in lines) or lines[-1] == "":
        return quoted(text)
    pad = " " * indent
    body = [pad + part if part else "" for line in lines for part in (*_wrapped(line), "")]
    # A single newline of the text is an empty line of the block; the one after the last line is not written.
    return "\n".join([">-", *body[:-1]])


def _wrapped(line: str) -> list[str]:
    """Return `line` cut at single spaces only, so that folding gives every space back."""
    if not line:
        return []
    parts = textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False) if "  " not in line else [line]
    return parts if " ".join(parts) == line else [line]
