"""An open cell on screen: its rows, the text of the row under the cursor, and the reading behind them."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from tui.messages import ReadWanted
from tui.screens.base import own_screen
from tui.screens.panes import matrix_cell
from tui.screens.panes.matrix_reading import CellRead, FileRead, read_one, read_preview
from tui.stores.cell import CellPage
from tui.stores.kept_files import Preview
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.stores.runs import Subject
from tui.widgets.bars import Bar, Rule
from tui.widgets.line_list import LineList, RowList
from tui.widgets.wrapped_text import WrappedText


class OpenCell(Vertical):
    """Shows one cell, read again whenever it changes.

    Invariant: what was read (`_found`, `_other`, `_preview`) belongs to `_cell`, or is None while it is being read.
    """

    DEFAULT_CSS = """
    OpenCell { height: 1fr; }
    OpenCell #cell-list { height: 1fr; }
    OpenCell #cell-text { height: 33%; min-height: 5; }
    """

    class Traced(Message):
        """The operator wants the trace of the cell's `role`: target or evaluator."""

        def __init__(self, role: str) -> None:
            self.role = role
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._cell: Cell | None = None
        self._row: MatrixRow | None = None
        self._page: MatrixPage | None = None
        self._found: CellPage | None = None
        self._earlier: Cell | None = None
        self._other: CellPage | None = None
        self._preview: Preview | None = None

    def compose(self) -> ComposeResult:
        yield Bar(id="cell-head")
        yield RowList(id="cell-list")
        yield Rule(id="cell-rule")
        yield WrappedText(id="cell-text")

    @property
    def rows(self) -> RowList:
        """The rows of the cell."""
        return self.query_one("#cell-list", RowList)

    @property
    def text(self) -> WrappedText:
        """The text of the row under the cursor."""
        return self.query_one("#cell-text", WrappedText)

    @property
    def is_beside(self) -> bool:
        """Whether the Reference's cell is set beside it."""
        return self._earlier is not None

    def forget(self) -> None:
        """Drop what was read; the next cell is another one."""
        self._cell = self._found = self._earlier = self._other = self._preview = None
        self.rows.set_filter("")
        self.rows.go_to("verdict")

    def show(self, cell: Cell, row: MatrixRow, page: MatrixPage, subject: Subject) -> None:
        """Show a cell, and read it where it is not as it was."""
        self._row, self._page = row, page
        if cell != self._cell:
            if self._cell is not None and (cell.case_id, cell.session_id) != (
                self._cell.case_id,
                self._cell.session_id,
            ):
                self._found = self._preview = None
            self._cell = cell
            self._read(cell, subject)
        self._draw()

    def set_beside(self, earlier: Cell | None, subject: Subject) -> None:
        """Set another cell beside it, or none."""
        if earlier != self._earlier:
            self._earlier, self._other = earlier, None
            if earlier is not None:
                self._read(earlier, subject)
        self._draw()

    def reading(self) -> str:
        """Return all of it as text."""
        if self._cell is None:
            return ""
        listed = matrix_cell.rows(self._cell, self._found, self._other, 400)
        lines = [f"{self._cell.case_id} run {self._cell.run}"]
        lines += ["".join(text for text, _ in line).rstrip() for row in listed for line in row.lines]
        if self._found is not None and self._found.answer:
            lines += ["", "The Evaluator's answer", self._found.answer]
        return "\n".join(lines) + "\n"

    def _read(self, cell: Cell, subject: Subject) -> None:
        # To the screen itself: what the pane above has us say would not rise through the pane again.
        own_screen(self).post_message(ReadWanted(read_one(subject, cell), self, f"reading {cell.case_id}"))

    def on_cell_read(self, event: CellRead) -> None:
        event.stop()
        if event.cell == self._cell:
            self._found = event.page
        elif event.cell == self._earlier:
            self._other = event.page
        else:
            return  # of a cell that is open no more
        if own_screen(self).stands and self.display:
            self._draw()

    def on_file_read(self, event: FileRead) -> None:
        event.stop()
        if own_screen(self).stands and self._found is not None and event.workspace == self._found.workspace:
            self._preview = event.preview
            self._tell()

    def _draw(self) -> None:
        cell, row, page = self._cell, self._row, self._page
        if cell is None or row is None or page is None:
            return
        title = "" if row.title == row.case_id else f"  {row.title}"
        self.query_one("#cell-head", Bar).show(
            ((f" {cell.case_id} run {cell.run}", "strong"), (title, "plain"), (f"  {page.title}", "dim")),
            ((f"beside {page.against}  ", "accent"), ("d ends it ", "dim"))
            if self.is_beside
            else (("Esc back ", "dim"),),
        )
        self.rows.show(partial(matrix_cell.rows, cell, self._found, self._other))
        self._tell()

    def _tell(self) -> None:
        """Show what the row under the cursor says at length; a file is read when the cursor first stands on it."""
        cell, row, key = self._cell, self._row, self.rows.key
        if cell is None or row is None:
            return
        kind, _, name = key.partition(":")
        found = self._found
        if kind == "file" and found is not None and (self._preview is None or self._preview.path != name):
            kept = next((kept for kept in found.files if kept.path == name), None)
            if kept is not None and kept.what not in ("removed", "link", "special"):
                own_screen(self).post_message(ReadWanted(read_preview(found.workspace, name), self, f"reading {name}"))
        self._rule()
        lines = matrix_cell.text_of(key, cell, found, self._page, row.title, self._preview)
        self.text.show(lines, (cell.case_id, cell.run, key))

    def _rule(self) -> None:
        """Name what the text is of, and the way back from it while the keys go to it."""
        kind, _, name = self.rows.key.partition(":")
        told = f"item {name}" if kind == "item" else name or kind
        way = "  Up Down scroll it, Esc to the rows" if self.text.has_focus else ""
        self.query_one("#cell-rule", Rule).show(((told, "strong"), (way, "accent")))

    def on_descendant_focus(self) -> None:
        self._refocused()

    def on_descendant_blur(self) -> None:
        self._refocused()

    def _refocused(self) -> None:
        if own_screen(self).stands and self.display and self._cell is not None:
            self._rule()

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands and self.display:
            self._tell()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        if event.key in ("target", "evaluator"):
            self.post_message(self.Traced(event.key))
        else:
            self.text.focus()
