"""How often a model saw what the user wanted, as far as somebody told what that was (STRATEGY S95)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from core.strategy.bank import turns
from core.strategy.bank.dashboards import Share
from core.strategy.bank.outcomes import OutcomeLine
from core.strategy.bank.turns import Turn
from core.strategy.conditions.utterance import normal

KEY = "intent"
"""Key of the outcome that says what a session's user wanted: `exuvia strategy outcome SESSION intent=refund`."""


def accuracy(taken: Iterable[Turn], told: Mapping[str, Mapping[str, OutcomeLine]]) -> Share:
    """Return of how many sessions the first intent that was suggested is the one that somebody told. Pure.

    Sessions of which nobody told, or in which no intent was suggested, count nowhere.
    """
    first: dict[str, str] = {}
    for turn in taken:
        intent = turn.suggestion.get("intent")
        if isinstance(intent, str) and intent and turn.session not in first:
            first[turn.session] = normal(intent)
    known = [session for session in first if KEY in told.get(session, {})]
    right = sum(first[session] == normal(str(told[session][KEY].value)) for session in known)
    return Share(right, len(known))


def of_sessions(records: Path, sessions: Iterable[str], told: Mapping[str, Mapping[str, OutcomeLine]]) -> Share:
    """Return the accuracy over `sessions`; only those of which somebody told are read."""
    wanted = [session for session in sorted(set(sessions)) if KEY in told.get(session, {})]
    return accuracy((turn for session in wanted for turn in turns.read(records, session)[0]), told)
