"""Curves over the steps of a run. Pure.

`live` draws them with braille dots, cheaply: the x axis is as long as the run will be, and the y axis keeps to round
numbers, so a new step changes a few cells. `still` has plotext draw the same more finely, for what no longer moves.
Each curve has a letter of its own at its end, so that they are told apart without colours too.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Line = tuple[tuple[str, str], ...]
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
TONES = ("accent", "good", "warn", "call", "bad")
_AXIS = 8
_LEAST = (24, 6)
_STEPS = "▁▂▃▄▅▆▇█"
_COLOURS = (6, 2, 3, 4, 1)
"""The terminal's own colours that plotext draws in, one a tone of `TONES`."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Values by step, None where there is none, and how the curve is told apart."""

    name: str
    mark: str
    tone: str
    values: tuple[float | None, ...]

    @property
    def points(self) -> tuple[tuple[int, float], ...]:
        return tuple((at, value) for at, value in enumerate(self.values) if value is not None)


def named(names: Sequence[tuple[str, tuple[float | None, ...]]]) -> tuple[Curve, ...]:
    """Return curves with letters and tones of their own: the first free letter of each name."""
    taken: set[str] = set()
    found: list[Curve] = []
    for place, (name, values) in enumerate(names):
        letters = [letter for letter in f"{name.lower()}abcdefghijklmnopqrstuvwxyz" if letter.isalpha()]
        mark = next(letter for letter in letters if letter not in taken)
        taken.add(mark)
        found.append(Curve(name, mark, TONES[place % len(TONES)], values))
    return tuple(found)


