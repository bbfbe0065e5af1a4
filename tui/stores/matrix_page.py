"""The Case matrix as data: pages of Cases x Runs. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A Case x Run. `state`: queued, running, scored, failed, interrupted, repairing, reused, or planned."""

    case_id: str
    run: int
    state: str
    score: float | None = None
    session_id: str = ""
    evaluator_id: str = ""
    duration_ms: int | None = None
    cost: float | None = None
    failure: str = ""
    reason: str = ""
    attempt: int = 0
    run_id: str = ""  # of the run whose journal tells of it, and its name there
    cell_id: str = ""
    before: float | None = None  # the same Case and Run in what the page is held against
    before_session: str = ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A Case: a cell each Run (None where there is none), and what they come to. `against` is the other's mean."""

    case_id: str
    title: str
    cells: tuple[Cell | None, ...]
    mean: float | None
    spread: float | None = None
    against: float | None = None
    delta: float | None = None

    @property
    def scores(self) -> tuple[float, ...]:
        """Scores of the Runs that have one."""
        return tuple(cell.score for cell in self.cells if cell is not None and cell.score is not None)


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """One matrix. `mean` is over the Cases scored so far; `complete` says that no cell is missing.

    `against` names what it is held against ("v3, the Reference"), `delta` is the difference over the `common` Cases,
    `noise` whether it lies within what Runs differ by (None: not known, as of one Run each). `short` is its name in a
    strip of pages. `left_ms` is about how long its open cells will take, `alarm` why it is no result.
    """

    key: str
    title: str
    note: str
    version: int | None
    columns: int
    rows: tuple[MatrixRow, ...]
    mean: float | None
    complete: bool
    live: bool = False
    short: str = ""
    run_id: str = ""
    stage: str = ""
    index: int = 0
    model: tuple[str, ...] = ()
    spread_name: str = "range"
    against: str = ""
    not_comparable: str = ""
    delta: float | None = None
    common: int = 0
    noise: bool | None = None
    left_ms: int | None = None
    alarm: str = ""
    run_lives: bool = False

    @property
    def states(self) -> tuple[str, ...]:
        """State of each cell."""
        return tuple(cell.state for row in self.rows for cell in row.cells if cell is not None)
