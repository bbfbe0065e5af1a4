"""What a whole pane shows, apart from most of what it is made of: the console starts with these and imports no more.

A dataclass takes the better part of a millisecond to make, and the first paint waits for every one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.curation.promotion import CuratorInUse
    from core.curation.training_run import TrainingRun
    from core.state.timeline import Change
    from core.strategy.bank.inventory import Inventory
    from core.strategy.bank.journal import Journal
    from core.strategy.documents.release import BankSettings
    from core.strategy.execution.records import Execution
    from tui.stores.board_rows import BoardEvent, CaseOutcome
    from tui.stores.inbox import Item
    from tui.stores.matrix_page import MatrixPage
    from tui.stores.strategies_lines import StrategyLine
    from tui.stores.versions import VersionRow


@dataclass(frozen=True, slots=True)
class MatrixView:
    """Pages in order of time."""

    benchmark_id: str = ""
    pages: tuple[MatrixPage, ...] = ()


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A version that was measured or tried, or a line of the scoreboard that counts for nothing.

    `what`: baseline, evaluation, accepted, rejected, unevaluable, measuring, or dropped (then `note` says why and `raw`
    is its text). `held` tells whether the prediction came true, `supported` whether the observation supports the
    hypothesis; None where nobody said. `score` is the stored one and drives every view; `recomputed` is set where its
    Cases give another. `noise` tells whether the change lies within what Runs differ by; None where that is unknown.
    `measured` of `planned` cells have a score while it is being measured.
    """

    key: str
    version: int
    what: str
    score: float | None
    reference: float | None
    time: str
    proposer: str = ""
    hypothesis: str = ""
    note: str = ""
    runtime: str = ""
    held: bool | None = None
    supported: bool | None = None
    cases: tuple[CaseOutcome, ...] = ()
    edits: tuple[str, ...] = ()
    session_id: str = ""
    provider: str = ""
    model_id: str = ""
    thinking: str = ""
    cost: float | None = None
    duration_ms: int | None = None
    reference_version: int | None = None
    run_id: str = ""
    recomputed: float | None = None
    noise: bool | None = None
    measured: int = 0
    planned: int = 0
    raw: str = ""

    @property
    def delta(self) -> float | None:
        """Points above the Reference, or above the evaluation before."""
        from tui.stores.matrix_facts import difference  # after the first paint

        return difference(self.score, self.reference)

    @property
    def is_stored(self) -> bool:
        """Whether it stands on the scoreboard, and is not only known from ledger or run."""
        return self.key.startswith(("evaluation:", "dropped:"))


@dataclass(frozen=True, slots=True)
class BoardView:
    """`curve` is the stored score of each evaluation in file order; `heldout` baseline and final where measured.

    `target` is the score that the newest Optimizer works towards, `events` the rollbacks and undos of the operator,
    `dropped` what stands on the scoreboard and does not count.
    """

    agent_id: str = ""
    benchmark_id: str = ""
    title: str = ""
    rows: tuple[BoardRow, ...] = ()
    curve: tuple[tuple[int, float], ...] = ()
    heldout: tuple[tuple[str, int, float | None], ...] = ()
    freeze: str = ""
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_rehearsal: bool = False
    is_example: bool = False
    target: float | None = None
    events: tuple[BoardEvent, ...] = ()
    dropped: tuple[BoardRow, ...] = ()

    @property
    def latest(self) -> float | None:
        return self.curve[-1][1] if self.curve else None


@dataclass(frozen=True, slots=True)
class VersionsView:
    """The versions of an agent, newest first, and every change of it, oldest first (`changes`).

    `target` is where a rollback goes unasked, `undo` what `u` takes back ("" where nothing, or where the state was
    changed since, so that it would be refused), `content` the hash of the present state, `edited` the files that differ
    from what was kept of it, `preserved` whether they are kept beside.
    """

    agent_id: str = ""
    present: int | None = None
    drift: str = ""
    edited: tuple[str, ...] = ()
    rows: tuple[VersionRow, ...] = ()
    target: int | None = None
    undo: str = ""
    pending: str = ""
    trouble: str = ""
    content: str = ""
    preserved: bool = False
    changes: tuple[Change, ...] = ()


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


@dataclass(frozen=True, slots=True)
class StrategiesView:
    """The bank of strategies by id, and what was tracked of it.

    `serial` differs wherever anything else does, so that two views are compared by it alone. `unread` strategies are
    still to be read (a large bank is read in parts). `executions` are the latest, oldest first; `more` says that older
    ones are left out. `findings` are lines and files that could not be taken. `checked` tells whether skills' schemas
    are known, so that conditions and calls were checked too; `fault` why bank.yaml can't be taken, "" where it can.
    """

    serial: int = 0
    lines: tuple[StrategyLine, ...] = ()
    unread: int = 0
    settings: BankSettings | None = None
    journal: Journal | None = None
    inventory: Inventory | None = None
    executions: tuple[Execution, ...] = ()
    more: bool = False
    findings: tuple[str, ...] = ()
    checked: bool = False
    fault: str = ""

    def line(self, strategy_id: str) -> StrategyLine | None:
        """Return a strategy by its id."""
        return next((one for one in self.lines if one.id == strategy_id), None)
