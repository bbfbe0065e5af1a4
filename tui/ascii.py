"""The console for terminals that know ASCII only: each of our marks becomes one that they can show.

One character for one, so widths stay; text of agents that is not ASCII shows as `?`, as no better can be told there.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_STEPS = dict(zip("▁▂▃▄▅▆▇█", "__..-=##", strict=True))
_EIGHTHS = dict(zip("▏▎▍▌▋▊▉", "...::##", strict=True))
_OURS = {
    **_STEPS, **_EIGHTHS, "●": "o", "·": ".", "…": "~", "─": "-", "━": "=", "│": "|", "┃": "|", "┌": "+", "┐": "+",
    "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+", "╭": "+", "╮": "+", "╰": "+", "╯": "+",
    "→": ">", "←": "<", "↑": "^", "↓": "v", "▲": "^", "▼": "v", "▶": ">", "◀": "<", "▸": ">", "▾": "v", "◐": "c",
    "○": "o", "◌": ".", "■": "#", "□": ".", "░": ".", "▒": ":", "▓": "#", "▀": "^", "▐": "|", "×": "x", "✓": "v",
    "✗": "x", "±": "~", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "•": "*", "§": "S", "Δ": "d",
    "≤": "<", "≥": ">", "≈": "~", "\u00a0": " ", "␛": "^", "\ufffd": "?",
}  # fmt: skip


def to_ascii(text: str) -> str:
    """Return `text` in ASCII, each character as wide as before."""
    if text.isascii():
        return text
    return "".join(character if character.isascii() else _one(character) for character in text)


def _one(character: str) -> str:
    known = _OURS.get(character)
    if known is not None:
        return known
    if "\u2800" <= character <= "\u28ff":  # braille: how many of its eight dots are set
        return " .:-=+*#@"[(ord(character) - 0x2800).bit_count()]
    return "?" * cell_len(character)


class Ascii(LineFilter):
    """Maps every line on its way to the terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [Segment(to_ascii(segment.text), segment.style, segment.control) for segment in segments]
