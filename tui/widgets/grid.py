"""The Case matrix, drawn line by line: a cursor on a cell, and only the cells that changed painted."""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.actions import bindings
from tui.palette import MARKS, score_tone
from tui.screens.base import own_screen
from tui.stores.matrix import Cell, MatrixPage
from tui.widgets.spans import Line, fit, strip_of

CELL = 17
MEAN = 9


class Grid(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows are Cases, columns Runs.

    Invariant: `row` and `column` name a cell of `page`, or are 0 where there is none. The heading row does not scroll.
    """

    DEFAULT_CSS = """
    Grid { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; scrollbar-color: ansi_bright_black;
           scrollbar-background: ansi_default; scrollbar-color-hover: ansi_white; scrollbar-color-active: ansi_white;
           scrollbar-background-hover: ansi_default; scrollbar-background-active: ansi_default; }
    """
    BINDINGS = bindings("list", to="")

    class Moved(Message):
        """The cursor stands on another cell, or its cell changed."""

    class Opened(Message):
        """Enter on a cell."""

        def __init__(self, cell: Cell) -> None:
            self.cell = cell
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.page: MatrixPage | None = None
        self.row = self.column = 0

    @property
    def cell(self) -> Cell | None:
        """Return the cell under the cursor."""
        if self.page is None or self.row >= len(self.page.rows):
            return None
        cells = self.page.rows[self.row].cells
        return cells[self.column] if self.column < len(cells) else None

    def show(self, page: MatrixPage | None) -> None:
        """Show a page; the cursor keeps its Case and Run, and only lines that differ are painted."""
        old, self.page = self.page, page
        if page is None:
            self.refresh()
            return
        case_id = old.rows[self.row].case_id if old and self.row < len(old.rows) else ""
        self.row = next((i for i, row in enumerate(page.rows) if row.case_id == case_id), 0)
        self.column = max(0, min(self.column, page.columns - 1))
        self.virtual_size = Size(1, len(page.rows) + 1)
        if (
            old is None
            or [r.case_id for r in old.rows] != [r.case_id for r in page.rows]
            or old.columns != page.columns
        ):
            self.refresh()
        else:
            for index, (before, after) in enumerate(zip(old.rows, page.rows, strict=True)):
                if before != after:
                    self._paint(index)
        self.post_message(self.Moved())

    def _paint(self, index: int) -> None:
        self.refresh(Region(0, index + 1 - int(self.scroll_offset.y), self.size.width, 1))

    def _name_width(self, width: int) -> int:
        columns = self.page.columns if self.page else 1
        return max(14, min(44, width - 2 - columns * CELL - MEAN))

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        page = self.page
        if page is None:
            return strip_of((), width, self.rich_style)
        name = self._name_width(width)
        if y == 0:
            columns = "".join(fit(f"run {number}", CELL) for number in range(1, page.columns + 1))
            heading = f"  {fit('Case', name)}{columns}{fit('mean', MEAN - 1, right=True)}"
            return strip_of(((heading, "dim"),), width, self.rich_style)
        index = y - 1 + int(self.scroll_offset.y)
        if index >= len(page.rows):
            return strip_of((), width, self.rich_style)
        return self._case_line(index, name, width)

    def _case_line(self, index: int, name: int, width: int) -> Strip:
        assert self.page is not None
        row = self.page.rows[index]
        here = index == self.row
        label = row.case_id if row.title == row.case_id or name < 30 else f"{_number(row.case_id)} {row.title}"
        base = self.rich_style
        parts = [
            strip_of(
                ((("> " if here else "  "), "strong"), (fit(label, name - 1), "plain"), (" ", "plain")), name + 2, base
            )
        ]
        for column in range(self.page.columns):
            cell = row.cells[column] if column < len(row.cells) else None
            marked = here and column == self.column
            over = Style(reverse=True) if marked and self.has_focus else Style(underline=True) if marked else None
            parts.append(strip_of(cell_line(cell), CELL - 1, base, over))
            parts.append(strip_of((), 1, base))
        mean = "-" if row.mean is None else f"{row.mean:.2f}"
        parts.append(strip_of(((fit(mean, MEAN - 1, right=True), score_tone(row.mean)),), MEAN - 1, base))
        return Strip.join(parts).crop_extend(0, width, base)

    def move(self, row: int, column: int) -> None:
        """Put the cursor on a cell; jump half a page where its row is out of sight."""
        if self.page is None or not self.page.rows:
            return
        old = self.row, self.column
        self.row = max(0, min(len(self.page.rows) - 1, row))
        self.column = max(0, min(self.page.columns - 1, column))
        if old == (self.row, self.column):
            return
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height - 1
        if not top <= self.row < top + height:
            self.scroll_to(y=max(0, self.row - height // 2), animate=False, immediate=True)
        self._paint(old[0])
        self._paint(self.row)
        self.post_message(self.Moved())

    def go_to(self, case_id: str) -> None:
        """Put the cursor on a Case, if it is there."""
        rows = self.page.rows if self.page is not None else ()
        place = next((at for at, row in enumerate(rows) if row.case_id == case_id), None)
        if place is not None:
            self.move(place, self.column)

    def on_focus(self) -> None:
        self._paint(self.row)

    def on_blur(self) -> None:
        self._paint(self.row)

    def action_do(self, action_id: str) -> None:
        """Move, or hand on to the screen."""
        page = max(1, self.scrollable_content_region.height - 2)
        rows = len(self.page.rows) if self.page else 0
        moves = {
            "nav.up": (self.row - 1, self.column),
            "nav.down": (self.row + 1, self.column),
            "nav.page_up": (self.row - page, self.column),
            "nav.page_down": (self.row + page, self.column),
            "nav.home": (0, self.column),
            "nav.end": (rows - 1, self.column),
        }
        if action_id in moves:
            self.move(*moves[action_id])
        elif action_id == "open":
            if self.cell is not None:
                self.post_message(self.Opened(self.cell))
        elif action_id != "filter":
            own_screen(self).run_action_by_id(action_id)


def cell_line(cell: Cell | None) -> Line:
    """Return a cell as its mark and its score, or the word for its state."""
    if cell is None:
        return (("", "plain"),)
    mark, tone = MARKS.get(cell.state, ("?", "warn"))
    if cell.score is not None:
        word = f"{cell.score:6.2f}"
        return (
            (f"{mark} ", tone),
            (word, score_tone(cell.score)),
            (" reused" if cell.state == "reused" else "", "dim"),
        )
    return ((f"{mark} ", tone), (cell.state, tone))


def _number(case_id: str) -> str:
    """Return `CASE-004` of `CASE-004-delivery-report`."""
    return "-".join(case_id.split("-")[:2])
