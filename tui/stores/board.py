"""The scoreboard and everything that was tried for it: evaluations, and Candidates that were kept or not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.evolution.run_view import RoundView, RunView
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.stores.board_rows import BoardEvent, CaseOutcome, place_of
from tui.stores.matrix_facts import difference, error_of_mean, is_noise
from tui.stores.runs import LIVE, Subject
from tui.stores.views import BoardRow, BoardView

if TYPE_CHECKING:
    from core.state.benchmark import Benchmark
    from core.state.diagnostics import Diagnostic
    from core.state.evaluation import Evaluation
    from core.state.ledger import CandidateRecord
    from core.state.scoreboard import Dropped


__all__ = ["BoardEvent", "BoardRow", "BoardView", "CaseOutcome", "load", "read"]


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
        rows.append(_evaluated(place, evaluation, before, kept.get(evaluation.version), rounds, evaluations))
        before = evaluation
    models = {view.run_id: _model(view) for view in views}
    shown = {evaluation.version for evaluation in evaluations}
    by_version = {evaluation.version: evaluation for evaluation in evaluations}
    for record in records:
        if record.decision != "accepted" or record.version not in shown:
            model = models.get(record.run_id, ("", ""))
            tried = _tried(record, rounds.get(record.version), by_version.get(record.reference_version), model)
            rows.insert(place_of(rows, tried.time), tried)
    decided = {record.version for record in records}
    for view in views:
        # What another program tried and did not keep is in nobody's ledger: its traces are all that tells of it.
        told = [entry for entry in view.rounds if view.state in LIVE or (view.observed and entry.decision)]
        reference = by_version.get(_reference_of(view))
        rows += [_open(view, entry, reference) for entry in told if entry.version not in decided | shown]
    freeze = read_freeze(project, subject.agent_id, project.agent(subject.agent_id).benchmark(subject.benchmark_id))
    reading = benchmark.reading
    faults = (*benchmark.diagnostics, *(() if reading.dropped else reading.diagnostics))  # what is dropped has its row
    notes = [_told(found) for found in faults]
    notes += [f"ledger: {gap.reason}" for gap in ledger.gaps(project)]
    providers = {evaluation.provider for evaluation in evaluations} | {_model(view)[0] for view in views}
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
        _target(views),
        _events(project, subject.agent_id),
        tuple(dropped(lost) for lost in benchmark.reading.dropped),
    )


def _told(found: Diagnostic) -> str:
    """Return what is wrong with a file, and where in it."""
    return f"{found.path.name}{f', line {found.line}' if found.line else ''}: {found.text}"


def _model(view: RunView) -> tuple[str, str]:
    model = view.spec.get("model")
    return (str(model.get("provider", "")), str(model.get("model_id", ""))) if isinstance(model, dict) else ("", "")


def _target(views: tuple[RunView, ...]) -> float | None:
    """Return the score that the newest Optimizer works towards."""
    wanted = [view.spec.get("target_score") for view in views if view.kind == "optimize"]
    known = [float(score) for score in wanted if isinstance(score, int | float) and not isinstance(score, bool)]
    return known[-1] if known else None


def _reference_of(view: RunView) -> int:
    version = view.reference.get("version") if view.reference else None
    return version if isinstance(version, int) else 0


def _events(project: ProjectPaths, agent_id: str) -> tuple[BoardEvent, ...]:
    """Return what the operator did with the agent's versions, oldest first."""
    from core.state import audit

    found: list[BoardEvent] = []
    for place, entry in enumerate(audit.read(project)):
        versions = [entry.detail.get(name) for name in ("from_version", "to_version")]
        if entry.subject == agent_id and all(type(version) is int for version in versions):
            old, new = (int(version) for version in versions if isinstance(version, int))
            found.append(BoardEvent(f"event:{place}", entry.time, entry.action, entry.actor, old, new))
    return tuple(found)


