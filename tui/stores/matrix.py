"""The Case matrix: pages of Cases x Runs, one page each pilot, round, held-out measurement or evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from core.evolution.run_view import CellView, RunView
from core.foundation.clock import parse_ms
from core.foundation.errors import ExuviaError
from core.state.benchmark import case_title
from core.state.evaluation import Evaluation, mean_score
from core.state.paths import ProjectPaths
from core.state.scoreboard import ScoreboardReading
from tui.stores.runs import LIVE, Subject


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


@dataclass(frozen=True, slots=True)
class MatrixRow:
    case_id: str
    title: str
    cells: tuple[Cell, ...]
    mean: float | None


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """One matrix. `mean` is over the Cases scored so far; `complete` says that no cell is missing."""

    key: str
    title: str
    note: str
    version: int | None
    columns: int
    rows: tuple[MatrixRow, ...]
    mean: float | None
    complete: bool
    live: bool = False


@dataclass(frozen=True, slots=True)
class MatrixView:
    benchmark_id: str = ""
    pages: tuple[MatrixPage, ...] = ()


class MatrixStore:
    """Folds runs and scoreboard into pages; titles of Cases are read once each."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self._titles: dict[tuple[str, str, str], str] = {}

    def load(self, views: tuple[RunView, ...], board: ScoreboardReading, subject: Subject | None) -> MatrixView:
        """Return the pages in order of time: those of runs, and evaluations that no run here made."""
        if subject is None:
            return MatrixView()
        pages: list[tuple[int, MatrixPage]] = []
        moment = 0
        known = {cell.session_id for view in views for cell in view.cells if cell.session_id}
        for place, evaluation in enumerate(board.evaluations):
            if not any(run.session_id in known for case in evaluation.cases for run in case.runs):
                moment = max(moment, parse_ms(evaluation.time) or 0)  # file order, whatever the times are
                pages.append((moment, self._of_evaluation(place, evaluation, subject)))
        for view in views:
            pages += [(parse_ms(view.started) or 0, page) for page in self._of_run(view, subject)]
        pages.sort(key=lambda page: page[0])
        return MatrixView(subject.benchmark_id, tuple(page for _, page in pages))

    def _of_evaluation(self, place: int, evaluation: Evaluation, subject: Subject) -> MatrixPage:
        rows = tuple(
            MatrixRow(
                case.case,
                self._title(subject, case.case),
                tuple(
                    Cell(
                        case.case,
                        number,
                        "scored",
                        run.score,
                        run.session_id,
                        duration_ms=run.duration_ms,
                        cost=run.cost,
                    )
                    for number, run in enumerate(case.runs, 1)
                ),
                case.score,
            )
            for case in evaluation.cases
        )
        columns = max(len(case.runs) for case in evaluation.cases)
        note = f"{evaluation.provider}/{evaluation.model_id}  {evaluation.summary_title or ''}".rstrip()
        title = f"Evaluation of v{evaluation.version}"
        key = f"evaluation:{place}"
        return MatrixPage(key, title, note, evaluation.version, columns, rows, evaluation.score, complete=True)

    def _of_run(self, view: RunView, subject: Subject) -> list[MatrixPage]:
        groups: dict[tuple[str, int, int], dict[tuple[str, int], CellView]] = {}
        for cell in view.cells:
            version = cell.version if cell.stage != "pilot" else 0
            groups.setdefault((cell.stage, cell.index, version), {})[cell.case_id, cell.run] = cell
        pages = [self._page(view, key, cells, subject) for key, cells in groups.items()]
        planned = view.contract.get("planned_cases")
        under_way = max((key[1] for key in groups if key[0] == "pilot"), default=0)
        drafting = view.kind == "build" and view.state in LIVE and view.frozen_pilot is None
        if drafting and isinstance(planned, list) and planned and len(view.pilots) == under_way:
            rows = tuple(
                MatrixRow(case_id, self._title(subject, case_id), (Cell(case_id, 1, "planned"),), None)
                for case_id in planned
                if isinstance(case_id, str)
            )
            title = f"Pilot {under_way + 1} of {view.spec.get('pilots', '?')}"
            note = f"{view.phase}: the Cases are being written" if not under_way else f"{view.phase}"
            if not under_way or view.phase in ("drafting", "review", "pilot"):
                key = f"{view.run_id}:pilot:{under_way + 1}:0"
                pages.append(MatrixPage(key, title, note, None, 1, rows, None, complete=False, live=True))
        return pages

    def _page(
        self,
        view: RunView,
        key: tuple[str, int, int],
        cells: dict[tuple[str, int], CellView],
        subject: Subject,
    ) -> MatrixPage:
        stage, index, version = key
        columns = max(run for _, run in cells)
        rows = []
        for case_id in sorted({case for case, _ in cells}):
            own = tuple(_cell(cells[case_id, run]) for run in range(1, columns + 1) if (case_id, run) in cells)
            scores = [cell.score for cell in own if cell.score is not None]
            rows.append(MatrixRow(case_id, self._title(subject, case_id), own, mean_score(scores) if scores else None))
        scored = [row.mean for row in rows if row.mean is not None]
        complete = all(cell.score is not None for row in rows for cell in row.cells)
        title, note = _headline(view, stage, index, version)
        live = view.state in LIVE and not complete
        return MatrixPage(
            f"{view.run_id}:{stage}:{index}:{version}",
            title,
            note,
            version or None,
            columns,
            tuple(rows),
            mean_score(scored) if scored else None,
            complete,
            live,
        )

    def _title(self, subject: Subject, case_id: str) -> str:
        key = (subject.agent_id, subject.benchmark_id, case_id)
        if key not in self._titles:
            try:
                case = self.project.agent(subject.agent_id).benchmark(subject.benchmark_id).case(case_id)
                title = case_title(case)
            except (ExuviaError, OSError):
                title = case_id
            if title == case_id:
                return title  # its statement may be on its way
            self._titles[key] = title
        return self._titles[key]


def _cell(cell: CellView) -> Cell:
    return Cell(
        cell.case_id,
        cell.run,
        cell.state,
        cell.score,
        cell.session_id or "",
        cell.evaluator_session_id or "",
        cell.duration_ms,
        cell.cost,
        cell.failure_code or "",
        cell.reason,
        cell.attempt,
    )


def _headline(view: RunView, stage: str, index: int, version: int) -> tuple[str, str]:
    if stage == "pilot":
        pilot = next((pilot for pilot in view.pilots if pilot["i"] == index), None)
        title = f"Pilot {index} of {view.spec.get('pilots', '?')}"
        if pilot is None:
            return title, "running"
        predicted = pilot.get("predicted")
        note = f"predicted {predicted:g}, observed {pilot.get('observed', 0):g}" if predicted is not None else ""
        marks = [note, "prediction missed" if pilot.get("missed") else "", "frozen" if pilot.get("frozen") else ""]
        return title, "  ".join(mark for mark in marks if mark)
    if stage == "round":
        entry = next((entry for entry in view.rounds if entry.version == version), None)
        title = f"Round {index}, candidate v{version}"
        if entry is None or entry.decision is None:
            return title, "being measured"
        against = "" if entry.reference_score is None else f" (reference {entry.reference_score:g})"
        return title, f"{entry.decision}{against}"
    if stage == "heldout":
        return f"Held-out Cases, v{version}", "never shown to the Optimizer"
    return f"Evaluation of v{version}", ""
