"""How often, and after what wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.interface import ProviderError, StopReason
from core.models.retry import LONGEST_WAIT_S, delay_before_next


def test_five_waits_then_no_more() -> None:
    error = ProviderError("x")
    assert [delay_before_next(attempt, error) for attempt in range(1, 8)] == [2, 4, 8, 16, 30, None, None]


@pytest.mark.parametrize("status", ["auth", "aborted", "completed"])
def test_only_what_may_pass_is_tried_again(status: StopReason) -> None:
    assert delay_before_next(1, ProviderError("x", status=status)) is None


@given(st.integers(1, 5), st.floats(0, LONGEST_WAIT_S))
def test_the_servers_wish_is_a_floor(attempt: int, wish: float) -> None:
    plain = delay_before_next(attempt, ProviderError("x"))
    wished = delay_before_next(attempt, ProviderError("x", retry_after_s=wish))
    assert plain is not None
    assert wished == max(plain, wish)


@given(st.integers(1, 5), st.floats(LONGEST_WAIT_S, 1e9, exclude_min=True))
def test_a_wish_beyond_patience_ends_it(attempt: int, wish: float) -> None:
    assert delay_before_next(attempt, ProviderError("x", retry_after_s=wish)) is None
