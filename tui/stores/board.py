"""The scoreboard and everything that was tried for it: evaluations, and Candidates that were kept or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.evolution.run_view import RoundView, RunView
from core.foundation.clock import parse_ms
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.stores.runs import LIVE, Subject

if TYPE_CHECKING:
    from core.state.benchmark import Benchmark
    from core.state.evaluation import Evaluation
    from core.state.ledger import CandidateRecord


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """A Case of a row: what was expected of it, what came, and what the Reference had."""

    case_id: str
    expected: float | None
    observed: float | None
    reference: float | None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A version that was measured or tried.

    `what`: baseline, evaluation, accepted, rejected, unevaluable, or measuring. `held` tells whether the prediction
    came true, `supported` whether the observation supports the hypothesis; None where nobody said.
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

    @property
    def delta(self) -> float | None:
        """Points above the Reference, or above the evaluation before."""
        return None if self.score is None or self.reference is None else round(self.score - self.reference, 2)


@dataclass(frozen=True, slots=True)
class BoardView:
    """`curve` is the stored score of each evaluation in file order; `heldout` baseline and final where measured."""

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

    @property
    def latest(self) -> float | None:
        return self.curve[-1][1] if self.curve else None


def load(
    project: ProjectPaths, views: tuple[RunView, ...], benchmark: Benchmark | None, subject: Subject | None
) -> BoardView:
    """Fold scoreboard, ledger and runs into one list, oldest first."""
    from core.evolution.freeze import read_freeze  # what reads whole files is imported after the first paint
    from core.state import ledger

    if subject is None or benchmark is None:
        return BoardView(subject.agent_id if subject else "", subject.benchmark_id if subject else "")
    evaluations = benchmark.reading.evaluations
    records = [
        record for record in ledger.read(project, subject.agent_id) if record.benchmark_id == subject.benchmark_id
    ]
    rounds = {entry.version: entry for view in views for entry in view.rounds}
    kept = {record.version: record for record in records if record.decision == "accepted"}
    rows: list[BoardRow] = []
    before: Evaluation | None = None
    for place, evaluation in enumerate(evaluations):
        rows.append(_evaluated(place, evaluation, before, kept.get(evaluation.version), rounds))
        before = evaluation
    shown = {evaluation.version for evaluation in evaluations}
    by_version = {evaluation.version: evaluation for evaluation in evaluations}
    for record in records:
        if record.decision != "accepted" or record.version not in shown:
            tried = _tried(record, rounds.get(record.version), by_version.get(record.reference_version))
            rows.insert(_place(rows, tried.time), tried)
    decided = {record.version for record in records}
    for view in views:
        # What another program tried and did not keep is in nobody's ledger: its traces are all that tells of it.
        told = [entry for entry in view.rounds if view.state in LIVE or (view.observed and entry.decision)]
        rows += [_open(view, entry) for entry in told if entry.version not in decided | shown]
    freeze = read_freeze(project, subject.agent_id, project.agent(subject.agent_id).benchmark(subject.benchmark_id))
    notes = [f"line {lost.line} not counted: {lost.reason}" for lost in benchmark.reading.dropped]
    notes += [f"ledger: {gap.reason}" for gap in ledger.gaps(project)]
    providers = {evaluation.provider for evaluation in evaluations} | {_provider(view) for view in views}
    return BoardView(
        subject.agent_id,
        subject.benchmark_id,
        benchmark.title,
        tuple(rows),
        tuple((evaluation.version, evaluation.score) for evaluation in evaluations),
        tuple((entry.stage, entry.version, entry.score) for view in views for entry in view.heldout),
        freeze.status,
        freeze.changed,
        tuple(notes),
        "rehearsal" in providers,
        "example" in providers,
    )


def _place(rows: list[BoardRow], time: str) -> int:
    """Return where a row of `time` belongs. Evaluations stay in file order (no. 39), whatever their times are."""
    moment = parse_ms(time)
    if moment is None:
        return len(rows)
    later = ((parse_ms(row.time) or 0) > moment for row in rows)
    return next((place for place, is_later in enumerate(later) if is_later), len(rows))


def _provider(view: RunView) -> str:
    model = view.spec.get("model")
    return str(model.get("provider", "")) if isinstance(model, dict) else ""


def _evaluated(
    place: int,
    evaluation: Evaluation,
    before: Evaluation | None,
    record: CandidateRecord | None,
    rounds: Mapping[int, RoundView],
) -> BoardRow:
    comparable = before is not None and before.runtime == evaluation.runtime
    expected = _expected(record.prediction) if record else {}
    earlier = {case.case: case.score for case in before.cases} if before and comparable else {}
    entry = rounds.get(evaluation.version)
    accepted = record is not None or (entry is not None and entry.decision == "accepted")
    return BoardRow(
        key=f"evaluation:{place}",
        version=evaluation.version,
        what="accepted" if accepted else "baseline" if place == 0 else "evaluation",
        score=evaluation.score,
        reference=record.reference_score if record else before.score if before and comparable else None,
        time=evaluation.time,
        proposer=record.proposer if record else "",
        hypothesis=record.hypothesis if record else "",
        note="\n".join(part for part in (evaluation.summary_title, evaluation.summary) if part),
        runtime="  ".join(evaluation.runtime),
        held=entry.prediction_held if entry else None,
        supported=record.supported if record else None,
        cases=tuple(
            CaseOutcome(case.case, expected.get(case.case), case.score, earlier.get(case.case))
            for case in evaluation.cases
        ),
        edits=_edits(record) if record else (),
        session_id=evaluation.cases[0].runs[0].session_id,
    )


def _tried(record: CandidateRecord, entry: RoundView | None, reference: Evaluation | None) -> BoardRow:
    expected = _expected(record.prediction)
    earlier = {case.case: case.score for case in reference.cases} if reference else {}
    scores: dict[str, list[float]] = {}
    for cell in record.cells:
        if cell.score is not None:
            scores.setdefault(cell.case, []).append(cell.score)
    names = sorted({*scores, *expected})
    return BoardRow(
        key=f"candidate:{record.run_id}:{record.version}",
        version=record.version,
        what=record.decision,
        score=record.score,
        reference=record.reference_score,
        time=record.time,
        proposer=record.proposer,
        hypothesis=record.hypothesis,
        note=record.note,
        held=entry.prediction_held if entry else None,
        supported=record.supported,
        cases=tuple(
            CaseOutcome(
                name,
                expected.get(name),
                round(sum(scores[name]) / len(scores[name]), 2) if name in scores else None,
                earlier.get(name),
            )
            for name in names
        ),
        edits=_edits(record),
        session_id=next((cell.session_id for cell in record.cells if cell.session_id), None) or "",
    )


def _open(view: RunView, entry: RoundView) -> BoardRow:
    expected = _expected(entry.prediction)
    cells = [cell for cell in view.cells if cell.stage == "round" and cell.version == entry.version]
    return BoardRow(
        key=f"open:{view.run_id}:{entry.version}",
        version=entry.version,
        what=entry.decision or "measuring",
        score=entry.score,
        reference=entry.reference_score,
        time="",
        proposer=entry.proposer,
        hypothesis=entry.hypothesis,
        note=entry.note,
        cases=tuple(CaseOutcome(name, points, None, None) for name, points in expected.items()),
        edits=tuple(
            f"{edit.get('path', '')} +{edit.get('added', 0)} -{edit.get('removed', 0)}" for edit in entry.edits
        ),
        session_id=next((cell.session_id for cell in cells if cell.session_id), ""),
    )


def _expected(prediction: Mapping[str, Any]) -> dict[str, float]:
    cases = prediction.get("cases")
    found: dict[str, float] = {}
    for case in cases if isinstance(cases, list) else ():
        if isinstance(case, dict) and isinstance(case.get("expected_score"), int | float):
            found[str(case.get("case_id", ""))] = float(case["expected_score"])
    return found


def _edits(record: CandidateRecord) -> tuple[str, ...]:
    return tuple(f"{edit.path} +{edit.added} -{edit.removed}" for edit in record.edits)


def read(project: ProjectPaths, subject: Subject | None) -> Benchmark | None:
    """Return the benchmark in sight, None where there is none yet."""
    from core.state.benchmark import read_benchmark

    if subject is None or not subject.benchmark_id:
        return None
    try:
        return read_benchmark(project.agent(subject.agent_id).benchmark(subject.benchmark_id))
    except ExuviaError:
        return None
