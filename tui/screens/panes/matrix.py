"""Pane 2: Cases x Runs of a pilot, a round or an evaluation, and what is known of the cell under the cursor."""

from __future__ import annotations

from textual.app import ComposeResult

from tui.actions import bindings
from tui.palette import score_tone
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, TraceWanted, points, span_of
from tui.stores.matrix import Cell, MatrixPage
from tui.widgets.bars import Bar, Rule
from tui.widgets.grid import Grid
from tui.widgets.spans import Line, joined, plain
from tui.widgets.wrapped_text import WrappedText

_STATES = {
    "planned": "planned; not run yet",
    "queued": "waits for its turn",
    "running": "running now",
    "scored": "scored",
    "reused": "unchanged since an earlier pilot: its score counts on, nothing was run",
    "failed": "failed: no score, which is not a zero",
    "interrupted": "interrupted; it runs again when the run is resumed",
    "repairing": "being repaired: it failed and runs again",
}


class MatrixPane(Pane):
    """Follows the newest page until the operator flips back; flipping to the newest follows again."""

    pane_id = "matrix"
    BINDINGS = bindings("matrix")

    def __init__(self) -> None:
        super().__init__()
        self._at: str | None = None  # None: the newest

    def parts(self) -> ComposeResult:
        yield Bar(id="matrix-head")
        yield Grid(id="matrix-grid")
        yield Rule(id="matrix-rule")
        yield WrappedText(id="matrix-detail")

    @property
    def page(self) -> MatrixPage | None:
        """Return the page in sight."""
        pages = self.view.matrix.pages
        if not pages:
            return None
        return next((page for page in pages if page.key == self._at), pages[-1])

    def draw(self) -> None:
        pages, page = self.view.matrix.pages, self.page
        self.title(self.view.matrix.benchmark_id, ((f"{pages.index(page) + 1}/{len(pages)} ", "dim"),) if page else ())
        head = self.query_one("#matrix-head", Bar)
        if page is None:
            head.show(((" Nothing measured yet.", "dim"),))
        else:
            mean: Line = (("mean ", "dim"), (points(page.mean), score_tone(page.mean)))
            if not page.complete:
                mean = (*mean, (" so far", "dim"))
            tone = "warn" if page.live else "bad" if page.note.startswith("rejected") else "plain"
            head.show(((f" {page.title}", "strong"), ("  ", "plain"), (page.note, tone)), (*mean, (" ", "plain")))
        self.query_one(Grid).show(page)
        self._detail()

    def _detail(self) -> None:
        text = self.query_one("#matrix-detail", WrappedText)
        cell, page = self.query_one(Grid).cell, self.page
        if page is None:
            lines = plain(
                [
                    "A matrix shows each Case of a benchmark against its runs, as they are measured.",
                    "Let a Builder make a benchmark: exuvia build, or see the whole loop: exuvia demo",
                ],
                "dim",
            )
            self.query_one("#matrix-rule", Rule).show(())
            text.show(lines, "empty")
            return
        if cell is None:
            return
        row = next((row for row in page.rows if row.case_id == cell.case_id), None)
        self.query_one("#matrix-rule", Rule).show(((f"{cell.case_id} run {cell.run}", "strong"),))
        text.show(_cell_lines(cell, row.title if row else ""), (page.key, cell.case_id, cell.run))

    def on_grid_moved(self) -> None:
        if own_screen(self).stands:
            self._detail()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self._open(event.cell, event.cell.session_id, "Target")

    def _open(self, cell: Cell, session_id: str, role: str) -> None:
        page = self.page
        about = f"{role} of {cell.case_id} run {cell.run}, {page.title if page else ''}"
        if cell.score is not None:
            about += f": {points(cell.score)}"
        self.post_message(TraceWanted(session_id, about))

    def do_page_older(self) -> None:
        self._flip(-1)

    def do_page_newer(self) -> None:
        self._flip(1)

    def _flip(self, step: int) -> None:
        pages, page = self.view.matrix.pages, self.page
        if page is not None:
            at = max(0, min(len(pages) - 1, pages.index(page) + step))
            self._at = None if at == len(pages) - 1 else pages[at].key
            self.draw()

    def do_nav_left(self) -> None:
        grid = self.query_one(Grid)
        grid.move(grid.row, grid.column - 1)

    def do_nav_right(self) -> None:
        grid = self.query_one(Grid)
        grid.move(grid.row, grid.column + 1)

    def do_evaluator(self) -> None:
        cell = self.query_one(Grid).cell
        if cell is not None:
            self._open(cell, cell.evaluator_id, "Evaluator")

    def version_in_sight(self) -> int | None:
        return None


def _cell_lines(cell: Cell, title: str) -> list[Line]:
    lines: list[Line] = []
    if title and title != cell.case_id:
        lines.append(((title, "plain"),))
    state = _STATES.get(cell.state, cell.state)
    score: Line = ((points(cell.score), score_tone(cell.score)), (" points", "dim")) if cell.score is not None else ()
    lines.append(((state, "plain"), *((("  ", "plain"), *score) if score else ())))
    if cell.failure:
        lines.append(((cell.failure.replace("_", " "), "bad"), (f": {cell.reason}" if cell.reason else "", "plain")))
    if cell.score is not None or cell.duration_ms is not None:
        cost = "cost unknown" if cell.cost is None else f"${cell.cost:.4f}"
        tries = f"attempt {cell.attempt}" if cell.attempt > 1 else ""
        lines.append(joined([(span_of(cell.duration_ms), "dim"), (cost, "dim"), (tries, "warn")]))
    if cell.session_id:
        lines.append((("Target    ", "dim"), (cell.session_id, "plain"), ("   Enter opens its trace", "dim")))
    if cell.evaluator_id:
        lines.append((("Evaluator ", "dim"), (cell.evaluator_id, "plain"), ("   e opens it", "dim")))
    return lines
