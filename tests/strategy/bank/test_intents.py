"""Accuracy of intents: what was suggested against what somebody told afterwards (S95)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.strategy.bank import intents, outcomes, turns
from core.strategy.bank.turns import Turn


def turn(session: str, number: int, intent: str) -> Turn:
    suggestion = {"intent": intent} if intent else {}
    return Turn(session, number, "2026-12-01T10:00:00+00:00", "clerk", "c", "done", "", "", "hi", suggestion, ())


@pytest.mark.meets("S95")
def test_only_told_sessions_count_and_the_first_suggestion_decides(tmp_path: Path) -> None:
    said = (("s1", 1, "Refund"), ("s1", 2, "other"), ("s2", 1, "track"), ("s3", 1, "refund"), ("s4", 1, ""))
    for one in said:
        turns.append(tmp_path, turn(*one))
    for session, wanted in (("s1", "refund!"), ("s2", "refund"), ("s4", "refund")):
        outcomes.record(tmp_path, session, {"intent": wanted}, source="test")
    told = outcomes.latest(outcomes.read(tmp_path))
    share = intents.of_sessions(tmp_path, ("s1", "s2", "s3", "s4", "never"), told)
    assert (share.hits, share.count) == (1, 2)
    nothing = intents.of_sessions(tmp_path, ("s3",), told)
    assert nothing.value is None