def sparkline(values: Sequence[float | None], places: int, width: int) -> str:
    """Return a curve in one row, each cell the mean of its part of `places` steps; blank where nothing is known."""
    known = [value for value in values if value is not None]
    if not known or width < 1:
        return ""
    low, high = min(known), max(known)
    cells: list[str] = []
    for cell in range(width):
        part = values[cell * places // width : max(cell * places // width + 1, (cell + 1) * places // width)]
        here = [value for value in part if value is not None]
        if not here:
            cells.append(" ")
            continue
        share = (sum(here) / len(here) - low) / (high - low) if high > low else 0.5
        cells.append(_STEPS[min(7, int(share * 8))])
    return "".join(cells).rstrip()


Show = Callable[[float], str]


def live(curves: Sequence[Curve], places: int, width: int, height: int, show: Show, each: float = 1.0) -> list[Line]:
    """Return `height` lines of at most `width` cells; `places` values lie along the x axis, `show` writes a value.

    `each` is how many steps a value stands for: 1 but for a run so long that only some of them were read.
    """
    if told := _unfit(curves, width, height):
        return [told]
    rows, columns = height - 3, width - _AXIS - 1
    low, high, step = bounds([value for curve in curves for _, value in curve.points])
    canvas = _Canvas(columns, rows, low, high, max(places, *(len(curve.values) for curve in curves), 2))
    for curve in curves:
        points = curve.points
        for (at, value), (then, next_value) in itertools.pairwise(points):
            canvas.segment(at, value, then, next_value, curve.tone)
    for curve in curves:
        canvas.mark(*curve.points[-1], curve)
    told_at = {canvas.row(mark): mark for mark in _marks(low, high, step, max(2, rows // 3))}
    lines: list[Line] = []
    for row, line in enumerate(canvas.lines()):
        number = f"{show(told_at[row])[: _AXIS - 1]:>{_AXIS - 1}} " if row in told_at else " " * _AXIS
        lines.append(((number + "│", "dim"), *line))
    lines.append(((" " * _AXIS + "└" + "─" * columns, "dim"),))
    lines.append(((" " * (_AXIS + 1) + _ends(round(canvas.places * each), columns), "dim"),))
    return [*lines, legend(curves, show)]


def still(curves: Sequence[Curve], places: int, width: int, height: int, show: Show, each: float = 1.0) -> list[Line]:
    """Return the same as `live`, drawn by plotext."""
    if told := _unfit(curves, width, height):
        return [told]
    import plotext  # a large module, wanted by nobody who doesn't plot

    low, high, step = bounds([value for curve in curves for _, value in curve.points])
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(width, height - 1)
    for curve in curves:
        colour = _COLOURS[TONES.index(curve.tone)]
        steps, values = [at + 1 for at, _ in curve.points], [value for _, value in curve.points]
        plotext.plot(steps, values, marker="braille", color=colour)
        every = max(1, len(steps) // 5)
        chosen = range(len(steps) - 1, -1, -every)
        plotext.scatter([steps[at] for at in chosen], [values[at] for at in chosen], marker=curve.mark, color=colour)
    last = max(places, *(len(curve.values) for curve in curves), 2)
    plotext.xlim(1, last)
    plotext.ylim(low, high)
    marks = _marks(low, high, step, max(2, (height - 4) // 2))
    plotext.yticks(marks, [show(mark) for mark in marks])
    ticks = sorted({1, *(round(1 + (last - 1) * part / 4) for part in range(1, 4)), last})
    plotext.xticks(ticks, ["1" if tick == 1 else str(round(tick * each)) for tick in ticks])
    drawn = plotext.build()
    plotext.clear_figure()
    return [*(_toned(line) for line in drawn.rstrip("\n").split("\n")), legend(curves, show)][:height]


def legend(curves: Sequence[Curve], show: Callable[[float], str]) -> Line:
    """Return what each letter stands for, with its value now."""
    line: list[tuple[str, str]] = [("  ", "plain")]
    for curve in curves:
        line += [(curve.mark, curve.tone), (f" {curve.name.strip()} ", "plain"), (show(curve.points[-1][1]), "strong")]
        line.append(("   ", "plain"))
    return tuple(line)


def bounds(values: Sequence[float]) -> tuple[float, float, float]:
    """Return round numbers below and above all values, and the step between marks: 1, 2 or 5 times a power of ten."""
    low, high = min(values), max(values)
    if high - low < 1e-12:
        pad = abs(high) / 2 or 1.0
        low, high = low - pad, high + pad
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step


def _marks(low: float, high: float, step: float, most: int) -> list[float]:
    """Return the values at which the axis is marked, at most `most`, the ends among them where that fits."""
    count = round((high - low) / step)
    every = next(n for n in range(1, count + 1) if count // n + 1 <= most or n == count)
    return [low + step * part for part in range(0, count + 1, every)]


def _unfit(curves: Sequence[Curve], width: int, height: int) -> Line:
    if width < _LEAST[0] or height < _LEAST[1]:
        return (("Too little room for a plot.", "dim"),)
    if not any(curve.points for curve in curves):
        return (("Nothing to draw yet.", "dim"),)
    return ()


_COLOUR = re.compile(r"\x1b\[(?:38;5;(\d+)|0)m")


def _toned(line: str) -> Line:
    """Return a line of plotext's with the colours as tones; no other escape is left in it."""
    spans: list[tuple[str, str]] = []
    tone, at = "dim", 0
    for found in _COLOUR.finditer(line):
        if text := line[at : found.start()]:
            spans.append((text, tone))
        number = int(found[1]) if found[1] else -1
        tone = TONES[_COLOURS.index(number)] if number in _COLOURS else "dim"
        at = found.end()
    if text := line[at:]:
        spans.append((text, tone))
    return tuple(spans)


def _ends(places: int, columns: int) -> str:
    """Return the first, the middle and the last step below the x axis."""
    first, middle, last = "1", str((places + 1) // 2), f"step {places}"
    row = [" "] * columns
    for text, start in ((middle, (columns - len(middle)) // 2), (first, 0), (last, columns - len(last))):
        if start >= 0:
            row[start : start + len(text)] = text
    return "".join(row)


class _Canvas:
    """Cells of braille dots, each with the tone of the curve that was drawn there last, below letters."""

    def __init__(self, columns: int, rows: int, low: float, high: float, places: int) -> None:
        self.columns, self.rows, self.places = columns, rows, places
        self._low, self._high = low, high
        self._dots = [[0] * columns for _ in range(rows)]
        self._tones = [["accent"] * columns for _ in range(rows)]
        self._marks: dict[tuple[int, int], tuple[str, str]] = {}

    def _x(self, place: float) -> float:
        return place * (2 * self.columns - 1) / (self.places - 1)

    def _y(self, value: float) -> float:
        share = (min(self._high, max(self._low, value)) - self._low) / (self._high - self._low)
        return (1 - share) * (4 * self.rows - 1)

    def row(self, value: float) -> int:
        """Return the row in which a value lies."""
        return round(self._y(value)) // 4

    def segment(self, place: float, value: float, then: float, next_value: float, tone: str) -> None:
        """Draw a straight line between two points."""
        x0, y0, x1, y1 = self._x(place), self._y(value), self._x(then), self._y(next_value)
        steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
        for step in range(steps + 1):
            x, y = round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)
            self._dots[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
            self._tones[y // 4][x // 2] = tone

    def mark(self, place: int, value: float, curve: Curve) -> None:
        """Put a curve's letter on a point, beside what stands there already."""
        row, column = self.row(value), round(self._x(place)) // 2
        while (row, column) in self._marks and column > 0:
            column -= 1
        self._marks[row, column] = (curve.mark, curve.tone)

    def lines(self) -> list[Line]:
        """Return the rows, neighbours of one tone joined."""
        made: list[Line] = []
        for row in range(self.rows):
            spans: list[tuple[str, str]] = []
            for column in range(self.columns):
                dots = self._dots[row][column]
                drawn = (chr(0x2800 + dots), self._tones[row][column]) if dots else (" ", "plain")
                text, tone = self._marks.get((row, column), drawn)
                if spans and spans[-1][1] == tone:
                    spans[-1] = (spans[-1][0] + text, tone)
                else:
                    spans.append((text, tone))
            made.append(tuple(spans))
        return made
