"""What an evaluation may hold, and its means."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.foundation.errors import RefusedError
from core.state.evaluation import (
    Evaluation,
    RunScore,
    evaluation_of,
    mean_cost,
    mean_duration,
    mean_score,
    why_refused,
)

RUN = {"score": 50, "cost": None, "duration_ms": 10, "session_id": "s"}
CASE = {"case": "CASE-1", "score": 50, "cost": None, "duration_ms": 10, "runs": [RUN]}
WHOLE: dict[str, Any] = {
    "time": "yesterday",
    "version": 1,
    "provider": "custom",
    "model_id": "m",
    "thinking_level": "medium",
    "score": 50,
    "cost": None,
    "duration_ms": 10,
    "cases": [CASE],
}


def _with(place: str, value: object) -> dict[str, Any]:
    record = copy.deepcopy(WHOLE)
    at: Any = record
    *steps, last = place.split("/")
    for step in steps:
        at = at[int(step)] if step.isdigit() else at[step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return record


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("version", 1.0),
        ("duration_ms", 10.0),
        ("duration_ms", 0),
        ("score", 0),
        ("score", 100.0),
        ("cost", 0),
        ("cost", 1e-7),
        ("max_score", 5),
        ("agent_id", "x"),
        ("time", "2026-01-01"),
        ("thinking_level", "none"),
        ("summary", 5),
        ("cases/0/case", "not on disk"),
        ("cases/0/runs/0/max_score", 5),
    ],
)
def test_accepted_as_the_existing_system_does(place: str, value: object) -> None:
    Evaluation.model_validate(_with(place, value))


@pytest.mark.parametrize("where", ["", "cases/0/", "cases/0/runs/0/"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("score", 100.5),
        ("score", -0.01),
        ("score", "50"),
        ("score", True),
        ("score", math.nan),
        ("score", None),
        ("score", ...),
        ("cost", -1),
        ("cost", math.inf),
        ("cost", "0"),
        ("cost", False),
        ("cost", ...),
        ("duration_ms", 10.5),
        ("duration_ms", "1_000"),
        ("duration_ms", -1),
        ("duration_ms", True),
        ("duration_ms", math.inf),
        ("duration_ms", math.nan),
    ],
)
def test_numbers_refused_at_every_level(where: str, key: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Evaluation.model_validate(_with(where + key, value))


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("version", 0, "version: Input should be greater than or equal to 1"),
        ("version", 1.5, "version: must be a whole number"),
        ("version", True, "version: a boolean is no number"),
        ("time", "", "time: is empty"),
        ("provider", True, "provider: Input should be a valid string"),
        ("model_id", 5000.0, "model_id: Input should be a valid string"),
        ("thinking_level", None, "thinking_level: Input should be a valid string"),
        ("thinking_level", ..., "thinking_level: is missing"),
        ("cases", [], "cases: is empty"),
        ("cases", {}, "cases: Input should be a valid tuple"),
        ("cases/0/max_score", 5, "cases[0]: max_score belongs to an older scale; scores are 0 to 100"),
        ("cases/0/runs", [], "cases[0].runs: is empty"),
        ("cases/0/runs/0/session_id", ..., "cases[0].runs[0].session_id: is missing"),
        ("cases/0/runs/0/session_id", "", "cases[0].runs[0].session_id: is empty"),
    ],
)
def test_refusals_say_where_and_why(place: str, value: object, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Evaluation.model_validate(_with(place, value))
    assert why_refused(refused.value) == reason


def test_minus_zero_is_zero() -> None:
    assert math.copysign(1, RunScore.model_validate({**RUN, "score": -0.0}).score) == 1


def test_halves_round_up() -> None:
    assert mean_duration([470, 471]) == 471
    assert mean_duration([0, 1]) == 1
    assert mean_score([0.005, 0.005]) == 0.01
    assert mean_score([70, 85]) == 77.5
    assert mean_cost([0.0000005]) == 0.000001


def test_an_unknown_cost_is_not_zero() -> None:
    assert mean_cost([None, 0.01, 0]) == 0.005
    assert mean_cost([None, None]) is None


def test_nothing_has_no_mean() -> None:
    with pytest.raises(RefusedError):
        mean_score([])
    with pytest.raises(RefusedError):
        evaluation_of(1, ("p", "m", "medium"), {"CASE-1": []})
    with pytest.raises(RefusedError):
        evaluation_of(1, ("p", "m", "medium"), {})


def test_the_worked_numbers_of_the_format() -> None:
    def runs(*rows: tuple[float, float | None, int]) -> list[RunScore]:
        return [RunScore(score=s, cost=c, duration_ms=d, session_id=f"s{d}") for s, c, d in rows]

    first = runs((50, 0.012, 42000), (70, 0.014, 48000))
    second = runs((60, None, 66000), (60, None, 74000))
    whole = evaluation_of(1, ("deepseek", "deepseek-v4-pro", "medium"), {"CASE-1": first, "CASE-2": second}, time="t")
    assert [(c.score, c.cost, c.duration_ms) for c in whole.cases] == [(60, 0.013, 45000), (60, None, 70000)]
    assert (whole.score, whole.cost, whole.duration_ms) == (60, 0.013, 57500)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_a_mean_stays_between_its_values(scores: list[float]) -> None:
    assert min(scores) - 0.01 <= mean_score(scores) <= min(100, max(scores) + 0.01)
