"""Which strategies an event brings in: conditions judged, the unknown completed or asked, one chosen (S9 to S20)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from core.strategy.conditions.condition import Judgement
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.utterance import normal
from core.strategy.conditions.view import View
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.completing import complete
from core.strategy.execution.paths import chosen
from core.strategy.execution.run import Frame, Run
from core.strategy.execution.selection import choose

TURN = "turn"


@dataclass(frozen=True, slots=True)
class Decision:
    """Who is used. `main` takes over, `modifiers` only skip, emit or add; `ask` are the names that the user must tell
    before `main` can be judged."""

    main: Compiled | None = None
    modifiers: tuple[Compiled, ...] = ()
    ask: tuple[str, ...] = ()


def candidates(run: Run, event: str, stack: Iterable[str] = ()) -> tuple[Compiled, ...]:
    """Return the strategies that wait for an event, for this user and at this moment, by id (S61, S62)."""
    waiting = run.bank.by_event.get(event, ())
    if run.assignment:
        others = (one for one in run.assignment.values() if one is not None and one.event == event)
        kept = (one for one in waiting if one.id not in run.assignment)
        waiting = tuple(sorted((*kept, *others), key=lambda one: one.id))
    busy = run.used.union(stack)
    if run.bank.undated and not run.assignment:
        return tuple(one for one in waiting if one.id not in busy) if busy else waiting
    now = run.clock.now()
    return tuple(one for one in waiting if one.id not in busy and one.in_force(now))


def judge_all(run: Run, frame: Frame, some: Iterable[Compiled], event: str) -> dict[str, Judgement]:
    """Judge the conditions of some strategies on one view."""
    some = [one for one in some if one.when is not None]
    paths = run.bank.paths_by_event.get(event, frozenset())
    if run.assignment:
        paths = paths.union(*(one.when.reads for one in some if one.when))
    values = chosen(frame.scope.at_once(), paths)
    view = View(values, run.memory, run.clock.now(), run.bank.registry.patterns)
    return {one.id: one.when.judge(view) for one in some if one.when is not None}


async def decide(run: Run, frame: Frame, event: str, key: str) -> Decision:
    """Return who is used upon an event. What providers can tell of unknown names is asked of them on the way."""
    waiting = candidates(run, event, frame.stack)
    if not waiting:
        return Decision()
    found = judge_all(run, frame, waiting, event)
    for one in waiting:
        trigger = one.strategy.trigger
        judged = found[one.id]
        if judged.truth is Truth.UNKNOWN and not judged.defect and trigger and trigger.when_unknown == "complete":
            known = [await complete(run, _as(frame, one), path, f"{key}.{one.id}") for path in judged.unknown]
            if any(known):
                found |= judge_all(run, frame, [one], event)
    fired = [one for one in waiting if found[one.id].truth is Truth.TRUE]
    asking = [one for one in waiting if _asks(one, found[one.id])]
    _tell(frame, key, event, waiting, found)
    modifiers = tuple(one for one in fired if one.modifies)
    main = _chosen(run, frame, key, event, [one for one in (*fired, *asking) if not one.modifies])
    asked = found[main.id].unknown if main in asking else ()
    return Decision(main, modifiers, asked)


def _asks(one: Compiled, judged: Judgement) -> bool:
    trigger = one.strategy.trigger
    asks = trigger is not None and trigger.when_unknown == "ask" and judged.truth is Truth.UNKNOWN
    return asks and bool(judged.unknown) and all(name in one.strategy.context.ask for name in judged.unknown)


def _chosen(run: Run, frame: Frame, key: str, event: str, some: list[Compiled]) -> Compiled | None:
    if not some:
        return None
    by_id = {one.id: one for one in some}
    choice = choose([one.rival for one in some], lambda wide, narrow: run.bank.wider(by_id[wide], by_id[narrow]))
    winner = by_id[choice.winner]
    frame.say(
        "chosen", key, by=choice.reason, strategy=winner.id, version=winner.strategy.version, beaten=choice.beaten
    )
    return _locked(run, frame, key, winner) if event == TURN else winner


def _locked(run: Run, frame: Frame, key: str, winner: Compiled) -> Compiled:
    """Keep the first way of a repeated question where the session is unsteady and the strategy asks for it (S122)."""
    stability = winner.strategy.trigger.stability if winner.strategy.trigger else None
    score = run.memory.stability
    if stability is None or score is None or score >= stability.min_score:
        return winner
    first = run.strategy(run.session.first_route(normal(run.utterance)) or "")
    if first is None or first.id == winner.id or first.event != TURN or not first.in_force(run.clock.now()):
        return winner
    frame.say("first path kept", key, strategy=first.id, instead_of=winner.id, stability=round(score, 4))
    return first


def _tell(frame: Frame, key: str, event: str, waiting: tuple[Compiled, ...], found: dict[str, Judgement]) -> None:
    unknown: dict[str, Any] = {
        one.id: list(found[one.id].unknown) for one in waiting if found[one.id].truth is Truth.UNKNOWN
    }
    defects = {one.id: found[one.id].defect for one in waiting if found[one.id].defect}
    fired = [one.id for one in waiting if found[one.id].truth is Truth.TRUE]
    if fired or unknown:
        frame.say("judged", key, on=event, fired=fired, unknown=unknown, defects=defects)


def _as(frame: Frame, one: Compiled) -> Frame:
    """Return the frame with another strategy's providers."""
    return Frame(one, frame.scope, frame.recorder, frame.key, frame.stack, frame.timings)
