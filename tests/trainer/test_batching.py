"""Batches of many lengths: every row once, within budget, equal prompts together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainer.policies.batching import common_prefix, distinct, scoring_batches, sorted_batches

ROWS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=12)


@given(ROWS)
def test_a_common_prefix_is_common_and_leaves_every_row_a_token(rows: list[list[int]]) -> None:
    length = common_prefix(rows)
    assert all(row[:length] == rows[0][:length] for row in rows)
    assert all(len(row) > length for row in rows)
    longer = length + 1
    assert any(row[:longer] != rows[0][:longer] or len(row) <= longer for row in rows)


@given(ROWS)
def test_distinct_rows_lead_back_to_every_row(rows: list[list[int]]) -> None:
    kinds, which = distinct(rows)
    assert [list(kinds[kind]) for kind in which] == rows
    assert len({tuple(kind) for kind in kinds}) == len(kinds)


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=40),
    st.floats(10, 200),
    st.integers(1, 9),
)
def test_sorted_batches_hold_every_row_once_within_budget(costs: list[int], budget: float, limit: int) -> None:
    batches = sorted_batches(costs, budget=budget, limit=limit)
    assert sorted(row for batch in batches for row in batch) == list(range(len(costs)))
    for batch in batches:
        assert len(batch) <= limit
        assert len(batch) == 1 or max(costs[row] for row in batch) * len(batch) <= budget
    lengths = [costs[row] for batch in batches for row in batch]
    assert lengths == sorted(lengths, reverse=True)


@given(ROWS, st.data())
def test_scoring_batches_keep_equal_prompts_together(prompts: list[list[int]], data: st.DataObject) -> None:
    answers = [data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=5)) for _ in prompts]
    batches = scoring_batches(prompts, answers, budget=10_000, limit=100)
    assert sorted(row for batch in batches for row in batch) == list(range(len(prompts)))
    for prompt in prompts:
        rows = [row for row, other in enumerate(prompts) if other == prompt]
        if len(rows) > 1:
            assert [batch for batch in batches if set(rows) == set(batch)]


def test_what_all_prompts_share_costs_no_budget() -> None:
    shared = list(range(100))
    prompts = [[*shared, 200 + row] for row in range(8)]
    assert len(scoring_batches(prompts, [[1, 2]] * 8, budget=8 * 4, limit=100)) == 1
