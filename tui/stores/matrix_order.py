"""In which order the Cases of a matrix stand, and which are shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tui.stores.matrix_page import MatrixRow

ORDERS = ("case", "mean", "delta", "spread", "failures")
"""What `s` goes through: the order of the benchmark; lowest mean, most lost, widest spread, and failures first."""

_BOUND = re.compile(r"^([<>])(\d+(?:\.\d+)?)$")
_BROKEN = frozenset({"failed", "interrupted"})


def ordered(rows: Sequence[MatrixRow], order: str) -> tuple[MatrixRow, ...]:
    """Return rows in an order of ORDERS; what has no number comes last, equals stay as they were."""
    keys: dict[str, Callable[[MatrixRow], tuple[bool, float]]] = {
        "mean": lambda row: (row.mean is None, row.mean or 0.0),
        "delta": lambda row: (row.delta is None, row.delta or 0.0),
        "spread": lambda row: (row.spread is None, -(row.spread or 0.0)),
        "failures": lambda row: (not failures(row), float(-failures(row))),
    }
    return tuple(sorted(rows, key=keys[order])) if order in keys else tuple(rows)


def failures(row: MatrixRow) -> int:
    """Return how many cells of a Case failed or were cut off."""
    return sum(1 for cell in row.cells if cell is not None and cell.state in _BROKEN)


def wanted(text: str) -> Callable[[MatrixRow], bool]:
    """Return the test that a filter is: words that must all hold.

    A word is part of a Case's id or title, `state:failed` (any cell in that state), or `<50` and `>80` (its mean; a
    Case without a score is neither). `!` in front of a word turns it around.
    """
    tests = [_word(word) for word in text.split()]
    return lambda row: all(test(row) for test in tests)


def _word(word: str) -> Callable[[MatrixRow], bool]:
    if word.startswith("!") and len(word) > 1:
        test = _word(word[1:])
        return lambda row: not test(row)
    if word.startswith("state:"):
        state = word.removeprefix("state:").casefold()
        return lambda row: any(cell is not None and cell.state.startswith(state) for cell in row.cells)
    if (bound := _BOUND.match(word)) is not None:
        limit = float(bound[2])
        if bound[1] == "<":
            return lambda row: row.mean is not None and row.mean < limit
        return lambda row: row.mean is not None and row.mean > limit
    part = word.casefold()
    return lambda row: part in f"{row.case_id} {row.title}".casefold()
