"""JSON as every reader of ours takes it: a number is finite, no depth and no length brings a process down.

Python's own reader lets NaN, Infinity and 1e400 through as floats, integers through that no float can hold, and
raises RecursionError for deep nesting (FAULTS: non-finite values).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn, TypeGuard

_LARGEST = 2**1023
_LARGEST_DIGITS = 308  # of 2**1023: no shorter text can hold an integer out of range
_SPACE = re.compile(r"[ \t\n\r]*")
_DIGITS = 310  # more than any float has; Python refuses to read an integer of more than 4,300 at all


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether `value` is a finite number: no boolean, no NaN, nothing that a float cannot hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST if isinstance(value, int) else math.isfinite(value)


def is_deeper(value: object, levels: int) -> bool:
    """Tell whether objects and lists lie in each other more than `levels` deep: too deep for what walks through them.

    Pure, and itself bounded: it goes down no further than it is asked.
    """
    layer: list[object] = [value]
    for _ in range(levels + 1):
        held = [one for one in layer if isinstance(one, dict | list | tuple)]
        if not held:
            return False
        layer = [inner for one in held for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def parse(text: str | bytes, *, unique: bool = False) -> Any:
    """Return the value of a JSON text; bytes are UTF-8. Raises ValueError for anything else, however deep or long.

    `unique` refuses an object that names a key twice.
    """
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        decoder = _UNIQUE if unique else _DECODER if len(text) >= _LARGEST_DIGITS else _OF_SHORT
        if text[:1] in ("{", "["):
            # A journal has thousands of lines; most are a value and nothing around it, and need no more than this.
            try:
                value, end = decoder.scan_once(text, 0)  # type: ignore[attr-defined]  # typeshed leaves it out
            except StopIteration:
                end = -1
            if end == len(text):
                return value
        return decoder.decode(_without_mark(text))
    except RecursionError as error:
        raise ValueError("nested too deep to be read") from error


def parse_prefix(text: str, start: int = 0, *, unique: bool = False) -> tuple[Any, int]:
    """Return the value whose text begins at `start` (behind white space) and where it ends. Raises ValueError."""
    at = _SPACE.match(text, start)
    try:
        value, end = (_UNIQUE if unique else _DECODER).raw_decode(text, at.end() if at else start)
    except RecursionError as error:
        raise ValueError("nested too deep to be read") from error
    return value, end


def dumps(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON that can be written as UTF-8, as readable as it may be.

    A lone surrogate (half a character, or a byte of a file name that is no UTF-8) has no UTF-8; a text that holds one
    is escaped, and reads back as it was. Raises ValueError for a number that is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent)
    return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is out of range")
    return number


def _whole(text: str) -> int:
    if len(text) > _DIGITS or abs(number := int(text)) > _LARGEST:
        raise ValueError(f"{text[:40]} is out of range")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _without_mark(text: str) -> str:
    """Refuse a byte order mark, as `json.loads` does."""
    if text.startswith("\ufeff"):
        raise ValueError("a byte order mark before the JSON")
    return text


# Made once: a journal of thousands of lines would pay for a decoder a line.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)
_OF_SHORT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_UNIQUE = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
)
