"""The rubric reader: 100 points, items by number, checks that fit their items."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evolution.rubric import RubricError, parse_items, rubric_of

CHECKS = """\
checks:
  - id: rows
    item: 1
    points: 30
    asserts: the rows are there
    command: test -s out.csv
"""


def test_items_are_numbered_in_order_and_prose_is_not_an_item() -> None:
    items = parse_items("# Rubric\n\n- 40 pts: the rows\n- remember: this is prose\n- 60: the order\n")
    assert [(item.number, item.points, item.text) for item in items] == [(1, 40.0, "the rows"), (2, 60.0, "the order")]


def test_what_checks_leave_of_an_item_is_judged() -> None:
    rubric = rubric_of("CASE-x", "- 40 pts: rows\n- 60 pts: order\n", CHECKS)
    assert rubric.checked_points(1) == 30.0
    assert rubric.checked_points(2) == 0.0


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8).filter(lambda points: sum(points) != 100))
def test_only_a_total_of_100_is_a_rubric(points: list[int]) -> None:
    readme = "\n".join(f"- {value} pts: something" for value in points)
    with pytest.raises(RubricError, match="not 100"):
        rubric_of("CASE-x", readme, None)


@pytest.mark.parametrize(
    ("checks", "word"),
    [
        (CHECKS.replace("item: 1", "item: 3"), "does not have"),
        (CHECKS.replace("points: 30", "points: 41"), "of its 40"),
        (CHECKS.replace("points: 30", "points: true"), "no points"),
        (CHECKS.replace("points: 30", "points: .nan"), "no points"),
        (CHECKS + CHECKS.split("\n", 1)[1], "twice"),
        ("checks: yes please", "no list"),
        ("checks: [", "checks.yaml"),
        (CHECKS + "    weight: 2\n", "exactly the keys"),
    ],
)
def test_checks_that_do_not_fit_are_named(checks: str, word: str) -> None:
    with pytest.raises(RubricError, match=word):
        rubric_of("CASE-x", "- 40 pts: rows\n- 60 pts: order\n", checks)
