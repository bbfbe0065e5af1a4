"""Pane 7: two states of an agent side by side, file by file."""

from __future__ import annotations

from textual.app import ComposeResult

from tui.actions import bindings
from tui.screens.panes.base import Pane
from tui.stores.diff import Side
from tui.widgets.spans import plain
from tui.widgets.wrapped_text import WrappedText


class DiffPane(Pane):
    """Shows what differs between two states."""

    pane_id = "diff"
    BINDINGS = bindings("diff")

    def parts(self) -> ComposeResult:
        yield WrappedText(id="diff-text")

    def compare(self, left: Side, right: Side, file: str = "") -> None:
        """Compare two sides; `file` is shown first."""

    def draw(self) -> None:
        self.title("nothing compared yet")
        self.query_one("#diff-text", WrappedText).show(
            plain(["Choose a version in Versions (5) or Scores (4)."], "dim"), "empty"
        )
