"""Which panes there are, and where each is made. A new one is a line here and a line in `tui.actions.PANES`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tui.screens.panes.base import Pane

NUMBERED: Mapping[str, str] = {
    "sessions": "tui.screens.panes.sessions.SessionsPane",
    "matrix": "tui.screens.panes.matrix.MatrixPane",
    "trace": "tui.screens.panes.trace.TracePane",
    "scores": "tui.screens.panes.scores.ScoresPane",
    "versions": "tui.screens.panes.versions.VersionsPane",
    "inbox": "tui.screens.panes.inbox.InboxPane",
    "diff": "tui.screens.panes.diff.DiffPane",
    "training": "tui.screens.panes.training.TrainingPane",
    "strategies": "tui.screens.panes.strategies.StrategiesPane",
}
"""Reached by their digits, in this order."""

BESIDE: Mapping[str, str] = {
    "summary": "tui.screens.panes.scores_summary.Summary",
    "tail": "tui.screens.panes.tail.Tail",
}
"""Beside the others where there is room; never in focus."""


def make(pane_id: str) -> Pane:
    """Make a pane. Its module is imported now: the first paint waits only for the panes that it shows."""
    module, _, name = {**NUMBERED, **BESIDE}[pane_id].rpartition(".")
    pane = getattr(import_module(module), name)()
    assert isinstance(pane, Pane)
    return pane
