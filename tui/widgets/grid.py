"""The Case matrix, drawn line by line: a cursor on a cell, Cases that stay in sight while Runs scroll sideways, and
only what changed painted.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.actions import bindings
from tui.screens.base import hand_up, own_screen
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.widgets.grid_cells import GUTTER, TIGHT, Layout, cell_line, column_name, label, layout, sum_line
from tui.widgets.ground import Grounded
from tui.widgets.spans import Line, fit, strip_of

_HEADINGS = {"case": "Case", "mean": "mean", "delta": "delta", "spread": "spread", "failures": "Case"}


class Grid(ScrollView, Grounded, can_focus=True, inherit_bindings=False):
    """Rows are Cases, columns Runs.

    Invariant: `row` and `column` name a place of `rows`, or are 0 where there is none. `wanted` is the Case and Run
    that the operator chose last: the cursor returns to it where a page, an order or a filter shows it again. The
    heading row does not scroll.
    """

    DEFAULT_CSS = """
    Grid { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; scrollbar-color: ansi_bright_black;
           scrollbar-background: ansi_default; scrollbar-color-hover: ansi_white; scrollbar-color-active: ansi_white;
           scrollbar-background-hover: ansi_default; scrollbar-background-active: ansi_default; }
    """
    BINDINGS = bindings("list", to="")

    class Moved(Message):
        """The cursor stands on another cell, or its cell changed."""

    class FilterWanted(Message):
        """The operator wants to choose which Cases are shown."""

    class Opened(Message):
        """Enter on a cell."""

        def __init__(self, cell: Cell) -> None:
            self.cell = cell
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.page: MatrixPage | None = None
        self.rows: tuple[MatrixRow, ...] = ()
        self.row = self.column = 0
        self.wanted: tuple[str, int] = ("", 1)
        self._order = "case"
        self._left = 0
        self._layout = Layout(16, 16, 1, 8, 0, 0)

    @property
    def cell(self) -> Cell | None:
        """Return the cell under the cursor."""
        row = self.row_at
        return row.cells[self.column] if row is not None and self.column < len(row.cells) else None

    @property
    def row_at(self) -> MatrixRow | None:
        """Return the Case under the cursor."""
        return self.rows[self.row] if self.row < len(self.rows) else None

    def show(self, page: MatrixPage | None, rows: Sequence[MatrixRow] = (), order: str = "case") -> None:
        """Show a page's rows as they are ordered and filtered; the cursor keeps its Case and Run."""
        old = (self.page, self.rows, self._order, self._layout, self._left)
        self.page, self.rows, self._order = page, tuple(rows), order
        self._lay_out()
        if page is None:
            self.refresh()
            return
        if not self.wanted[0] and self.rows:
            self.wanted = (self.rows[0].case_id, 1)
        before = self.row, self.column
        found = next((at for at, row in enumerate(self.rows) if row.case_id == self.wanted[0]), None)
        self.row = max(0, min(len(self.rows) - 1, self.row)) if found is None else found
        self.column = max(0, min(page.columns - 1, self.wanted[1] - 1))
        self._into_sight()
        same = old[0] is not None and (page.columns, page.spread_name) == (old[0].columns, old[0].spread_name)
        if same and old[2:] == (order, self._layout, self._left) and _ids(old[1]) == _ids(self.rows):
            for index, (was, now) in enumerate(zip(old[1], self.rows, strict=True)):
                if was != now or index in (before[0], self.row):
                    self._paint_row(index)
        else:
            self.refresh()
        self.post_message(self.Moved())

    def go_to(self, case_id: str, run: int | None = None) -> None:
        """Put the cursor on a Case, and on a Run of it, if they are there."""
        place = next((at for at, row in enumerate(self.rows) if row.case_id == case_id), None)
        if place is not None:
            self.move(place, self.column if run is None else run - 1)

    # Drawing

    def on_resize(self) -> None:
        self._lay_out()
        self._into_sight()
        self.refresh()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if self.page is not None and width:
            self._layout = layout(self.page, self.rows, width)
        self.virtual_size = Size(1, len(self.rows) + 1)

    def _into_sight(self) -> None:
        """Scroll, sideways too, so that the cursor is in sight, with most of the page ahead of it."""
        shown, columns = self._layout.shown, self.page.columns if self.page else 1
        if not self._left <= self.column < self._left + shown:
            self._left = self.column - shown // 2
        self._left = max(0, min(columns - shown, self._left))
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height - 1
        if height > 0 and not top <= self.row < top + height:
            # A held key then repaints the grid once for many rows.
            above = height // 4 if self.row >= top else height - 1 - height // 4
            self.scroll_to(y=max(0, self.row - above), animate=False, immediate=True)

    def _paint_row(self, index: int) -> None:
        self.refresh(Region(0, index + 1 - int(self.scroll_offset.y), self.size.width, 1))

    def _paint_cursor(self, row: int, column: int) -> None:
        """Paint a row as far as its cell: Textual writes from the left edge on, wherever a region begins."""
        at = self._layout
        width = GUTTER + at.name + (column + 1 - self._left) * at.cell
        self.refresh(Region(0, row + 1 - int(self.scroll_offset.y), width, 1))

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if self.page is None:
            return strip_of((), width, self.rich_style)
        if y == 0:
            return strip_of(self._heading(), width, self.rich_style)
        index = y - 1 + int(self.scroll_offset.y)
        if index >= len(self.rows):
            nothing: Line = (("  No Case passes the filter; Esc shows all.", "dim"),)
            return strip_of(nothing if index == 0 else (), width, self.rich_style)
        return self._case_strip(index, width)

    def _heading(self) -> Line:
        assert self.page is not None
        at = self._layout
        more_left = "<" if self._left else " "
        line: Line = (
            ("  ", "plain"),
            self._word("case", fit(_HEADINGS["case"], at.name - 1)),
            (more_left, "accent"),
            *((column_name(run + 1, at.cell), "dim") for run in range(self._left, self._left + at.shown)),
        )
        hidden = self.page.columns - self._left - at.shown
        mean = fit("mean", at.mean - 1, right=True)
        line = (*line, (">" if hidden > 0 else " ", "accent"), self._word("mean", mean))
        if at.spread:
            line = (*line, self._word("spread", fit(self.page.spread_name, at.spread, right=True)))
        if at.delta:
            line = (*line, self._word("delta", fit("delta", at.delta, right=True)))
        return line

    def _word(self, order: str, text: str) -> tuple[str, str]:
        """Return a heading; that by which the rows are sorted is marked."""
        if self._order == order and order != "case":
            marked = text.replace(text.strip(), f"▾{text.strip()}")
            return (marked[1:] if marked.startswith(" ") else marked, "strong")
        return (text, "strong" if self._order == order else "dim")

    def _case_strip(self, index: int, width: int) -> Strip:
        row, at, base = self.rows[index], self._layout, self.rich_style
        here = index == self.row
        name = fit(label(row, at.name), at.name - 1)
        parts = [strip_of((("> " if here else "  ", "strong"), (name, "plain")), GUTTER + at.name, base)]
        for column in range(self._left, self._left + at.shown):
            cell = row.cells[column] if column < len(row.cells) else None
            marked = here and column == self.column
            over = Style(reverse=True) if marked and self.has_focus else Style(underline=True) if marked else None
            line = cell_line(cell, at.cell)
            gap = 0 if at.cell == TIGHT else 1
            parts.append(strip_of(line, at.cell - gap, base, over))
            if gap:  # in the colour of the cell, which saves the terminal a change of colours
                parts.append(strip_of(((" ", line[-1][1]),), 1, base))
        parts.append(strip_of(sum_line(row, at), at.sums, base))
        return Strip.join(parts).crop_extend(0, width, base)

    # Moving

    def move(self, row: int, column: int) -> None:
        """Put the cursor on a cell; jump half a page where it is out of sight."""
        if self.page is None or not self.rows:
            return
        old, left, top = (self.row, self.column), self._left, int(self.scroll_offset.y)
        self.row = max(0, min(len(self.rows) - 1, row))
        self.column = max(0, min(self.page.columns - 1, column))
        self.wanted = (self.rows[self.row].case_id, self.column + 1)
        if old == (self.row, self.column):
            return
        self._into_sight()
        if left != self._left:
            self.refresh()
        elif top == int(self.scroll_offset.y):
            self._paint_cursor(*old)
            self._paint_cursor(self.row, self.column)
        hand_up(self, self.Moved())

    def on_focus(self) -> None:
        self._paint_row(self.row)

    def on_blur(self) -> None:
        self._paint_row(self.row)

    def action_do(self, action_id: str) -> None:
        """Move, or hand on to the screen."""
        page = max(1, self.scrollable_content_region.height - 2)
        moves = {
            "nav.up": (self.row - 1, self.column),
            "nav.down": (self.row + 1, self.column),
            "nav.page_up": (self.row - page, self.column),
            "nav.page_down": (self.row + page, self.column),
            "nav.home": (0, self.column),
            "nav.end": (len(self.rows) - 1, self.column),
        }
        if action_id in moves:
            self.move(*moves[action_id])
        elif action_id == "open":
            if self.cell is not None:
                self.post_message(self.Opened(self.cell))
        elif action_id == "filter":
            self.post_message(self.FilterWanted())
        else:
            own_screen(self).run_action_by_id(action_id)


def _ids(rows: Sequence[MatrixRow]) -> list[str]:
    return [row.case_id for row in rows]
