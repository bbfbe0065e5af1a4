"""One evaluation of a scoreboard and its arithmetic (EVOLUTION 2.2 no. 40 to 46).

The models accept and refuse exactly what the existing system does; unknown keys are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from core.foundation.clock import now_s
from core.foundation.errors import RefusedError


def _finite(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a boolean is no number")
    if not isinstance(value, int | float):
        raise ValueError("must be a number")
    if isinstance(value, int) and abs(value) > 2**1023:
        raise ValueError("must be a finite number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number + 0.0  # -0.0 becomes 0.0


def _whole(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a boolean is no number")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int):
        raise ValueError("must be a whole number")
    return value


def _text_or_nothing(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _listed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Score = Annotated[float, BeforeValidator(_finite), Field(ge=0, le=100)]
Cost = Annotated[float, BeforeValidator(_finite), Field(ge=0)]
Milliseconds = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
Name = Annotated[str, Field(min_length=1, strict=True)]
_NoteText = Annotated[str | None, BeforeValidator(_text_or_nothing)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class RunScore(_Record):
    """One Run of one Case: score 0..100, cost in USD or None where unknown, duration in ms, the Target's session."""

    score: Score
    cost: Cost | None
    duration_ms: Milliseconds
    session_id: Name


class CaseScore(_Record):
    """A Case's means over its Runs, and the Runs."""

    case: Name
    score: Score
    cost: Cost | None
    duration_ms: Milliseconds
    runs: Annotated[tuple[RunScore, ...], BeforeValidator(_listed), Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _old_scale(cls, record: object) -> object:
        if isinstance(record, Mapping) and "max_score" in record:
            raise ValueError("max_score belongs to an older scale; scores are 0 to 100")
        return record


class Runtime(NamedTuple):
    """What an evaluation ran on."""

    provider: str
    model_id: str
    thinking_level: str


class Evaluation(_Record):
    """One row of the score history. `time` is any non-empty text; `version` is the agent's version."""

    time: Name
    version: Annotated[int, BeforeValidator(_whole), Field(ge=1)]
    provider: Name
    model_id: Name
    thinking_level: Name
    summary_title: _NoteText = None
    summary: _NoteText = None
    score: Score
    cost: Cost | None
    duration_ms: Milliseconds
    cases: Annotated[tuple[CaseScore, ...], BeforeValidator(_listed), Field(min_length=1)]

    @property
    def runtime(self) -> Runtime:
        """Provider, model and thinking level: only evaluations of one runtime are comparable."""
        return Runtime(self.provider, self.model_id, self.thinking_level)

    def as_golden(self) -> dict[str, Any]:
        """Return what the existing system answers for this evaluation."""
        notes = {"summaryTitle": self.summary_title, "summary": self.summary}
        return {
            "time": self.time,
            **{key: text for key, text in notes.items() if text is not None},
            "modelId": self.model_id,
            "provider": self.provider,
            "thinkingLevel": self.thinking_level,
            "score": self.score,
            "version": self.version,
            "cost": self.cost,
            "durationMs": self.duration_ms,
            "cases": [_case_as_golden(case) for case in self.cases],
        }


def _case_as_golden(case: CaseScore) -> dict[str, Any]:
    return {
        "case": case.case,
        "score": case.score,
        "cost": case.cost,
        "durationMs": case.duration_ms,
        "runs": [
            {"score": run.score, "cost": run.cost, "durationMs": run.duration_ms, "sessionId": run.session_id}
            for run in case.runs
        ],
    }


def why_refused(error: ValidationError) -> str:
    """Return the first reason of a refusal, with the place inside the record: `cases[0].runs[1].score: ...`."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ""
    for step in first["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
    reasons = {"missing": "is missing", "too_short": "is empty", "string_too_short": "is empty"}
    reason = reasons.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    return f"{place}: {reason}" if place else reason


def mean_score(scores: Iterable[float]) -> float:
    """Return the mean at two decimals, halves up: floor(x * 100 + 0.5) / 100 (no. 45)."""
    return math.floor(_mean(scores) * 100 + 0.5) / 100


def mean_cost(costs: Iterable[float | None]) -> float | None:
    """Return the mean of the known costs at six decimals; None only where none is known."""
    known = [cost for cost in costs if cost is not None]
    return math.floor(_mean(known) * 1e6 + 0.5) / 1e6 if known else None


def mean_duration(durations: Iterable[int]) -> int:
    """Return the mean in whole milliseconds, halves up."""
    return math.floor(_mean(durations) + 0.5)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    if not listed:
        raise RefusedError("there is no mean of nothing", hint="score at least one Run first; invalid is never zero")
    return sum(listed) / len(listed)


def evaluation_of(
    version: int,
    runtime: tuple[str, str, str],
    cases: Mapping[str, Sequence[RunScore]],
    *,
    time: str | None = None,
    title: str | None = None,
    summary: str | None = None,
) -> Evaluation:
    """Return the evaluation of scored Runs: a Case is the mean of its Runs, the whole the mean of its Cases.

    The whole is taken over the Cases' rounded means, so that the file can be checked from itself. Cases keep their
    order. Raises RefusedError where a Case has no Run or there is no Case.
    """
    scored = tuple(
        CaseScore(
            case=case_id,
            score=mean_score(run.score for run in runs),
            cost=mean_cost(run.cost for run in runs),
            duration_ms=mean_duration(run.duration_ms for run in runs),
            runs=tuple(runs),
        )
        for case_id, runs in cases.items()
    )
    provider, model_id, thinking_level = runtime
    return Evaluation(
        time=time or now_s(),
        version=version,
        provider=provider,
        model_id=model_id,
        thinking_level=thinking_level,
        summary_title=title,
        summary=summary,
        score=mean_score(case.score for case in scored),
        cost=mean_cost(case.cost for case in scored),
        duration_ms=mean_duration(case.duration_ms for case in scored),
        cases=scored,
    )
