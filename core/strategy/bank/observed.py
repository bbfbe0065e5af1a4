"""The calls of skills in the turns that are kept: what drafts of skills' schemas are made of (STRATEGY S2)."""

from __future__ import annotations

from core.strategy.bank import turns
from core.strategy.bank.bank import Bank
from core.strategy.schema.draft import Observed, observed_in


def calls_seen(bank: Bank, agent_id: str) -> dict[str, list[Observed]]:
    """Return by skill the calls that an agent's sessions made, those of one session in order."""
    found: dict[str, list[Observed]] = {}
    for session in turns.sessions(bank.records):
        mine = [turn for turn in turns.read(bank.records, session)[0] if turn.agent == agent_id]
        for skill, calls in observed_in((turn.utterance, turn.events) for turn in mine).items():
            found.setdefault(skill, []).extend(calls)
    return found
