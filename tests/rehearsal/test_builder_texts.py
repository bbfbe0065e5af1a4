"""What the rehearsal's Builder writes about its own work, in words that a newcomer cannot take the wrong way round."""

from __future__ import annotations

import pytest

from core.models.rehearsal.builder_texts import freeze_reason


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (42.33, "Pilot 3 of 4 scored 42.33; at most 45 is wanted. No defect is known."),
        (61, "Pilot 3 of 4 scored 61, the lowest reached; at most 45 is wanted. No defect is known."),
    ],
    ids=["met", "not met"],
)
def test_a_freeze_says_that_a_low_score_is_what_is_wanted(score: float, told: str) -> None:
    state = {"lowest_pilot": 3, "pilots": [{"i": 3, "score": score}], "baseline_wanted": 45, "pilot_limit": 4}
    assert freeze_reason(state) == told
