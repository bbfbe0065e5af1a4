"""Which panes there are. A new one is a line here and a line in `tui.actions.PANES`."""

from __future__ import annotations

from tui.screens.panes.base import Pane
from tui.screens.panes.diff import DiffPane
from tui.screens.panes.inbox import InboxPane
from tui.screens.panes.matrix import MatrixPane
from tui.screens.panes.scores import ScoresPane, Summary
from tui.screens.panes.sessions import SessionsPane
from tui.screens.panes.tail import Tail
from tui.screens.panes.trace import TracePane
from tui.screens.panes.versions import VersionsPane

NUMBERED: tuple[type[Pane], ...] = (
    SessionsPane,
    MatrixPane,
    TracePane,
    ScoresPane,
    VersionsPane,
    InboxPane,
    DiffPane,
)
"""Reached by their digits, in this order; the trainer's and the strategies' follow."""

BESIDE: tuple[type[Pane], ...] = (Summary, Tail)
"""Beside the others where there is room; never in focus."""
