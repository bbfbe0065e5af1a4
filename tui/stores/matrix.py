"""The Case matrix: pages of Cases x Runs, one page each pilot, round, held-out measurement or evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from core.evolution.run_view import CellView, RunView
from core.foundation.clock import parse_ms
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.palette import DECISIONS
from tui.stores.matrix_bases import held_against, references
from tui.stores.matrix_facts import OPEN, alarm, spread, spread_name, time_left_ms
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.stores.runs import LIVE, Subject
from tui.stores.views import MatrixView

if TYPE_CHECKING:
    from core.state.evaluation import Evaluation
    from core.state.ledger import CandidateRecord
    from core.state.scoreboard import ScoreboardReading


__all__ = ["Cell", "MatrixPage", "MatrixRow", "MatrixStore", "MatrixView"]


class MatrixStore:
    """Folds runs and scoreboard into pages; titles of Cases are read once each."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self._titles: dict[tuple[str, str, str], str] = {}
        self._pages: dict[str, tuple[object, MatrixPage]] = {}
        self._ledger: tuple[tuple[int, int], tuple[CandidateRecord, ...]] = ((0, 0), ())

    def load(self, views: tuple[RunView, ...], board: ScoreboardReading, subject: Subject | None) -> MatrixView:
        """Return the pages in order of time: those of runs, and evaluations that no run here made."""
        if subject is None:
            return MatrixView()
        pages: list[tuple[int, MatrixPage]] = []
        moment = 0
        known = {cell.session_id for view in views if not view.observed for cell in view.cells if cell.session_id}
        # Of what another program measures, the scoreboard has the last word; the rest is what it does not have.
        stored = {run.session_id for e in board.evaluations for case in e.cases for run in case.runs}
        evaluators = {
            cell.session_id: cell.evaluator_session_id
            for view in views
            if view.observed
            for cell in view.cells
            if cell.session_id and cell.evaluator_session_id
        }
        for place, evaluation in enumerate(board.evaluations):
            if not any(run.session_id in known for case in evaluation.cases for run in case.runs):
                moment = max(moment, parse_ms(evaluation.time) or 0)  # file order, whatever the times are
                pages.append((moment, self._of_evaluation(place, evaluation, subject, evaluators)))
        for view in views:
            if view.observed:
                rest = replace(view, cells=tuple(c for c in view.cells if c.session_id not in stored))
                pages += [(_moment(rest, page), page) for page in self._of_run(rest, subject)]
            else:
                pages += [(parse_ms(view.started) or 0, page) for page in self._of_run(view, subject)]
        pages.sort(key=lambda page: page[0])
        known_references = references(self._candidates(subject), views)
        ordered = [page for _, page in pages]
        return MatrixView(subject.benchmark_id, held_against(ordered, board.evaluations, known_references))

    def _candidates(self, subject: Subject) -> tuple[CandidateRecord, ...]:
        """Return the agent's Candidates in the ledger, read again only where it changed."""
        try:
            status = self.project.ledger.stat()
        except OSError:
            return ()
        stamp = (status.st_size, status.st_mtime_ns)
        if self._ledger[0] != stamp:
            from core.state import ledger  # after the first paint

            self._ledger = (stamp, ledger.read(self.project))
        return tuple(record for record in self._ledger[1] if record.agent_id == subject.agent_id)

    def _of_evaluation(
        self, place: int, evaluation: Evaluation, subject: Subject, evaluators: Mapping[str, str]
    ) -> MatrixPage:
        columns = max(len(case.runs) for case in evaluation.cases)
        kind = spread_name(columns)
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
                        evaluators.get(run.session_id, ""),
                        duration_ms=run.duration_ms,
                        cost=run.cost,
                    )
                    for number, run in enumerate(case.runs, 1)
                ),
                case.score,
                spread([run.score for run in case.runs], kind),
            )
            for case in evaluation.cases
        )
        note = f"{evaluation.provider}/{evaluation.model_id}  {evaluation.summary_title or ''}".rstrip()
        title = f"Evaluation of v{evaluation.version}"
        key = f"evaluation:{place}"
        return MatrixPage(
            key,
            title,
            note,
            evaluation.version,
            columns,
            rows,
            evaluation.score,
            complete=True,
            short=f"v{evaluation.version}",
            model=evaluation.runtime[:2],
            spread_name=kind,
            alarm=alarm([row.scores for row in rows]),
        )

    def _of_run(self, view: RunView, subject: Subject) -> list[MatrixPage]:
        groups: dict[tuple[str, int, int], dict[tuple[str, int], CellView]] = {}
        gone = {name: at for at, one in enumerate(view.rejected_pilots) for name in one.cells}
        past: dict[int, dict[tuple[str, int], CellView]] = {}
        after: dict[int, tuple[str, int, int]] = {}
        for cell in view.cells:
            version = cell.version if cell.stage != "pilot" else 0
            key = (cell.stage, cell.index, version)
            groups.setdefault(key, {})[cell.case_id, cell.run] = cell
            if (at := gone.get(cell.cell)) is not None:
                past.setdefault(at, {})[cell.case_id, cell.run] = cell
                after[at] = key
        pages: list[MatrixPage] = []
        for key, cells in groups.items():
            # A pilot whose freeze was rejected gives its number to what replaces it, and keeps a page of its own.
            before = [at for at in past if after[at] == key and past[at] != cells]
            pages += [self._page(view, key, past[at], subject, at) for at in before]
            pages.append(self._page(view, key, cells, subject))
        planned = view.contract.get("planned_cases")
        under_way = max((key[1] for key in groups if key[0] == "pilot"), default=0)
        drafting = view.kind == "build" and view.state in LIVE and view.frozen_pilot is None
        # After a rejection it is the rejected pilot that is mended, and no new one begins.
        drafting = drafting and not any(one.pilot in view.pilots for one in view.rejected_pilots)
        if drafting and isinstance(planned, list) and planned and len(view.pilots) == under_way:
            rows = tuple(
                MatrixRow(case_id, self._title(subject, case_id), (Cell(case_id, 1, "planned"),), None)
                for case_id in planned
                if isinstance(case_id, str)
            )
            title = f"Pilot {under_way + 1}" + ("" if view.observed else f" of {view.spec.get('pilots', '?')}")
            note = f"{view.phase}: the Cases are being written" if not under_way else f"{view.phase}"
            if not under_way or view.phase in ("drafting", "review", "pilot"):
                name = f"{view.run_id}:pilot:{under_way + 1}:0"
                page = MatrixPage(name, title, note, None, 1, rows, None, complete=False, live=True)
                at = under_way + 1
                pages.append(replace(page, short=f"P{at}", run_id=view.run_id, stage="pilot", index=at))
        return pages

    def _page(
        self,
        view: RunView,
        key: tuple[str, int, int],
        cells: dict[tuple[str, int], CellView],
        subject: Subject,
        rejected: int | None = None,
    ) -> MatrixPage:
        """Return a page of a run; of a pilot as it was when its freeze was rejected, where `rejected` tells which."""
        from core.state.evaluation import mean_score  # after the first paint

        stage, index, version = key
        evaluators = {s.cell: s.session_id for s in view.sessions if s.role == "evaluator" and s.cell}
        told = [evaluators.get(cell.cell, "") for cell in cells.values()]
        titles = [self._title(subject, case_id) for case_id, _ in cells]
        headline = _headline(view, stage, index, version) if rejected is None else _rejected(view, rejected)
        short = _short(view, *key) if rejected is None else f"P{index}x"
        mark = (cells, told, titles, headline, short, view.state)
        name = f"{view.run_id}:{stage}:{index}:{version}" + ("" if rejected is None else f":rejected:{rejected}")
        known = self._pages.get(name)
        if known is not None and known[0] == mark:  # what has ended need not be made again while the next is measured
            return known[1]
        columns = max(run for _, run in cells)
        kind = spread_name(columns)
        rows: list[MatrixRow] = []
        for case_id in sorted({case for case, _ in cells}):
            own = tuple(
                _cell(cells[case_id, run], view, evaluators) if (case_id, run) in cells else None
                for run in range(1, columns + 1)
            )
            scores = [cell.score for cell in own if cell is not None and cell.score is not None]
            mean = mean_score(scores) if scores else None
            rows.append(MatrixRow(case_id, self._title(subject, case_id), own, mean, spread(scores, kind)))
        scored = [row.mean for row in rows if row.mean is not None]
        complete = all(cell.score is not None for cell in cells.values())
        title, note = mark[3]
        live = view.state in LIVE and any(cell.state in OPEN for cell in cells.values())
        page = MatrixPage(
            name,
            title,
            note,
            version or None,
            columns,
            tuple(rows),
            mean_score(scored) if scored else None,
            complete,
            live,
            short,
            view.run_id,
            stage,
            index,
            _model(view),
            kind,
            left_ms=_left(view, cells.values()) if live else None,
            alarm=alarm([row.scores for row in rows]),
            run_lives=view.state in LIVE,
        )
        self._pages[name] = (mark, page)
        return page

    def _title(self, subject: Subject, case_id: str) -> str:
        from core.state.benchmark import case_title  # after the first paint

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


