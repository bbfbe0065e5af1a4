"""Where an Optimizer run stands: the Reference, at most one Candidate, and what was tried; a fold of its journal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.evolution.events import Event, EventName
from core.evolution.verdict import CaseScores, Decision, case_score


@dataclass(frozen=True, slots=True)
class RunFact:
    """One scored run: what the Optimizer may see of it."""

    score: float
    session_id: str


@dataclass(frozen=True, slots=True)
class Reference:
    """The best kept state and its evaluation (EVOLUTION 3.5 no. 58). `state_hash` names the state's bytes."""

    version: int
    score: float
    state_hash: str
    cases: Mapping[str, tuple[RunFact, ...]]

    def case_scores(self) -> dict[str, float]:
        """Return each Case's score."""
        return {case: case_score(run.score for run in runs) for case, runs in self.cases.items()}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the Candidate's matrix as the ledger keeps it."""

    case: str
    run: int
    status: str
    score: float | None = None
    cost: float | None = None
    duration_ms: int = 0
    session_id: str | None = None
    evaluator_session_id: str | None = None
    failure_code: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bounded change of the Reference, in place and waiting to be measured or decided.

    `score` is None until the whole matrix is valid. `measured` says that an evaluation came to an end.
    """

    round: int
    version: int
    reference_version: int
    hypothesis: str
    prediction: Mapping[str, Any]
    edits: tuple[Mapping[str, Any], ...]
    digest: str
    state_hash: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    measured: bool = False
    score: float | None = None
    repairs: tuple[str, ...] = ()

    def case_runs(self) -> CaseScores:
        """Return the valid scores by Case."""
        runs: dict[str, list[float]] = {}
        for cell in sorted(self.cells.values(), key=lambda c: (c.case, c.run)):
            if cell.score is not None:
                runs.setdefault(cell.case, []).append(cell.score)
        return runs

    def case_scores(self) -> dict[str, float]:
        """Return each Case's score over its valid runs."""
        return {case: case_score(runs) for case, runs in self.case_runs().items()}

    @property
    def failed(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells.values() if cell.status == "failed")


@dataclass(frozen=True, slots=True)
class Round:
    """A decided Candidate."""

    candidate: Candidate
    decision: Decision
    reference_score: float
    supported: bool | None
    prediction_held: bool | None
    note: str


@dataclass(frozen=True, slots=True)
class Goal:
    """What the operator asked for: runs a Case, rounds at most, and the score at which to stop."""

    target_score: float
    runs: int
    rounds: int


@dataclass(frozen=True, slots=True)
class OptimizerState:
    """Everything the protocol's rules look at. Invariant: a Candidate stands only above the present Reference."""

    goal: Goal
    reference: Reference | None = None
    baseline: Reference | None = None  # the first Reference
    candidate: Candidate | None = None
    history: tuple[Round, ...] = ()
    stop_reason: str | None = None

    @property
    def rounds_done(self) -> int:
        """Rounds that count: a Candidate with a complete valid evaluation (no. 68)."""
        return sum(1 for entry in self.history if entry.decision != "unevaluable")

    @property
    def round(self) -> int:
        """The round that is under way, or the next one."""
        return self.candidate.round if self.candidate else self.rounds_done + 1

    @property
    def target_reached(self) -> bool:
        return self.reference is not None and self.reference.score >= self.goal.target_score

    @property
    def over(self) -> str | None:
        """Why no further round may begin, or None (no. 69)."""
        if self.stop_reason is not None:
            return self.stop_reason
        if self.target_reached:
            return f"The Reference reaches the target score {self.goal.target_score:g}."
        if self.rounds_done >= self.goal.rounds:
            return f"All {self.goal.rounds} rounds are used."
        return None

    @property
    def phase(self) -> str:
        """reference, candidate, evaluate, decide or report."""
        if self.reference is None:
            return "reference"
        if self.candidate is not None:
            return "decide" if self.candidate.measured else "evaluate"
        return "report" if self.over else "candidate"


def _reference(event: Event) -> Reference:
    cases = {
        case["case_id"]: tuple(RunFact(run["score"], run["session_id"]) for run in case["runs"])
        for case in event["cases"]
    }
    return Reference(event["version"], event["score"], event["state_hash"], cases)


def _cell(state: OptimizerState, event: Event) -> OptimizerState:
    candidate = state.candidate
    if candidate is None or event.get("stage") != "round" or event["version"] != candidate.version:
        return state
    if event["state"] not in {"scored", "failed"}:
        return state
    scored = event["state"] == "scored"
    cell = Cell(
        event["case_id"],
        event["run"],
        event["state"],
        event["score"] if scored else None,
        event.get("cost"),
        event.get("duration_ms") or 0,
        event.get("session_id"),
        event.get("evaluator_session_id"),
        event.get("failure_code"),
    )
    return replace(state, candidate=replace(candidate, cells={**candidate.cells, event["cell"]: cell}))


def _evaluated(state: OptimizerState, event: Event) -> OptimizerState:
    if state.candidate is None or state.candidate.version != event["version"]:
        return state
    score = event["score"] if event["complete"] else None
    if score is not None and not math.isfinite(score):
        score = None
    repair = event.get("repair") or ""
    repairs = (*state.candidate.repairs, repair) if repair else state.candidate.repairs
    return replace(state, candidate=replace(state.candidate, measured=True, score=score, repairs=repairs))


def _decision(state: OptimizerState, event: Event) -> OptimizerState:
    candidate, reference = state.candidate, state.reference
    if candidate is None or reference is None or candidate.version != event["version"]:
        return state
    entry = Round(
        candidate,
        event["decision"],
        event["reference_score"],
        event.get("supported"),
        event.get("prediction_held"),
        event.get("note") or "",
    )
    if event["decision"] == "accepted" and candidate.score is not None:
        runs: dict[str, list[RunFact]] = {}
        for cell in sorted(candidate.cells.values(), key=lambda c: (c.case, c.run)):
            if cell.score is not None:
                runs.setdefault(cell.case, []).append(RunFact(cell.score, cell.session_id or ""))
        reference = Reference(
            candidate.version,
            candidate.score,
            candidate.state_hash,
            {case: tuple(facts) for case, facts in runs.items()},
        )
    return replace(state, reference=reference, candidate=None, history=(*state.history, entry))


def apply(state: OptimizerState, event: Event) -> OptimizerState:
    """Return the state after `event`; events of no concern to the protocol change nothing."""
    match event["event"]:
        case EventName.REFERENCE:
            reference = _reference(event)
            return replace(state, reference=reference, baseline=state.baseline or reference)
        case EventName.CANDIDATE:
            candidate = Candidate(
                event["round"],
                event["version"],
                event["reference_version"],
                event["hypothesis"],
                event["prediction"],
                tuple(event["edits"]),
                event["digest"],
                event["state_hash"],
            )
            return replace(state, candidate=candidate)
        case EventName.CELL:
            return _cell(state, event)
        case EventName.EVALUATED:
            return _evaluated(state, event)
        case EventName.DECISION:
            return _decision(state, event)
        case EventName.STOP_REQUESTED:
            return replace(state, stop_reason=event["reason"])
        case EventName.RUN_RESUMED:  # the operator wants it to go on, whatever the role gave up for
            return replace(state, stop_reason=None)
        case _:
            return state
