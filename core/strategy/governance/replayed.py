"""Turns that were kept, as they stood when they were decided: to replay conditions and compare ways (S121, S123).

A turn is kept with what the session knew after it; what it knew before is what it knew after the turn before, and what
was said. Of a turn that asked something only the beginning counts. Strategies that wait for an event in the middle of a
plan can't be replayed so: what was known at that moment isn't kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.strategy.bank import turns
from core.strategy.bank.bank import Bank
from core.strategy.bank.states import moment
from core.strategy.bank.turns import Turn
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.utterance import normal
from core.strategy.conditions.view import View
from core.strategy.execution.session import stability
from core.strategy.governance.troubleshoot import Asked

_LATER = "level2"
_OF_THE_TURN = frozenset({"utterance", "utterance_raw", "intent", "turn", "session", "user", "event"})


@dataclass(frozen=True, slots=True)
class Moment:
    """A turn's beginning: the turn as it was kept, what was known before it, and what had run."""

    turn: Turn
    known: Mapping[str, Any]
    memory: Memory


def moments(bank: Bank) -> Iterator[Moment]:
    """Yield the beginning of every turn that is kept, session by session."""
    for session in turns.sessions(bank.records):
        yield from of_session(turns.read(bank.records, session)[0])


def of_session(kept: Iterable[Turn]) -> Iterator[Moment]:
    """Yield the beginnings of one session's turns, in order. Pure."""
    known: Mapping[str, Any] = {}
    past: list[Past] = []
    routes: list[tuple[str, str]] = []
    seen: set[int] = set()
    for turn in kept:
        if turn.turn not in seen and turn.kind != _LATER:
            seen.add(turn.turn)
            yield Moment(turn, known, Memory(tuple(past), turn.turn, stability(routes)))
            routes.append((normal(turn.utterance), turn.strategy))
        for event in turn.events:
            if event.get("event") == "called":
                code = str(event.get("code") or "")
                past.append(Past(turn.turn, str(event.get("skill")), not code, code))
        known = turn.context


def view_of(one: Moment, patterns: Mapping[str, str]) -> View:
    """Return what conditions on the event `turn` saw at a moment."""
    turn, said = one.turn, one.turn.suggestion
    intent = {"name": said.get("intent"), "confidence": said.get("confidence"), "skill": said.get("intended_skill")}
    values = {
        **one.known,
        "utterance": turn.utterance,
        "utterance_raw": turn.utterance,
        "intent": {key: value for key, value in intent.items() if value not in ("", None)},
        "user": dict(turn.user),
        "session": {**_map(one.known.get("session")), "id": turn.session},
        "turn": {"count": turn.turn},
        "event": {"name": "turn"},
    }
    return View(values, one.memory, moment(turn.time), patterns)


def asked_of(one: Moment) -> Asked:
    """Return a moment as the comparison of ways takes it."""
    confidence = one.turn.suggestion.get("confidence")
    sure = float(confidence) if isinstance(confidence, int | float) and not isinstance(confidence, bool) else None
    known = {key: value for key, value in one.known.items() if key not in _OF_THE_TURN}
    turn = one.turn
    return Asked(turn.session, turn.turn, turn.utterance, sure, known, turn.strategy or None)


def intents(bank: Bank) -> frozenset[str]:
    """Return the different intents that models named in the turns that are kept: how many kinds of task there are."""
    named = (str(one.turn.suggestion.get("intent") or "") for one in moments(bank))
    return frozenset(name for name in named if name)


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