def _model(view: RunView) -> tuple[str, ...]:
    model = view.spec.get("model")
    return (str(model.get("provider", "")), str(model.get("model_id", ""))) if isinstance(model, dict) else ()


def _left(view: RunView, cells: Iterable[CellView]) -> int | None:
    listed = list(cells)
    told = [cell.duration_ms for cell in listed if cell.state == "scored" and cell.duration_ms is not None]
    concurrency = view.spec.get("concurrency")
    together = concurrency if isinstance(concurrency, int) else 1
    return time_left_ms(told, sum(1 for cell in listed if cell.state in OPEN), together)


def _short(view: RunView, stage: str, index: int, version: int) -> str:
    """Return a page's name in a few characters; a mark says what came of it."""
    if stage == "pilot":
        return f"P{index}" + ("*" if view.frozen_pilot == index else "")
    if stage == "round":
        entry = next((entry for entry in view.rounds if entry.version == version), None)
        mark, _ = DECISIONS.get(entry.decision or "measuring" if entry else "measuring", ("?", "warn"))
        return f"v{version}{mark}"
    return f"H v{version}" if stage == "heldout" else f"v{version}"


_LEFT = {"running": "interrupted", "repairing": "interrupted", "queued": "planned"}
"""What cells are that a run of ours left open when it ended: nothing works on them, whatever it told last."""