def dropped(lost: Dropped) -> BoardRow:
    """Return a line of the scoreboard that the strict reader does not count; its version where it tells one."""
    version = re.search(r"^\s*(?:- )?version:\s*([1-9]\d{0,8})\s*$", lost.raw, re.MULTILINE)
    time = re.search(r"^\s*(?:- )?time:\s*['\"]?([^'\"\n]+?)['\"]?\s*$", lost.raw, re.MULTILINE)
    return BoardRow(
        key=f"dropped:{lost.line}",
        version=int(version[1]) if version else 0,
        what="dropped",
        score=None,
        reference=None,
        time=time[1] if time else "",
        note=f"line {lost.line}: {lost.reason}",
        raw=lost.raw[:4000],
    )


def _evaluated(
    place: int,
    evaluation: Evaluation,
    before: Evaluation | None,
    record: CandidateRecord | None,
    rounds: Mapping[int, RoundView],
    evaluations: Sequence[Evaluation],
) -> BoardRow:
    from core.state.evaluation import mean_score

    comparable = before is not None and before.runtime == evaluation.runtime
    base = before if before and comparable else None
    if record is not None:
        earlier_ones = evaluations[:place]
        base = next((e for e in reversed(earlier_ones) if e.version == record.reference_version), base)
    expected = _expected(record.prediction) if record else {}
    earlier = {case.case: case.score for case in base.cases} if base else {}
    entry = rounds.get(evaluation.version)
    accepted = record is not None or (entry is not None and entry.decision == "accepted")
    reference = record.reference_score if record else base.score if base else None
    again = mean_score(case.score for case in evaluation.cases)
    return BoardRow(
        key=f"evaluation:{place}",
        version=evaluation.version,
        what="accepted" if accepted else "baseline" if place == 0 else "evaluation",
        score=evaluation.score,
        reference=reference,
        time=evaluation.time,
        proposer=record.proposer if record else "",
        hypothesis=record.hypothesis if record else "",
        note="\n".join(part for part in (evaluation.summary_title, evaluation.summary) if part),
        runtime="  ".join(evaluation.runtime),
        held=entry.prediction_held if entry else None,
        supported=record.supported if record else None,
        cases=tuple(
            CaseOutcome(
                case.case,
                expected.get(case.case),
                case.score,
                earlier.get(case.case),
                tuple(run.score for run in case.runs),
                tuple(run.session_id for run in case.runs),
                _other(mean_score(run.score for run in case.runs), case.score),
            )
            for case in evaluation.cases
        ),
        edits=_edits(record) if record else (),
        session_id=evaluation.cases[0].runs[0].session_id,
        provider=evaluation.provider,
        model_id=evaluation.model_id,
        thinking=evaluation.thinking_level,
        cost=evaluation.cost,
        duration_ms=evaluation.duration_ms,
        reference_version=record.reference_version if record else base.version if base else None,
        run_id=record.run_id if record else "",
        recomputed=_other(again, evaluation.score),
        noise=_noise(
            difference(evaluation.score, reference), [[r.score for r in c.runs] for c in evaluation.cases], base
        ),
    )


def _other(recomputed: float, stored: float) -> float | None:
    """Return the recomputed score where it is not the stored one at two decimals."""
    return recomputed if abs(recomputed - stored) > 0.0051 else None


def _noise(delta: float | None, cases: Sequence[Sequence[float]], base: Evaluation | None) -> bool | None:
    if base is None or not cases:
        return None
    earlier = [[run.score for run in case.runs] for case in base.cases]
    return is_noise(delta, error_of_mean(cases), error_of_mean(earlier))


