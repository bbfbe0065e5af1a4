"""Keeping or not is arithmetic over valid scores, and the same from both sides."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evolution.verdict import (
    SeparatingPrediction,
    case_score,
    complete,
    decide,
    difference,
    matrix_score,
    missed,
    prediction_held,
)

scores = st.integers(0, 10_000).map(lambda hundredths: hundredths / 100)


@given(scores, scores)
def test_swapping_candidate_and_reference_only_changes_the_sign(a: float, b: float) -> None:
    assert difference(a, b) == -difference(b, a)


@given(scores, scores)
def test_only_strictly_greater_is_accepted(a: float, b: float) -> None:
    assert decide(a, b) == ("accepted" if a > b else "rejected")
    assert decide(a, a) == "rejected"
    assert {decide(a, b), decide(b, a)} != {"accepted"}


@given(scores)
def test_a_matrix_without_a_score_is_never_compared(reference: float) -> None:
    assert decide(None, reference) == "unevaluable"


@given(st.dictionaries(st.text(min_size=1), st.lists(scores, min_size=1, max_size=3), min_size=1, max_size=5))
def test_the_mean_lies_between_the_lowest_and_the_highest(cases: dict[str, list[float]]) -> None:
    every = [score for runs in cases.values() for score in runs]
    assert min(every) - 0.011 <= matrix_score(cases) <= max(every) + 0.011


def test_means_round_half_up_to_two_decimals() -> None:
    assert case_score([0.0, 0.01]) == 0.01
    assert matrix_score({"a": [70.0, 85.0], "b": [60.0]}) == 68.75


@pytest.mark.parametrize("bad", [[], [math.nan], [math.inf], [100.01], [-1.0], [True]])
def test_what_is_no_score_has_no_mean(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="score"):
        case_score(bad)


def test_an_empty_matrix_is_an_error_not_a_zero() -> None:
    with pytest.raises(ValueError, match="empty"):
        matrix_score({})


def test_a_matrix_is_complete_only_with_every_run_of_every_case_and_nothing_else() -> None:
    full = {"a": [1.0, 2.0], "b": [3.0, 4.0]}
    assert complete(full, wanted=["a", "b"], runs=2)
    assert not complete({"a": [1.0, 2.0], "b": [3.0]}, wanted=["a", "b"], runs=2)
    assert not complete({"a": [1.0, 2.0]}, wanted=["a", "b"], runs=2)
    assert not complete(full, wanted=["a"], runs=2)
    assert not complete({}, wanted=[], runs=2)


def test_a_prediction_holds_when_each_case_moves_the_predicted_way() -> None:
    reference = {"a": 40.0, "b": 50.0}
    assert prediction_held({"a": 90.0, "b": 50.0}, {"a": 60.0, "b": 10.0}, reference) is True
    assert prediction_held({"a": 90.0}, {"a": 40.0}, reference) is False
    assert prediction_held({"a": 90.0, "b": 80.0}, {"a": 95.0, "b": 45.0}, reference) is False
    assert prediction_held({"a": 40.0}, {"a": 90.0}, reference) is None
    assert prediction_held({"a": 90.0}, {}, reference) is None


@pytest.mark.parametrize(
    ("desired", "observed", "expected"),
    [
        (90.0, 30.0, False),
        (90.0, 40.0, False),
        (90.0, 40.1, True),
        (90.0, 20.0, False),
        (90.0, 19.0, True),
        (90.0, 90.0, True),
        (40.0, 36.0, True),
        (40.0, 35.0, False),
    ],
)
def test_a_prediction_is_missed_by_more_than_ten_points_or_by_meeting_the_other_behaviour(
    desired: float, observed: float, *, expected: bool
) -> None:
    assert missed(SeparatingPrediction(30.0, desired), observed) is expected