def _cell(cell: CellView, view: RunView, evaluators: Mapping[str, str]) -> Cell:
    is_left = view.state not in LIVE and not view.observed
    return Cell(
        cell.case_id,
        cell.run,
        _LEFT.get(cell.state, cell.state) if is_left else cell.state,
        cell.score,
        cell.session_id or "",
        cell.evaluator_session_id or evaluators.get(cell.cell, ""),
        cell.duration_ms,
        cell.cost,
        cell.failure_code or "",
        cell.reason,
        cell.attempt,
        view.run_id,
        cell.cell,
    )


def _moment(view: RunView, page: MatrixPage) -> int:
    """Return when an observed run's page belongs: a live one is the newest, others began with their first cell."""
    own = [cell.started for cell in view.cells if _key(view, cell) == page.key]
    return parse_ms(view.updated if page.live else min(own, default=view.started)) or 0


def _key(view: RunView, cell: CellView) -> str:
    return f"{view.run_id}:{cell.stage}:{cell.index}:{cell.version if cell.stage != 'pilot' else 0}"


def _observed_headline(view: RunView, stage: str, index: int, version: int) -> tuple[str, str]:
    """Name a page of what another program measures: only what its files say, and that they are all we have."""
    title = {"pilot": f"Pilot {index}", "round": f"Candidate v{version}"}.get(stage, f"Measured: v{version}")
    own = {cell.state for cell in view.cells if (cell.stage, cell.index) == (stage, index)}
    if view.state in LIVE:
        return title, "observed, being measured" if own & {"running", "repairing"} else "observed, not yet stored"
    return title, "observed, not on the scoreboard"


def _rejected(view: RunView, at: int) -> tuple[str, str]:
    one = view.rejected_pilots[at]
    return f"Pilot {one.pilot['i']} of {view.spec.get('pilots', '?')}, rejected", f"reason: {one.reason}"


def _headline(view: RunView, stage: str, index: int, version: int) -> tuple[str, str]:
    if view.observed:
        return _observed_headline(view, stage, index, version)
    if stage == "pilot":
        pilot = next((pilot for pilot in view.pilots if pilot["i"] == index), None)
        title = f"Pilot {index} of {view.spec.get('pilots', '?')}"
        gone = [one for one in view.rejected_pilots if one.pilot["i"] == index]
        if pilot is None:
            return title, "running"
        if gone and gone[-1].pilot == pilot:  # nothing has been measured in its place yet
            return f"{title}, rejected", f"reason: {gone[-1].reason}"
        title += ", again" if gone else ""
        predicted = pilot.get("predicted")
        note = f"predicted {predicted:g}, observed {pilot.get('observed', 0):g}" if predicted is not None else ""
        marks = [note, "prediction missed" if pilot.get("missed") else "", "frozen" if pilot.get("frozen") else ""]
        return title, "  ".join(mark for mark in marks if mark)
    if stage == "round":
        entry = next((entry for entry in view.rounds if entry.version == version), None)
        title = f"Round {index}, candidate v{version}"
        if entry is None or entry.decision is None:
            return title, "being measured"
        return title, entry.decision
    if stage == "heldout":
        return f"Held-out Cases, v{version}", "never shown to the Optimizer"
    return f"Evaluation of v{version}", ""
