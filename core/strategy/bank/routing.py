"""Routing tests: does a strategy fire on the utterances on which it must, and not on the others (X5).

Judged as a turn is: the conditions of all strategies that wait for the same event, on what the example sets, and the
rule that chooses among those that hold. No skill is called: what an example does not set is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from core.strategy.conditions.memory import Memory
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View
from core.strategy.documents.strategy import Example
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.paths import with_value
from core.strategy.execution.selection import choose


@dataclass(frozen=True, slots=True)
class Routed:
    """One example and how it went.

    `winner` is the strategy that is used, "" for none; `reason` says, where it isn't `ok`, why. `weak`: it stays away
    only because a name isn't known, so it could fire where the name is.
    """

    strategy_id: str
    kind: Literal["fire", "no_fire"]
    number: int
    utterance: str
    ok: bool
    weak: bool
    winner: str
    reason: str

    @property
    def text(self) -> str:
        """Say it in a line."""
        what = "must fire" if self.kind == "fire" else "must not fire"
        said = f" on {self.utterance!r}" if self.utterance else ""
        return f"{self.strategy_id} {what}{said}: {self.reason or 'yes'}"


def routed(bank: CompiledBank, now: datetime) -> tuple[Routed, ...]:
    """Return every routing test of the bank, by strategy and in the order of the file. Pure."""
    return tuple(one for _, compiled in sorted(bank.strategies.items()) for one in _of(bank, compiled, now))


def _of(bank: CompiledBank, compiled: Compiled, now: datetime) -> Iterator[Routed]:
    trigger = compiled.strategy.trigger
    if trigger is None:
        return
    for number, example in enumerate(trigger.examples.fire, 1):
        yield _judged(bank, compiled, "fire", number, example, now)
    for number, example in enumerate(trigger.examples.no_fire, 1):
        yield _judged(bank, compiled, "no_fire", number, example, now)


def _judged(
    bank: CompiledBank,
    compiled: Compiled,
    kind: Literal["fire", "no_fire"],
    number: int,
    example: Example,
    now: datetime,
) -> Routed:
    assert compiled.when is not None
    assert compiled.event is not None
    view = View(values_of(example, compiled.event), Memory(), now, bank.registry.patterns)
    judged = compiled.when.judge(view)
    rivals = [one for one in bank.by_event.get(compiled.event, ()) if not one.modifies or one.id == compiled.id]
    fired = [one for one in rivals if one.when is not None and one.when.judge(view).truth is Truth.TRUE]
    winner = _winner(bank, compiled, fired)
    weak = False
    reason = ""
    if judged.defect:
        reason = f"its condition can't be judged: {judged.defect}"
    elif kind == "fire":
        if judged.truth is Truth.UNKNOWN:
            reason = f"not known there: {', '.join(judged.unknown)}; set it in the example"
        elif judged.truth is Truth.FALSE:
            reason = "its condition does not hold"
        elif winner != compiled.id:
            reason = f"{winner} goes before it"
    elif judged.truth is Truth.TRUE and winner == compiled.id:
        reason = "it does"
    else:
        weak = judged.truth is Truth.UNKNOWN
    return Routed(compiled.id, kind, number, example.utterance, not reason, weak, winner, reason)


def _winner(bank: CompiledBank, compiled: Compiled, fired: list[Compiled]) -> str:
    if compiled.modifies and compiled in fired:
        return compiled.id  # it goes along with whatever is used
    fired = [one for one in fired if not one.modifies]
    if not fired:
        return ""
    by_id = {one.id: one for one in fired}
    return choose([one.rival for one in fired], lambda wide, narrow: bank.wider(by_id[wide], by_id[narrow])).winner


def values_of(example: Example, event: str) -> dict[str, Any]:
    """Return what is known in an example: what it sets by path, its utterance, and its event."""
    values: dict[str, Any] = {"turn": {"count": 1}, "session": {"id": "example"}, "event": _event(event)}
    if example.utterance:
        values["utterance"] = example.utterance
    for path, value in example.set.items():
        values = with_value(values, path, value)
    return values


def _event(event: str) -> dict[str, str]:
    _, _, about = event.partition(":")
    skill, _, code = about.partition("/")
    return {"name": event, **({"skill": skill} if skill else {}), **({"code": code} if code else {})}
