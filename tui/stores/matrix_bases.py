"""What each page of the matrix is held against: a Candidate against its Reference, a pilot against the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.evolution.run_view import RunView
from tui.stores.matrix_facts import Base, difference, error_of_mean, is_noise
from tui.stores.matrix_page import MatrixPage, MatrixRow

if TYPE_CHECKING:
    from core.state.evaluation import Evaluation
    from core.state.ledger import CandidateRecord

References = Mapping[tuple[str, int], int]
"""The Reference's version of each Candidate, by run and version."""


def references(records: Sequence[CandidateRecord], views: Sequence[RunView]) -> dict[tuple[str, int], int]:
    """Return against which version each Candidate is measured: decided ones as the ledger says, an open one as now."""
    found = {(record.run_id, record.version): record.reference_version for record in records}
    for view in views:
        version = view.reference.get("version") if view.reference else None
        if isinstance(version, int):
            for entry in view.rounds:
                if entry.decision is None:
                    found.setdefault((view.run_id, entry.version), version)
    return found


def held_against(
    pages: Sequence[MatrixPage], evaluations: Sequence[Evaluation], known: References
) -> tuple[MatrixPage, ...]:
    """Return the pages with what each is held against, and the differences."""
    return tuple(compared(page, _base(page, pages[:place], evaluations, known)) for place, page in enumerate(pages))


def compared(page: MatrixPage, base: Base | None) -> MatrixPage:
    """Return a page with its differences from `base`, over the Cases that both have a score for."""
    from core.state.evaluation import mean_score  # after the first paint

    if base is None or page.against:
        return page
    if base.why_not:
        return replace(page, against=base.name, not_comparable=base.why_not)
    rows = tuple(_row(row, base) for row in page.rows)
    both = [row for row in rows if row.mean is not None and row.against is not None]
    if not both:
        return replace(page, rows=rows, against=base.name)
    own = mean_score(row.mean for row in both if row.mean is not None)
    other = mean_score(row.against for row in both if row.against is not None)
    delta = difference(own, other)
    errors = error_of_mean([row.scores for row in both]), error_of_mean([base.runs_of(row.case_id) for row in both])
    return replace(page, rows=rows, against=base.name, delta=delta, common=len(both), noise=is_noise(delta, *errors))


def _row(row: MatrixRow, base: Base) -> MatrixRow:
    cells = tuple(
        cell
        if cell is None or (before := base.cells.get((cell.case_id, cell.run))) is None
        else replace(cell, before=before[0], before_session=before[1])
        for cell in row.cells
    )
    against = base.means.get(row.case_id)
    return replace(row, cells=cells, against=against, delta=difference(row.mean, against))


def _base(
    page: MatrixPage, earlier: Sequence[MatrixPage], evaluations: Sequence[Evaluation], known: References
) -> Base | None:
    if page.stage == "pilot":
        before = [other for other in earlier if (other.run_id, other.stage) == (page.run_id, "pilot")]
        if not before:
            return None
        was_rejected = before[-1].index == page.index
        return of_page(before[-1], f"pilot {before[-1].index}" + (", rejected" if was_rejected else ""))
    if page.stage == "heldout":
        before = [other for other in earlier if other.stage == "heldout" and other.version != page.version]
        return of_page(before[-1], f"v{before[-1].version}, held out") if before else None
    if page.stage == "round":
        version = known.get((page.run_id, page.version or 0))
        return _of_version(version, page, earlier, evaluations) if version is not None else None
    place = _place(page, evaluations)
    own = evaluations[place].runtime if place < len(evaluations) else None
    for evaluation in reversed(evaluations[:place]):
        if evaluation.runtime == own or (own is None and page.model in ((), evaluation.runtime[:2])):
            return of_evaluation(evaluation, f"v{evaluation.version}, the evaluation before")
    return None


def _of_version(
    version: int, page: MatrixPage, earlier: Sequence[MatrixPage], evaluations: Sequence[Evaluation]
) -> Base | None:
    name = f"v{version}, the Reference"
    stored = next((entry for entry in reversed(evaluations) if entry.version == version), None)
    if stored is not None:
        if page.model and page.model != stored.runtime[:2]:
            return Base(name, why_not=f"measured with {stored.provider}/{stored.model_id}")
        return of_evaluation(stored, name)
    measured = next((p for p in reversed(earlier) if p.version == version and p.stage != "heldout"), None)
    return of_page(measured, name) if measured is not None else None


def _place(page: MatrixPage, evaluations: Sequence[Evaluation]) -> int:
    """Return which evaluation of the scoreboard a page shows; behind the last where it is on none."""
    own = {cell.session_id for row in page.rows for cell in row.cells if cell is not None and cell.session_id}
    for place, evaluation in enumerate(evaluations):
        if evaluation.version == page.version and any(r.session_id in own for c in evaluation.cases for r in c.runs):
            return place
    return len(evaluations)


def of_evaluation(evaluation: Evaluation, name: str) -> Base:
    """Return a stored evaluation as something to hold a page against."""
    return Base(
        name,
        {case.case: case.score for case in evaluation.cases},
        {
            (case.case, number): (run.score, run.session_id)
            for case in evaluation.cases
            for number, run in enumerate(case.runs, 1)
        },
    )


def of_page(page: MatrixPage, name: str) -> Base:
    """Return another page as something to hold a page against."""
    return Base(
        name,
        {row.case_id: row.mean for row in page.rows if row.mean is not None},
        {
            (cell.case_id, cell.run): (cell.score, cell.session_id)
            for row in page.rows
            for cell in row.cells
            if cell is not None and cell.score is not None
        },
    )