def _tried(
    record: CandidateRecord, entry: RoundView | None, reference: Evaluation | None, model: tuple[str, str]
) -> BoardRow:
    expected = _expected(record.prediction)
    earlier = {case.case: case.score for case in reference.cases} if reference else {}
    scores: dict[str, list[float]] = {}
    sessions: dict[str, list[str]] = {}
    for cell in record.cells:
        if cell.score is not None:
            scores.setdefault(cell.case, []).append(cell.score)
        if cell.session_id:
            sessions.setdefault(cell.case, []).append(cell.session_id)
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
                _mean(scores.get(name, ())),
                earlier.get(name),
                tuple(scores.get(name, ())),
                tuple(sessions.get(name, ())),
            )
            for name in names
        ),
        edits=_edits(record),
        session_id=next((cell.session_id for cell in record.cells if cell.session_id), None) or "",
        provider=model[0],
        model_id=model[1],
        reference_version=record.reference_version,
        run_id=record.run_id,
        noise=_noise(difference(record.score, record.reference_score), list(scores.values()), reference),
        measured=sum(1 for cell in record.cells if cell.score is not None),
        planned=len(record.cells),
    )


def _mean(scores: Sequence[float]) -> float | None:
    from core.state.evaluation import mean_score

    return mean_score(scores) if scores else None


def _open(view: RunView, entry: RoundView, reference: Evaluation | None) -> BoardRow:
    """Return a Candidate that is in no ledger yet: being measured, or of another program."""
    expected = _expected(entry.prediction)
    cells = [cell for cell in view.cells if cell.stage == "round" and cell.version == entry.version]
    earlier = {case.case: case.score for case in reference.cases} if reference else {}
    names = dict.fromkeys((*sorted({cell.case_id for cell in cells}), *expected, *earlier))
    outcomes: list[CaseOutcome] = []
    for name in names:
        own = [cell for cell in cells if cell.case_id == name]
        scores = tuple(cell.score for cell in own if cell.score is not None)
        sessions = tuple(cell.session_id for cell in own if cell.session_id)
        outcomes.append(CaseOutcome(name, expected.get(name), _mean(scores), earlier.get(name), scores, sessions))
    provider, model_id = _model(view)
    stored = reference.score if reference else None
    return BoardRow(
        key=f"open:{view.run_id}:{entry.version}",
        version=entry.version,
        what=entry.decision or "measuring",
        score=entry.score,
        reference=stored if entry.reference_score is None else entry.reference_score,
        time="",
        proposer=entry.proposer,
        hypothesis=entry.hypothesis,
        note=entry.note,
        held=entry.prediction_held,
        supported=entry.supported,
        cases=tuple(outcomes),
        edits=tuple(
            edit_words(str(edit.get("path", "")), _count(edit.get("added")), _count(edit.get("removed")))
            for edit in entry.edits
        ),
        session_id=next((cell.session_id for cell in cells if cell.session_id), ""),
        provider=provider,
        model_id=model_id,
        reference_version=reference.version if reference else None,
        run_id=view.run_id,
        measured=sum(1 for cell in cells if cell.score is not None),
        planned=len(cells),
    )


def _expected(prediction: Mapping[str, Any]) -> dict[str, float]:
    cases = prediction.get("cases")
    found: dict[str, float] = {}
    for case in cases if isinstance(cases, list) else ():
        if isinstance(case, dict) and isinstance(case.get("expected_score"), int | float):
            found[str(case.get("case_id", ""))] = float(case["expected_score"])
    return found


def _edits(record: CandidateRecord) -> tuple[str, ...]:
    return tuple(edit_words(edit.path, edit.added, edit.removed) for edit in record.edits)


def edit_words(path: str, added: int, removed: int) -> str:
    """Return a changed file with its lines, counted as the Diff counts them.

    A ledger leaves out the line with the agent's version, which changes in every Candidate.
    """
    if path == "system_config.yaml":
        return f"{path} +{added + 1} -{removed + 1}, its version with it"
    return f"{path} +{added} -{removed}"


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def read(project: ProjectPaths, subject: Subject | None) -> Benchmark | None:
    """Return the benchmark in sight, None where there is none yet."""
    from core.state.benchmark import read_benchmark

    if subject is None or not subject.benchmark_id:
        return None
    try:
        return read_benchmark(project.agent(subject.agent_id).benchmark(subject.benchmark_id))
    except ExuviaError:
        return None
