"""Each of our marks as one character of ASCII, as wide as before: for terminals and files that know no more.

Text of agents that is not ASCII shows as `?`, as no better can be told there.
"""

from __future__ import annotations

from rich.cells import cell_len

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
