"""Points of rubric items are finite numbers for numbered items, or they are not recorded (FAULTS: scores)."""

from __future__ import annotations

from typing import Any

import pytest

from core.evolution.evaluator_tools import items_problem
from core.evolution.rubric import rubric_of
from core.evolution.verdict import case_score

RUBRIC = rubric_of("CASE-001", "- 60 pts: the sum\n- 40 pts: the file\n", None)


@pytest.mark.parametrize("points", [True, None, "60", float("nan"), float("inf"), 10**400, -1, 61, [60]], ids=str)
def test_what_is_no_number_of_points_is_told(points: Any) -> None:
    entries = [{"item": 1, "points": points}, {"item": 2, "points": 40}]
    assert items_problem(RUBRIC, (), entries) is not None


@pytest.mark.parametrize("item", [True, 1.0, "1", None, 0, 3, 10**400], ids=str)
def test_what_numbers_no_item_is_told(item: Any) -> None:
    entries = [{"item": item, "points": 60}, {"item": 2, "points": 40}]
    assert items_problem(RUBRIC, (), entries) is not None


def test_items_that_fit_are_taken() -> None:
    assert items_problem(RUBRIC, (), [{"item": 2, "points": 0}, {"item": 1, "points": 60}]) is None


def test_a_number_that_no_float_holds_is_no_score() -> None:
    with pytest.raises(ValueError, match="no score"):
        case_score([10**400])
