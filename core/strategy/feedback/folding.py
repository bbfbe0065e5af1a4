"""A text as an eye reads it: full-width and foreign digits, odd dashes and spaces, hidden characters brought to ASCII.

Identifiers are looked for in the folded text and replaced in the real one, so that what is kept stays as it was said.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_SPOKEN = str.maketrans("零〇一幺二两三四五六七八九", "0011223456789")
_SPOKEN_RUN = re.compile("[零〇一幺二两三四五六七八九]{7,}")
_ALIKE = {"·": ".", "•": ".", "﹒": ".", "‧": ".", "−": "-", "～": "-", "~": "-"}


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is the folded one; `origin[i]` is where its i-th character stands in the real one."""

    text: str
    origin: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the folded text stands in the real one."""
        return self.origin[start], self.origin[end - 1] + 1


def fold(text: str) -> Folded:
    """Return the folded text. Characters that can't be seen are left out; nothing else changes the length."""
    spoken = _SPOKEN_RUN.sub(lambda run: run[0].translate(_SPOKEN), text)
    characters: list[str] = []
    origin: list[int] = []
    for at, character in enumerate(spoken):
        seen = character if " " <= character < "~" or character == "\n" else _fold(character)
        if seen:
            characters.append(seen)
            origin.append(at)
    return Folded("".join(characters), tuple(origin))


def _fold(character: str) -> str:
    if character in _ALIKE:
        return _ALIKE[character]
    if 0xFF01 <= ord(character) <= 0xFF5E:
        return chr(ord(character) - 0xFEE0)
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Pd":
        return "-"
    if category == "Zs" or character == "\t":
        return " "
    return "" if category in ("Cf", "Cc", "Mn") else character
