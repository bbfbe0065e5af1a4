"""The tail: the last records of the selected run's own Session, and what it is saying just now."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from tui.screens.panes.base import Pane
from tui.stores.sessions import RunLine
from tui.widgets.bars import Bar
from tui.widgets.line_list import Row, RowList
from tui.widgets.spans import Line, fit


class Tail(Pane):
    """Bounded, always at its end; nothing in it can be selected, so it never takes the focus."""

    pane_id = "tail"

    def __init__(self) -> None:
        super().__init__()
        self.run: RunLine | None = None
        self.held = False

    def hold(self) -> bool:
        """Hold what is shown, or go on with what came meanwhile; tell which."""
        self.held = not self.held
        if not self.held:
            self.redraw()
        return self.held

    def parts(self) -> ComposeResult:
        yield RowList(id="tail-list")

    def title(self, context: str, right: Line = ()) -> None:
        self.query_one("#tail-title", Bar).show(
            (
                ("   ", "plain"),
                ("Live" if self.run is None or self.run.is_live else "Ended", "title"),
                (f"  {context}", "plain"),
            ),
            right,
        )

    def of(self, run: RunLine | None) -> None:
        """Show the tail of a run."""
        if run != self.run:
            self.run = run
            if not self.held:
                self.redraw()

    def draw(self) -> None:
        rows = self.query_one("#tail-list", RowList)
        rows.can_focus = False
        if self.run is None:
            self.title("")
        else:
            self.title(f"{self.run.role}  {self.run.run_id}")
        rows.show(self._rows)

    def on_resize(self) -> None:
        self.redraw()

    def _rows(self, width: int) -> Sequence[Row]:
        run = self.run
        if run is None:
            return [Row("none", ((("What a run's Session does appears here.", "dim"),),), selectable=False)]
        lines: list[Line] = [
            (
                (f"{line.time} ", "dim"),
                (
                    fit(line.kind, 9),
                    "strong" if line.kind == "model" else "call" if line.kind == "calls" else line.tone,
                ),
                (line.text, "plain" if line.tone in ("call", "plain", "accent") else line.tone),
            )
            for line in run.tail
        ]
        lines += [(("   now   ", "mark"), (text, "plain")) for text in run.said]
        if run.state == "waiting":
            lines.append((("   waits for you: 6 opens the question", "mark"),))
        elif not run.is_live:
            lines.append(((f"   {run.state}", "dim"), (f": {run.reason}" if run.reason else "", "dim")))
        room = max(1, self.query_one("#tail-list", RowList).size.height)
        return [Row(f"{number}", (line,), selectable=False) for number, line in enumerate(lines[-room:])]
