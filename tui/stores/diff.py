"""What a comparison shows: two sides, the files that differ, and why a Candidate differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.evolution.side import OF_BENCHMARK, Side
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.stores.views import VersionsView

if TYPE_CHECKING:
    from core.state.ledger import CandidateRecord
    from core.state.statediff import FileDiff

__all__ = ["Choosable", "Comparison", "Expectation", "Side", "Why", "asked_for", "choices", "load", "usual"]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A Case: what was predicted of it, what came, and what the Reference had; None where nobody knows."""

    case_id: str
    predicted: float | None
    came: float | None
    before: float | None


@dataclass(frozen=True, slots=True)
class Why:
    """Why a version differs: what its proposer believed and predicted, what came of it, and what was decided.

    `held` tells whether the prediction came true, `supported` whether the scores support the hypothesis.
    """

    version: int
    decision: str
    proposer: str
    hypothesis: str
    predicted: str = ""
    cases: tuple[Expectation, ...] = ()
    score: float | None = None
    reference: int = 0
    reference_score: float | None = None
    held: bool | None = None
    supported: bool | None = None
    note: str = ""
    time: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides and what lies between them; `trouble` where it could not be made, with its `hint`.

    `whys` are the accepted Candidates that lead from the left side to the right, newest first; or the one that is
    compared. `reasons` says why each file was changed, in the proposer's words.
    """

    left: Side
    right: Side
    files: tuple[FileDiff, ...] = ()
    whys: tuple[Why, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    present: int | None = None
    trouble: str = ""
    hint: str = ""

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)


@dataclass(frozen=True, slots=True)
class Choosable:
    """A side to choose, as a list shows it."""

    side: Side
    name: str
    what: str
    about: str
    time: str


def usual(view: VersionsView) -> tuple[Side, Side] | None:
    """Return what is compared unasked: an edited state with what was kept of it, else the version before with now."""
    if not view.agent_id:
        return None
    present = Side("current", view.agent_id)
    if view.drift == "edited" and view.present is not None:
        return Side("snapshot", view.agent_id, view.present), present
    if view.target is None:
        return None
    return Side("snapshot", view.agent_id, view.target), present


def asked_for(version: int, view: VersionsView, *, kept: bool) -> Side:
    """Return the side that a version means: its snapshot where one is kept, else its Candidate."""
    return Side("snapshot" if kept else "candidate", view.agent_id, version)


def choices(project: ProjectPaths, agent_id: str, benchmark_id: str) -> tuple[Choosable, ...]:
    """Return everything that can be compared. Raises errors of the family."""
    from core.evolution import sides

    return tuple(
        Choosable(listed.side, listed.side.words, listed.what, listed.text, listed.time)
        for listed in sides.sides(project, agent_id, benchmark_id)
    )


def load(project: ProjectPaths, left: Side, right: Side) -> Comparison:
    """Compare two sides; what can't be compared says why."""
    from core.evolution import sides
    from core.state.versions import current_version

    present = current_version(project.agent(right.agent_id))
    try:
        files = sides.compare(project, left, right)
    except (ExuviaError, OSError) as error:
        return Comparison(left, right, present=present, trouble=str(error), hint=getattr(error, "hint", ""))
    whys = () if left.kind in OF_BENCHMARK else _whys(project, left, right, present)
    tried = next((side for side in (right, left) if side.kind == "candidate"), None)
    if tried is None and len(whys) == 1:
        tried = Side("candidate", right.agent_id, whys[0].version, whys[0].run_id)
    return Comparison(left, right, files, whys, sides.reasons(project, tried) if tried else {}, present)


def _whys(project: ProjectPaths, left: Side, right: Side, present: int | None) -> tuple[Why, ...]:
    from core.state import ledger

    records = ledger.read(project, right.agent_id)
    tried = {side.version for side in (left, right) if side.kind in ("candidate", "reference")}
    if tried:
        chosen = [record for record in records if record.version in tried]
    else:
        ends = sorted((side.version if side.kind == "snapshot" else present or 0) for side in (left, right))
        known = all(side.kind in ("snapshot", "current") for side in (left, right))
        chosen = [
            record
            for record in records
            if known and record.decision == "accepted" and ends[0] < record.version <= ends[1]
        ]
    return tuple(_why(project, record) for record in reversed(chosen))


def _why(project: ProjectPaths, record: CandidateRecord) -> Why:
    before = _scores(project, record)
    came: dict[str, list[float | None]] = {}
    for cell in record.cells:
        came.setdefault(cell.case, []).append(cell.score if cell.status == "ok" else None)
    predicted = _predicted(record)
    return Why(
        record.version,
        record.decision,
        record.proposer,
        record.hypothesis,
        str(record.prediction.get("overall", "")),
        tuple(
            Expectation(case, predicted.get(case), _mean(came.get(case, [])), before.get(case))
            for case in sorted({*came, *predicted})
        ),
        record.score,
        record.reference_version,
        record.reference_score,
        _held(project, record),
        record.supported,
        record.note,
        record.time,
        record.run_id,
    )


def _predicted(record: CandidateRecord) -> dict[str, float]:
    listed = record.prediction.get("cases")
    return {
        str(entry.get("case_id")): float(entry["expected_score"])
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("expected_score"), int | float)
    }


def _mean(scores: list[float | None]) -> float | None:
    """Return the mean of a Case's Runs, None where one has no score: invalid is never zero."""
    numbers = [score for score in scores if score is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(scores) else None


def _scores(project: ProjectPaths, record: CandidateRecord) -> dict[str, float]:
    """Return what the Reference had, by Case, from the scoreboard."""
    from core.state.scoreboard import read_scoreboard

    try:
        board = project.agent(record.agent_id).benchmark(record.benchmark_id).scoreboard
        evaluations = read_scoreboard(board).evaluations
    except (ExuviaError, OSError):
        return {}
    found = [entry for entry in evaluations if entry.version == record.reference_version]
    return {case.case: case.score for case in found[-1].cases} if found else {}


def _held(project: ProjectPaths, record: CandidateRecord) -> bool | None:
    from core.evolution import runs

    try:
        rounds = runs.read_run(project, record.run_id).rounds
    except (ExuviaError, OSError):
        return None
    return next((entry.prediction_held for entry in rounds if entry.version == record.version), None)
