"""How a matrix is laid out in a width, and what a cell looks like in one of five widths. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.palette import MARKS, score_tone
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.widgets.spans import Line, fit, width_of

GUTTER = 2
ROOMY, WHOLE, TENTHS, SPACED, TIGHT = 16, 9, 7, 5, 4
"""Cells: with words, with two decimals, with one, rounded with a gap, rounded without."""
_SHORT = {"running": "runs", "repairing": "repair", "interrupted": "cut", "planned": "plan"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Widths in cells. `shown` columns of Runs fit at once; `spread` and `delta` are 0 where there is none to show."""

    name: int
    cell: int
    shown: int
    mean: int
    spread: int
    delta: int

    @property
    def sums(self) -> int:
        """Cells of the columns at the right, which do not scroll."""
        return self.mean + self.spread + self.delta


def layout(page: MatrixPage, rows: Sequence[MatrixRow], width: int) -> Layout:
    """Return how `page` fits into `width`: the widest cells with which all Runs are in sight, else as many as go."""
    wide = width >= 76
    spread = (8 if wide else 6) if page.columns > 1 else 0
    delta = (9 if wide else 7) if page.against and not page.not_comparable else 0
    mean = 8 if wide else 7
    room = width - GUTTER - mean - spread - delta
    named = min(46, 1 + max((width_of(label(row, 46)) for row in rows), default=10))
    for cell, least in ((ROOMY, named), (WHOLE, 24), (TENTHS, 18), (SPACED, 16), (TIGHT, 15)):
        if min(named, least) + page.columns * cell <= room:
            shown = page.columns
            break
    else:
        cell = SPACED
        shown = max(1, (room - min(named, 16)) // cell)
    name = max(8, min(named, room - shown * cell))
    return Layout(name, cell, min(shown, page.columns), mean, spread, delta)


def label(row: MatrixRow, width: int) -> str:
    """Return a Case's name: its number and title, where there is room for any of it."""
    if row.title == row.case_id or width < 14:
        return row.case_id
    return f"{number(row.case_id)} {row.title}"


def number(case_id: str) -> str:
    """Return `CASE-004` of `CASE-004-delivery-report`."""
    return "-".join(case_id.split("-")[:2])


def column_name(run: int, cell: int) -> str:
    """Return the heading of a Run's column."""
    if cell >= TENTHS:
        return fit(f"run {run}", cell)
    return fit(str(run), TIGHT, right=True) + " " * (cell - TIGHT)


def cell_line(cell: Cell | None, width: int) -> Line:
    """Return a cell in `width`: its score, with a mark where there is room, or the mark and word of its state.

    A number alone is a score; whatever is none shows a mark and no number, so a failure is never read as a zero.
    """
    inner = width if width == TIGHT else width - 1  # the last cell is a gap
    if cell is None:
        return ((" " * inner, "plain"),)
    mark, tone = MARKS.get(cell.state, ("?", "warn"))
    if cell.score is None:
        word = cell.state if width >= ROOMY else _SHORT.get(cell.state, cell.state)
        if width <= SPACED:
            return ((fit(mark, TIGHT, right=True), tone),)
        return ((fit(f"{mark} {word}", inner), tone),)
    colour = score_tone(cell.score)
    if width >= WHOLE:
        reused = " reused" if cell.state == "reused" and width >= ROOMY else ""
        return ((f"{mark} ", tone), (f"{cell.score:6.2f}", colour), (fit(reused, inner - 8), "dim"))
    if width >= TENTHS:
        text = "100" if cell.score >= 99.95 else f"{cell.score:.1f}"
        return ((f"{mark} ", tone), (fit(text, 4, right=True), colour))
    if cell.state == "reused":
        return ((mark, tone), (f"{cell.score:3.0f}", colour))
    return ((f"{cell.score:4.0f}", colour),)


def sum_line(row: MatrixRow, at: Layout) -> Line:
    """Return a Case's mean, spread and difference."""
    digits = 2 if at.mean > 7 else 1
    line: Line = ((_points(row.mean, at.mean, digits), score_tone(row.mean)),)
    if at.spread:
        line = (*line, (_points(row.spread, at.spread, digits), "dim"))
    if at.delta:
        text = "-" if row.delta is None else f"{row.delta:+.{digits}f}"
        tone = "dim" if not row.delta else "good" if row.delta > 0 else "bad"
        line = (*line, (fit(text, at.delta, right=True), tone))
    return line


def _points(score: float | None, width: int, digits: int) -> str:
    return fit("-" if score is None else f"{score:.{digits}f}", width, right=True)
