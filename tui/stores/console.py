"""All views together, loaded in one go so that they agree with each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from core.state.paths import ProjectPaths
from tui.stores.runs import Runs, Subject, choose, subjects, trained_last
from tui.stores.session_lines import SessionsView
from tui.stores.views import BoardView, InboxView, MatrixView, StrategiesView, TrainingView, VersionsView

if TYPE_CHECKING:
    from tui.stores.inbox import InboxStore
    from tui.stores.matrix import MatrixStore
    from tui.stores.sessions import SessionsStore
    from tui.stores.strategies import StrategiesStore
    from tui.stores.training import TrainingStore

Topic = str
TOPICS: frozenset[Topic] = frozenset({"sessions", "matrix", "board", "versions", "inbox", "training", "strategies"})

WAKES: dict[str, frozenset[Topic]] = {
    "run": frozenset({"sessions", "matrix", "board"}),
    "live": frozenset({"sessions"}),
    "trace": frozenset({"sessions"}),
    "scoreboard": frozenset({"matrix", "board", "versions"}),
    "benchmark": frozenset({"matrix", "board", "inbox"}),
    "agent": frozenset({"versions", "strategies"}),
    "snapshot": frozenset({"versions"}),
    "approval": frozenset({"sessions", "inbox"}),
    "training": frozenset({"training"}),
    "strategy": frozenset({"strategies"}),
    "other": frozenset({"board", "versions"}),
}
"""Which views a kind of change on disk (core.state.watch) makes stale."""


@dataclass(frozen=True, slots=True)
class ConsoleView:
    """What the screen shows. Two that are equal look the same, so nothing is painted for the second.

    `reading` says that these are the first facts only, with the number of questions `waiting` for a decision, and the
    rest is being read (tui.stores.glance). `trained_last` says that what was last worked on is a training run. `fault`
    says why nothing newer could be read, "" where it could.
    """

    project_id: str = ""
    subject: Subject | None = None
    subjects: tuple[Subject, ...] = ()
    sessions: SessionsView = field(default_factory=SessionsView)
    matrix: MatrixView = field(default_factory=MatrixView)
    board: BoardView = field(default_factory=BoardView)
    versions: VersionsView = field(default_factory=VersionsView)
    inbox: InboxView = field(default_factory=InboxView)
    training: TrainingView = field(default_factory=TrainingView)
    strategies: StrategiesView = field(default_factory=StrategiesView)
    waiting: int = 0
    reading: bool = False
    fault: str = ""
    trained_last: bool = False


class ConsoleStore:
    """Loads views. Invariant: `view` is the newest; one thread at a time calls `load`."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self.runs = Runs(project)
        self.view = ConsoleView(project.id)
        self.chosen: Subject | None = None

    # What loads is imported by the first load, which comes after the first paint.

    @cached_property
    def _sessions(self) -> SessionsStore:
        from tui.stores.sessions import SessionsStore

        return SessionsStore(self.project)

    @cached_property
    def _matrix(self) -> MatrixStore:
        from tui.stores.matrix import MatrixStore

        return MatrixStore(self.project)

    @cached_property
    def _inbox(self) -> InboxStore:
        from tui.stores.inbox import InboxStore

        return InboxStore(self.project)

    @cached_property
    def training(self) -> TrainingStore:
        """What reads training runs."""
        from tui.stores.training import TrainingStore

        return TrainingStore(self.project)

    @cached_property
    def strategies(self) -> StrategiesStore:
        """What reads the bank of strategies."""
        from tui.stores.strategies import StrategiesStore

        return StrategiesStore(self.project)

    @property
    def unfinished(self) -> frozenset[Topic]:
        """Return the topics that another load would know more of: counting takes a while, so it is done in parts."""
        parts = {"sessions"} if self._sessions.unread or self.runs.is_behind else set()
        return frozenset(parts | ({"strategies"} if self.strategies.unread else set()))

    def failed(self, error: Exception) -> ConsoleView:
        """Keep the last view and let it say that nothing newer could be read."""
        self.view = replace(self.view, fault=str(error) or type(error).__name__)
        return self.view

    def load(self, stale: frozenset[Topic] = TOPICS) -> ConsoleView:
        """Load what is stale and return the whole; the views that are not keep their old facts."""
        from core.state.scoreboard import ScoreboardReading  # after the first paint, as what loads it
        from tui.stores import board, versions

        stale = TOPICS if self.view.reading else stale
        old, views = self.view, self.runs.read()
        if self.runs.has_news:  # what another program does is told by its traces alone
            stale |= {"sessions", "matrix", "board"}
        listed = subjects(self.project, views)
        subject = self.chosen if self.chosen in listed else choose(self.project, views)
        if subject != old.subject:
            stale = TOPICS
        mine = self.runs.of(subject) if subject else ()
        needs_board = stale & {"matrix", "board", "versions"}
        benchmark = board.read(self.project, subject) if needs_board else None
        reading = benchmark.reading if benchmark else ScoreboardReading()
        rows = board.load(self.project, mine, benchmark, subject) if needs_board else old.board
        self.view = ConsoleView(
            self.project.id,
            subject,
            listed,
            self._sessions.load(self.runs, subject) if "sessions" in stale else old.sessions,
            self._matrix.load(mine, reading, subject) if "matrix" in stale else old.matrix,
            rows,
            versions.load(self.project, rows.rows, subject) if "versions" in stale else old.versions,
            self._inbox.load() if "inbox" in stale else old.inbox,
            self.training.load() if "training" in stale else old.training,
            self.strategies.load() if "strategies" in stale else old.strategies,
            trained_last=trained_last(self.project, views),
        )
        return self.view
