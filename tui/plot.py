"""Scores over versions, drawn with characters: a line through what was kept, marks for what was not. Pure.

Braille gives the line eight dots a cell; marks and letters say what each point is, so that it reads without colours
and, each character mapped to one of ASCII, in any terminal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tui.palette import STEPS
from tui.stores.board_rows import Series

Line = tuple[tuple[str, str], ...]
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
MARKS = {"kept": ("●", "good"), "tried": ("x", "bad"), "held out": ("h", "accent"), "other": ("*", "dim")}
"""Mark and tone of each kind of point."""
_AXIS = 5
_LEAST_SPAN = 20.0


def plot(series: Series, labels: Sequence[str], width: int, height: int, *, target: float | None = None) -> list[Line]:
    """Return `height` lines of `width` cells: the plot, its axes, and what the marks mean.

    `labels` name the places along the x axis. Scores are 0 to 100; the y axis shows the part that is needed.
    """
    if not series.points or width < 24 or height < 6:
        return [(("No score to draw yet." if not series.points else "Too little room for a plot.", "dim"),)]
    rows, columns = height - 3, width - _AXIS - 1
    low, high = _bounds([score for _, score, _ in series.points], target)
    canvas = _Canvas(columns, rows, low, high, len(labels))
    if target is not None:
        canvas.level(target)
    kept = series.kept
    for (at, score), (then, next_score) in itertools.pairwise(kept):
        canvas.segment(at, score, then, next_score)
    for place, score, kind in sorted(series.points, key=lambda point: point[2] == "kept"):
        canvas.mark(place, score, *MARKS[kind])
    lines = [_with_axis(line, row, rows, low, high) for row, line in enumerate(canvas.lines())]
    lines.append(((" " * _AXIS + "└" + "─" * columns, "dim"),))
    lines.append(((" " * (_AXIS + 1) + _labels(labels, canvas), "dim"),))
    lines.append(_legend(series, target))
    return lines


def sparkline(series: Series, places: int, width: int) -> str:
    """Return a curve in one row, a block for each place; a gap where the place has no score."""
    known = {place: score for place, score, kind in series.points if kind != "held out"}
    shown = range(max(0, places - width), places)
    return "".join(STEPS[min(7, int(known[at] / 12.5))] if at in known else " " for at in shown)


def _bounds(scores: Sequence[float], target: float | None) -> tuple[float, float]:
    """Return the tens around all scores, at least 20 points apart, within 0 and 100."""
    found = [*scores, *([target] if target is not None else [])]
    low, high = math.floor(min(found) / 10) * 10, math.ceil(max(found) / 10) * 10
    while high - low < _LEAST_SPAN:
        low, high = max(0, low - 10), min(100, high + 10)
    return float(low), float(high)


class _Canvas:
    """Cells of braille dots below marks.

    Invariant: `places` points are spread evenly over the columns; a row further down is a lower score.
    """

    def __init__(self, columns: int, rows: int, low: float, high: float, places: int) -> None:
        self.columns, self.rows, self.places = columns, rows, max(1, places)
        self._low, self._high = low, high
        self._dots = [[0] * columns for _ in range(rows)]
        self._marks: dict[tuple[int, int], tuple[str, str]] = {}
        self._level: int | None = None

    def x(self, place: float) -> float:
        """Return where a place lies, in dots (two a cell)."""
        step = (2 * self.columns - 4) / max(1, self.places - 1)
        return 1 + place * step if self.places > 1 else self.columns

    def y(self, score: float) -> float:
        """Return where a score lies, in dots (four a cell), from the top."""
        share = (min(self._high, max(self._low, score)) - self._low) / (self._high - self._low)
        return (1 - share) * (4 * self.rows - 1)

    def segment(self, place: float, score: float, then: float, next_score: float) -> None:
        """Draw a straight line between two points."""
        x0, y0, x1, y1 = self.x(place), self.y(score), self.x(then), self.y(next_score)
        steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
        for step in range(steps + 1):
            self._dot(round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps))

    def _dot(self, x: int, y: int) -> None:
        self._dots[y // 4][x // 2] |= _DOTS[y % 4][x % 2]

    def level(self, score: float) -> None:
        """Draw a level line behind everything else."""
        self._level = round(self.y(score)) // 4

    def mark(self, place: float, score: float, mark: str, tone: str) -> None:
        """Put a mark on a point."""
        self._marks[round(self.y(score)) // 4, round(self.x(place)) // 2] = (mark, tone)

    def lines(self) -> list[Line]:
        """Return the rows, neighbours of one tone joined."""
        made: list[Line] = []
        for row in range(self.rows):
            spans: list[tuple[str, str]] = []
            for column in range(self.columns):
                text, tone = self._cell(row, column)
                if spans and spans[-1][1] == tone:
                    spans[-1] = (spans[-1][0] + text, tone)
                else:
                    spans.append((text, tone))
            made.append(tuple(spans))
        return made

    def _cell(self, row: int, column: int) -> tuple[str, str]:
        if (row, column) in self._marks:
            return self._marks[row, column]
        if self._dots[row][column]:
            return chr(0x2800 + self._dots[row][column]), "accent"
        if row == self._level:
            return ("-" if column % 2 == 0 else " "), "warn"
        return " ", "plain"


def _with_axis(line: Line, row: int, rows: int, low: float, high: float) -> Line:
    """Put the y axis before a row: a number at the top, the bottom and between."""
    told = {0: high, rows - 1: low, (rows - 1) // 2: high - (high - low) * ((rows - 1) // 2) / max(1, rows - 1)}
    number = f"{told[row]:{_AXIS - 1}.0f} " if row in told else " " * _AXIS
    return ((number + "│", "dim"), *line)


def _labels(labels: Sequence[str], canvas: _Canvas) -> str:
    """Return the names of places, each below its point, as many as don't touch; the last one always."""
    row = [" "] * canvas.columns
    free_from = 0

    def put(place: int) -> None:
        nonlocal free_from
        start = max(0, min(canvas.columns - len(labels[place]), round(canvas.x(place)) // 2 - len(labels[place]) // 2))
        if start >= free_from:
            row[start : start + len(labels[place])] = labels[place]
            free_from = start + len(labels[place]) + 1

    last = len(labels) - 1
    room = canvas.columns - len(labels[last]) - 1
    for place in range(last):
        if round(canvas.x(place)) // 2 + len(labels[place]) // 2 < room:
            put(place)
    put(last)
    return "".join(row)


def _legend(series: Series, target: float | None) -> Line:
    words = {
        "kept": "measured and kept",
        "tried": "not kept",
        "held out": "held-out Cases",
        "other": "another model",
    }
    kinds = {kind for _, _, kind in series.points}
    line: list[tuple[str, str]] = [(" " * (_AXIS + 1), "plain")]
    for kind, (mark, tone) in MARKS.items():
        if kind in kinds:
            line += [(mark, tone), (f" {words[kind]}   ", "dim")]
    if target is not None:
        line += [("- -", "warn"), (f" wanted {target:g}", "dim")]
    return tuple(line)
