"""Budgets and estimates: unknown is not zero, and no budget is off by default."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.budgets import Budgets, Spent, exceeded
from core.agents.estimate import TYPICAL_SESSION, estimate
from core.models.interface import ModelEntry, ModelRef, Price

NOTHING = Spent(turns=0, seconds=0, tokens=0, cost_usd=0, repeats=0)


def test_defaults_are_limits() -> None:
    assert exceeded(Budgets(), NOTHING) is None
    for spent in (
        Spent(60, 0, 0, 0, 0),
        Spent(0, 1800, 0, 0, 0),
        Spent(0, 0, 2_000_000, 0, 0),
        Spent(0, 0, 0, 0, 5),
    ):
        assert exceeded(Budgets(), spent) is not None


@pytest.mark.parametrize(("configured", "limit"), [(None, 60), (-1, 60), (0, 60), (8, 8), (200, 200)])
def test_the_agents_own_limit(configured: int | None, limit: int) -> None:
    assert Budgets().with_max_turns(configured).max_turns == limit


@given(st.builds(Spent, *[st.integers(0, 10**7)] * 5), st.builds(Spent, *[st.integers(0, 10**7)] * 5))
def test_more_spent_is_never_less_exceeded(a: Spent, b: Spent) -> None:
    budgets = Budgets(cost_usd=100)
    more = Spent(*(max(getattr(a, name), getattr(b, name)) for name in Spent.__slots__))
    if exceeded(budgets, a) is not None:
        assert exceeded(budgets, more) is not None


def test_an_estimate_without_a_price_is_unknown() -> None:
    entry = ModelEntry(ModelRef("p", "m"))
    assert estimate(10, entry).usd is None
    assert estimate(10, entry).tokens == 10 * TYPICAL_SESSION.total
    priced = estimate(10, ModelEntry(ModelRef("p", "m"), price=Price(0.1, 1, 4)))
    assert priced.usd == pytest.approx(10 * (0.012 + 0.04 + 0.032))
    assert (priced.usd_low or 0) < (priced.usd or 0) < (priced.usd_high or 0)
    free = estimate(10, ModelEntry(ModelRef("p", "m"), price=Price(0, 0, 0)))
    assert free.usd == 0
