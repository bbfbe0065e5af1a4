"""From Evaluators to cells: which attempt belongs to which pilot or matrix, and what came of it.

A failed cell has no score, and an answer that is no answer of the protocol is a failure: invalid is never zero
(EVOLUTION 3.2 no. 25, 3.4 no. 52 to 56).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from core.evolution import gate
from core.evolution.gate import Answer, EvaluationRequest, Failed, Malformed
from core.evolution.observed_session import Seen
from core.evolution.run_view import CellView
from core.state.evaluation import RunScore, mean_score

_AGENT_LINE = re.compile(r"^agent_id:[^\n]*(\n|\Z)", re.MULTILINE)

Stage = Literal["pilot", "round", "evaluation"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a group of cells belongs."""

    stage: Stage
    index: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What a scoreboard has for a Target's Session: its evaluation's version, and the Run."""

    version: int
    run: RunScore


@dataclass(frozen=True, slots=True)
class Attempt:
    """One Evaluator on one cell. `stored` is what a scoreboard says of its Target; `quiet` that nobody writes now."""

    evaluator: Seen
    request: EvaluationRequest
    target_id: str = ""
    stored: Stored | None = None
    quiet: bool = False

    @property
    def key(self) -> tuple[str, int]:
        return self.request.case_id, self.request.run

    @property
    def answer(self) -> Answer | None:
        """Return what the Evaluator answered, None while it has not."""
        return read_answer(self.evaluator.said, self.request) if self.evaluator.turn == "ended" else None

    @property
    def is_scored(self) -> bool:
        return self.stored is not None or isinstance(self.answer, gate.Scored)


@dataclass(slots=True)
class Group:
    """A matrix as it was measured: attempts by Case and run, in the order of their first dispatch."""

    version: int
    attempts: dict[tuple[str, int], list[Attempt]] = field(default_factory=dict)

    @property
    def best(self) -> Mapping[tuple[str, int], Attempt]:
        """The attempt that counts for each cell: the newest with a score, else the newest."""
        return {
            key: next((a for a in reversed(tried) if a.is_scored), tried[-1]) for key, tried in self.attempts.items()
        }

    @property
    def stored(self) -> bool:
        """Whether a scoreboard has any of it."""
        return any(attempt.stored is not None for attempt in self.best.values())

    @property
    def kept(self) -> bool:
        """Whether a scoreboard has all of it."""
        return all(attempt.stored is not None for attempt in self.best.values())

    @property
    def complete(self) -> bool:
        """Whether every cell that was dispatched has a score."""
        return all(attempt.is_scored for attempt in self.best.values())

    @property
    def case_scores(self) -> Mapping[str, float]:
        """The mean of each Case's scored runs."""
        cases: dict[str, list[float]] = {}
        for (case_id, _), attempt in self.best.items():
            if attempt.is_scored:
                cases.setdefault(case_id, []).append(_score(attempt))
        return {case_id: mean_score(scores) for case_id, scores in cases.items()}

    @property
    def score(self) -> float | None:
        """Mean of the Cases' means (EVOLUTION 2.2 no. 45), None where a cell has none."""
        return mean_score(self.case_scores.values()) if self.complete else None


@lru_cache(maxsize=4096)
def read_answer(said: str, request: EvaluationRequest) -> Answer:
    """Judge an answer by the gate. A newer layout names the agent in it (no. 56), which is no fault of the answer."""
    if not said.strip():
        return Malformed("it said nothing")
    return gate.read_answer(_AGENT_LINE.sub("", said, count=1), request)


def group_attempts(attempts: Sequence[Attempt]) -> list[Group]:
    """Return the matrices that `attempts`, oldest first, make up.

    An attempt on a cell that had its score before it began opens a new one: the next pilot of a Builder, or a second
    measurement. A failed cell that is tried again stays where it is (no. 27).
    """
    groups: list[Group] = []
    for attempt in attempts:
        version = attempt.request.expected_version
        group = next((group for group in reversed(groups) if group.version == version), None)
        before = group.attempts.get(attempt.key, []) if group else []
        began = attempt.evaluator.first_ts
        if group is None or any(a.is_scored and a.evaluator.digest.last_ts <= began for a in before):
            group = Group(version)
            groups.append(group)
        group.attempts.setdefault(attempt.key, []).append(attempt)
    return groups


def cells_of(groups: Sequence[Group], places: Sequence[Place]) -> tuple[tuple[CellView, ...], dict[str, str]]:
    """Return every cell, and which of them each Evaluator's Session worked on.

    A pilot that is over counts the Cases that it left as they were with the score they had (no. 32).
    """
    cells: list[CellView] = []
    of: dict[str, str] = {}
    known: dict[tuple[str, int], CellView] = {}
    for number, (group, place) in enumerate(zip(groups, places, strict=True)):
        own: dict[tuple[str, int], CellView] = {}
        for key, counts in group.best.items():
            own[key] = cell = _cell(counts, place, len(group.attempts[key]))
            of.update({attempt.evaluator.session_id: cell.cell for attempt in group.attempts[key]})
        if place.stage == "pilot":
            is_over = number < len(groups) - 1 or group.kept
            for key, cell in known.items() if is_over else ():
                if key not in own and cell.score is not None and cell.version == group.version:
                    own[key] = replace(cell, state="reused", index=place.index, cell=_name(place, group.version, key))
            known |= own
        cells += own.values()
    return tuple(cells), of


def _name(place: Place, version: int, key: tuple[str, int]) -> str:
    return f"{place.stage}-{place.index}-v{version}-{key[0]}-{key[1]}"


def _score(attempt: Attempt) -> float:
    answer = attempt.answer
    if attempt.stored is not None:
        return attempt.stored.run.score
    assert isinstance(answer, gate.Scored)
    return answer.score


def _cell(attempt: Attempt, place: Place, tries: int) -> CellView:
    evaluator, answer = attempt.evaluator, attempt.answer
    cell = CellView(
        cell=_name(place, attempt.request.expected_version, attempt.key),
        case_id=attempt.request.case_id,
        run=attempt.request.run,
        version=attempt.request.expected_version,
        stage=place.stage,
        index=place.index,
        state="running",
        session_id=attempt.target_id or None,
        evaluator_session_id=evaluator.session_id,
        attempt=tries,
        started=evaluator.first_ts,
    )
    if attempt.stored is not None:
        run = attempt.stored.run
        return replace(cell, state="scored", score=run.score, cost=run.cost, duration_ms=run.duration_ms)
    if isinstance(answer, gate.Scored):
        return replace(
            cell,
            state="scored",
            score=answer.score,
            cost=answer.cost,
            reported_cost=answer.cost,
            duration_ms=answer.duration_ms,
            session_id=answer.session_id,
        )
    if isinstance(answer, Failed):
        return replace(cell, state="failed", failure_code=answer.code, reason="its Evaluator says so")
    if isinstance(answer, Malformed):
        return replace(cell, state="failed", failure_code="malformed", reason=f"no valid answer: {answer.reason[:300]}")
    if evaluator.turn == "aborted":
        why = f": {evaluator.fault[:300]}" if evaluator.fault else ""
        return replace(cell, state="failed", failure_code="aborted", reason=f"its Evaluator was aborted{why}")
    if attempt.quiet:
        return replace(
            cell, state="interrupted", reason="its Evaluator has not answered, and nothing is written any more"
        )
    if evaluator.asked > 1:
        return replace(cell, state="repairing", reason="its Evaluator was asked again")
    return cell
