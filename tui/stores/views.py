"""What a whole pane shows, apart from what it is made of: the console starts with empty ones and imports no more.

A dataclass takes the better part of a millisecond to make, and the first paint waits for every one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.curation.promotion import CuratorInUse
    from core.curation.training_run import TrainingRun
    from tui.stores.inbox import Item
    from tui.stores.matrix_page import MatrixPage


@dataclass(frozen=True, slots=True)
class MatrixView:
    """Pages in order of time."""

    benchmark_id: str = ""
    pages: tuple[MatrixPage, ...] = ()


@dataclass(frozen=True, slots=True)
class InboxView:
    """`pending` is oldest first, `decided` newest first."""

    pending: tuple[Item, ...] = ()
    decided: tuple[Item, ...] = ()
    damaged: tuple[str, ...] = ()

    def item(self, item_id: str) -> Item | None:
        """Return an item by its id, open or decided."""
        return next((item for item in (*self.pending, *self.decided) if item.id == item_id), None)


@dataclass(frozen=True, slots=True)
class TrainingView:
    """Training runs, newest first, and the curator in use; `fault` says why that can't be told, "" where it can."""

    runs: tuple[TrainingRun, ...] = ()
    in_use: CuratorInUse | None = None
    fault: str = ""

    @property
    def live(self) -> tuple[TrainingRun, ...]:
        """The runs that are at work or paused."""
        return tuple(run for run in self.runs if run.state in ("starting", "running", "paused"))

    def run(self, run_id: str) -> TrainingRun | None:
        return next((run for run in self.runs if run.id == run_id), None)
