"""Pane 2: Cases x Runs of a pilot, a round or an evaluation, and the cell under the cursor, opened by Enter."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widget import Widget

from tui.actions import bindings
from tui.messages import Said
from tui.screens.base import own_screen
from tui.screens.panes import matrix_words
from tui.screens.panes.base import Pane, TraceWanted, points
from tui.screens.panes.matrix_open import OpenCell
from tui.screens.panes.matrix_reading import grid_text
from tui.stores.matrix_order import ORDERS, failures, ordered, wanted
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.widgets.bars import Bar
from tui.widgets.facts import Facts
from tui.widgets.grid import Grid
from tui.widgets.prompt import Prompt
from tui.widgets.spans import plain
from tui.widgets.wrapped_text import WrappedText

_EMPTY = (
    "A matrix shows each Case of a benchmark against its Runs, as they are measured.",
    "Let a Builder make a benchmark: exuvia build, or see the whole loop: exuvia demo",
)


class MatrixPane(Pane):
    """Follows the newest page until the operator flips back; flipping to the newest follows again.

    Invariant: `opened` is the Case and Run whose cell is open, None while the grid is in sight.
    """

    pane_id = "matrix"
    BINDINGS = bindings("matrix")

    def __init__(self) -> None:
        super().__init__()
        self._at: str | None = None  # None: the newest
        self._order = ORDERS[0]
        self._filter = ""
        self.opened: tuple[str, int] | None = None

    def parts(self) -> ComposeResult:
        yield Bar(id="matrix-head")
        yield Bar(id="matrix-state")
        yield Bar(id="matrix-pages")
        yield Bar(id="matrix-alarm")
        yield Grid(id="matrix-grid")
        yield WrappedText(id="matrix-empty")
        yield Facts(id="matrix-facts")
        yield OpenCell(id="matrix-cell")

    # What is in sight

    @property
    def page(self) -> MatrixPage | None:
        """Return the page in sight."""
        pages = self.view.matrix.pages
        if not pages:
            return None
        return next((page for page in pages if page.key == self._at), pages[-1])

    @property
    def row(self) -> MatrixRow | None:
        """Return the Case that is open, else the one under the cursor."""
        if self.opened is None:
            return self.query_one(Grid).row_at
        rows = self.page.rows if self.page else ()
        return next((row for row in rows if row.case_id == self.opened[0]), None)

    @property
    def cell(self) -> Cell | None:
        """Return the cell that is open, else the one under the cursor."""
        if self.opened is None:
            return self.query_one(Grid).cell
        row, run = self.row, self.opened[1]
        return row.cells[run - 1] if row is not None and run <= len(row.cells) else None

    def draw(self) -> None:
        pages, page = self.view.matrix.pages, self.page
        self.title(self.view.matrix.benchmark_id, ((f"{pages.index(page) + 1}/{len(pages)} ", "dim"),) if page else ())
        if self.opened is not None and self.cell is None:
            self._close()
        self._arrange()
        if page is None:
            board = self.view.board
            lost = [f"scoreboard.yaml, {row.note}" for row in board.dropped]
            trouble = next(iter((*lost, *board.notes)), "")
            head = (f" {trouble}", "warn") if trouble else (" Nothing measured yet.", "dim")
            self.query_one("#matrix-head", Bar).show((head,))
            self.query_one("#matrix-empty", WrappedText).show(plain(_EMPTY, "dim"), "empty")
            self.query_one(Grid).show(None)
            return
        rows = [row for row in ordered(page.rows, self._order) if wanted(self._filter)(row)]
        self.query_one("#matrix-head", Bar).show(*matrix_words.head(page))
        self.query_one("#matrix-state", Bar).show(*matrix_words.state(page, len(rows), self._order, self._filter))
        strip = matrix_words.strip(pages, pages.index(page), self.size.width or 80)
        self.query_one("#matrix-pages", Bar).show(strip)
        self.query_one("#matrix-alarm", Bar).show(matrix_words.alarm(page) if page.alarm else ())
        self.query_one(Grid).show(page, rows, self._order)
        self._facts()
        if self.opened is not None:
            self._draw_cell()

    def _arrange(self) -> None:
        """Show the grid or the open cell, and only those lines that say something."""
        page, opened = self.page, self.opened is not None
        grid = page is not None and not opened
        tall = self.size.height >= 24
        for name, is_shown in {
            "matrix-head": not opened,
            "matrix-state": grid,
            "matrix-pages": grid and tall and len(self.view.matrix.pages) > 1,
            "matrix-alarm": grid and page is not None and bool(page.alarm),
            "matrix-grid": grid,
            "matrix-facts": grid,
            "matrix-empty": page is None,
            "matrix-cell": opened,
        }.items():
            widget = self.query_one(f"#{name}", Widget)
            if widget.display != is_shown:
                widget.display = is_shown

    def on_resize(self) -> None:
        if own_screen(self).stands and self.display:
            self.call_after_refresh(self.redraw)

    def _facts(self) -> None:
        cell, row, page = self.query_one(Grid).cell, self.query_one(Grid).row_at, self.page
        if page is None or row is None:
            self.query_one(Facts).show(())
        elif cell is None:
            self.query_one(Facts).show(plain([f" {row.case_id}: no such Run on this page"], "dim"))
        else:
            self.query_one(Facts).show(matrix_words.facts(cell, row, page))

    def on_grid_moved(self) -> None:
        if own_screen(self).stands:
            self._facts()

    # The open cell

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self._open(event.cell)

    def _open(self, cell: Cell) -> None:
        self.opened = (cell.case_id, cell.run)
        self.query_one(OpenCell).forget()
        self.draw()
        own_screen(self).restore_focus()
        own_screen(self).lines()

    def useless(self) -> frozenset[str]:
        return frozenset() if self.opened is None else frozenset({"sort", "failure.next"})

    def _close(self) -> None:
        if self.opened is not None:
            case_id, run = self.opened
            self.opened = None
            self.query_one(OpenCell).forget()
            self.query_one(Grid).go_to(case_id, run)

    def _draw_cell(self) -> None:
        cell, row, page, subject = self.cell, self.row, self.page, self.view.subject
        if cell is not None and row is not None and page is not None and subject is not None:
            shown = self.query_one(OpenCell)
            shown.show(cell, row, page, subject)
            if shown.is_beside:
                shown.set_beside(self._cell_of(cell.before_session), subject)

    def on_open_cell_traced(self, event: OpenCell.Traced) -> None:
        event.stop()
        self._trace(event.role)

    # Actions

    def go_back(self) -> bool:
        """Leave the text of a row, the open cell, the filter: one at a time."""
        shown = self.query_one(OpenCell)
        if self.opened is not None and shown.text.has_focus:
            shown.rows.focus()
        elif self.opened is not None:
            self._close()
            self.draw()
            self.query_one(Grid).focus()
        elif self._filter:
            self._filter = ""
            self.draw()
        else:
            return False
        return True

    def first_focus(self) -> Widget | None:
        if not self.query(Grid):
            return None
        return self.query_one(Grid) if self.opened is None else self.query_one(OpenCell).rows

    def do_page_older(self) -> None:
        self._flip(-1)

    def do_page_newer(self) -> None:
        self._flip(1)

    def _flip(self, step: int) -> None:
        pages, page = self.view.matrix.pages, self.page
        if page is None:
            return
        at = max(0, min(len(pages) - 1, pages.index(page) + step))
        if pages[at] is page:
            self.post_message(Said(f"That is the {'oldest' if step < 0 else 'newest'} page."))
            return
        self._at = None if at == len(pages) - 1 else pages[at].key
        was = self.opened
        self.draw()
        if was is not None and self.opened is None:
            self.post_message(Said(f"{was[0]} run {was[1]} is not on this page."))
            self.query_one(Grid).focus()

    def do_nav_left(self) -> None:
        self._sideways(-1)

    def do_nav_right(self) -> None:
        self._sideways(1)

    def _sideways(self, step: int) -> None:
        grid = self.query_one(Grid)
        if self.opened is None:
            grid.move(grid.row, grid.column + step)
            return
        row, run = self.row, self.opened[1] + step
        if row is not None and 1 <= run <= len(row.cells) and (cell := row.cells[run - 1]) is not None:
            self._open(cell)

    def do_sort(self) -> None:
        if self.opened is not None:
            self.post_message(Said("s sorts the Cases: Esc leads back to them."))
            return
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self.draw()

    def on_grid_filter_wanted(self, event: Grid.FilterWanted) -> None:
        event.stop()

        def told(text: str | None) -> None:
            if text is not None:
                self._filter = " ".join(text.split())
                self.draw()
            self.query_one(Grid).focus()

        question = "Cases with (text, !text, <50, >80, state:failed):"
        self.screen.query_one(Prompt).ask(question, told, self._filter)

    def do_failure_next(self) -> None:
        self._failure(1)

    def do_failure_previous(self) -> None:
        self._failure(-1)

    def _failure(self, step: int) -> None:
        """Go to the next failed cell in reading order, round the end; to the lowest where none failed."""
        if self.opened is not None:
            self.post_message(Said("f goes through the cells of the matrix: Esc leads back to it."))
            return
        grid = self.query_one(Grid)
        places = [(r, c) for r, row in enumerate(grid.rows) for c, cell in enumerate(row.cells) if cell is not None]
        broken = [(r, c) for r, c in places if failures(grid.rows[r]) and _is_broken(grid.rows[r].cells[c])]
        if not places:
            return
        if not broken:
            scored = [
                (cell.score, at) for at in places if (cell := grid.rows[at[0]].cells[at[1]]) and cell.score is not None
            ]
            if scored:
                grid.move(*min(scored, key=lambda found: found[0] if found[0] is not None else 101.0)[1])
                self.post_message(Said("No cell failed; this is the lowest."))
            return
        here = (grid.row, grid.column)
        ahead = [at for at in broken if (at > here if step > 0 else at < here)]
        grid.move(*((ahead or broken)[0 if step > 0 else -1]))

    def do_cell_compare(self) -> None:
        grid, shown, subject = self.query_one(Grid), self.query_one(OpenCell), self.view.subject
        if self.opened is None and grid.cell is not None:
            self._open(grid.cell)
        cell = self.cell
        if self.opened is None or cell is None or subject is None:
            return
        if shown.is_beside:
            shown.set_beside(None, subject)
        elif (earlier := self._cell_of(cell.before_session)) is None:
            self.post_message(Said("There is no earlier measurement of this Case and Run to set beside it."))
        else:
            shown.set_beside(earlier, subject)

    def _cell_of(self, session_id: str) -> Cell | None:
        """Return the cell that a Target's Session filled, on whichever page it is; None where there is none."""
        if not session_id:
            return None
        for page in self.view.matrix.pages:
            for row in page.rows:
                for cell in row.cells:
                    if cell is not None and cell.session_id == session_id:
                        return cell
        return None

    def do_target(self) -> None:
        self._trace("target")

    def do_evaluator(self) -> None:
        self._trace("evaluator")

    def _trace(self, role: str) -> None:
        cell, page = self.cell, self.page
        if cell is None or page is None:
            return
        about = f"{role.title()} of {cell.case_id} run {cell.run}, {page.title}"
        if cell.score is not None:
            about += f": {points(cell.score)}"
        self.post_message(TraceWanted(cell.session_id if role == "target" else cell.evaluator_id, about))

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        cell = self.cell
        if cell is None:
            return None
        if whole and self.opened is None and self.page is not None:
            return grid_text(self.page, self.query_one(Grid).rows), "the matrix"
        if whole:
            return self.reading(), f"all of {cell.case_id} run {cell.run}"
        return (cell.session_id, "the Target's session id") if cell.session_id else None

    def reading(self) -> str:
        if self.opened is None:
            return grid_text(self.page, self.query_one(Grid).rows) if self.page is not None else ""
        return self.query_one(OpenCell).reading()

    def version_in_sight(self) -> int | None:
        return None


def _is_broken(cell: Cell | None) -> bool:
    return cell is not None and cell.state in ("failed", "interrupted")
