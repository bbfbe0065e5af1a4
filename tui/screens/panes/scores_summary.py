"""The scores in small, beside the other panes where there is room: a bar each version."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from tui.palette import DECISIONS, bar, score_tone
from tui.screens.panes.base import Pane, points
from tui.widgets.bars import Bar
from tui.widgets.line_list import Row, RowList
from tui.widgets.spans import Line, fit


class Summary(Pane):
    """Never in focus; it can draw the first facts of a console that opens."""

    pane_id = "summary"
    early = True

    def parts(self) -> ComposeResult:
        yield RowList(id="summary-list")

    def title(self, context: str, right: Line = ()) -> None:
        self.query_one("#summary-title", Bar).show(
            (("   ", "plain"), ("Score", "title"), (f"  {context}", "plain")), right
        )

    def draw(self) -> None:
        rows = self.query_one("#summary-list", RowList)
        rows.can_focus = False
        self.title(self.view.board.benchmark_id)
        rows.show(self._rows)

    def _rows(self, width: int) -> Sequence[Row]:
        board = self.view.board
        if not board.rows:
            return [Row("empty", ((("No score yet.", "dim"),),), selectable=False)]
        room = max(4, width - 16)
        made: list[Row] = []
        for row in board.rows[-60:]:
            mark, tone = DECISIONS.get(row.what, ("?", "warn"))
            length = bar(row.score, room) if row.score is not None else ""
            made.append(
                Row(
                    row.key,
                    (((f"{mark} ", tone), (fit(f"v{row.version}", 5), "plain"),
                      (fit(points(row.score), 6, right=True), score_tone(row.score)), (" ", "plain"),
                      (length, tone)),),
                    selectable=False,
                )
            )  # fmt: skip
        visible = max(1, self.query_one("#summary-list", RowList).size.height)
        return made[-visible:]
