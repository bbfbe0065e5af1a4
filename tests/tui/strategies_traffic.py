"""Traffic on the shop's bank: visits are served by the real executor, and what it leaves is kept as in a Project.

The version in gray answers those who are drawn for it; for the others it runs in shadow of the active one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from core.state.paths import ProjectPaths
from core.strategy.bank import executions, outcomes, shadow, turns
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.changes import FEEDBACK
from core.strategy.bank.serving import group_of, user_of
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.session import SessionState
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion, read
from core.strategy.execution.turn import TurnResult, run_turn
from core.strategy.feedback.bad_cases import Queue, capture
from core.strategy.shop.banks import REPLAYED, replayed_files, settings
from core.strategy.shop.desk import Desk
from core.strategy.shop.talk import Model, suggest
from core.strategy.shop.toolbox import schemas, skills
from core.strategy.shop.visits import Visit, opened, visits

OLD, NEW = 3, 4


def compiled(version: int) -> CompiledBank:
    """Return the shop's bank with a version of the replayed strategy."""
    bank = compile_bank(replayed_files(version), settings(), schemas())
    assert not bank.faults
    return bank


def serve(project: ProjectPaths, seed: int, begin: datetime, *, apart: timedelta = timedelta(minutes=7)) -> int:
    """Serve the visits of a seed, one each `apart` from `begin` on, and keep all that is tracked; return the turns.

    Who sees the new version is drawn as in a Project.
    """
    return asyncio.run(_serve(bank_of(project), seed, begin, apart))


async def _serve(bank: Bank, seed: int, begin: datetime, apart: timedelta) -> int:
    shown = visits(seed)
    standing = bank.standing(REPLAYED, NEW)
    count = 0
    for number, visit in enumerate(shown):
        clock = VirtualClock(begin + number * apart)
        shop = opened(shown, clock)
        shop.begin(visit.customer.id, visit.fate)
        own = skills(Desk(shop, visit.customer))
        user = {**visit.customer.attributes(), "business_line": "aftersale"}
        store = ContextStore()
        session = SessionState(f"{visit.id}-{seed}", store, user)
        session.put({name: value for name, value in visit.knows.items() if name != "user"})
        for at, turn in enumerate(visit.turns):
            said = suggest(Model(), turn.task, turn.arguments, f"{visit.id}:{at}", visit.customer.age_band)
            suggestion, dropped = read(said)
            await _turn(
                bank,
                visit,
                session,
                turn.utterance,
                suggestion,
                own,
                clock,
                said,
                dropped,
                new=group_of(standing, user_of(user)) == "gray",
            )
            count += 1
        solved = not any(ticket.id.startswith("H") for ticket in shop.tickets.values())
        outcomes.record(bank.records, session.id, {"resolved_without_human": solved}, source="desk",
                        time=(clock.now() + timedelta(seconds=5)).isoformat())  # fmt: skip
        store.close()
    return count


async def _turn(
    bank: Bank, visit: Visit, session: SessionState, utterance: str, suggestion: Suggestion, own: Any,
    clock: VirtualClock, said: Mapping[str, Any], dropped: tuple[str, ...], *, new: bool,
) -> None:  # fmt: skip
    time = clock.now().isoformat(timespec="milliseconds")
    comparisons: tuple[dict[str, Any], ...] = ()
    if new:
        result = await run_turn(_BANKS[NEW], session, utterance, suggestion, own, clock, dropped=dropped)
    else:
        one = _BANKS[NEW].strategies["aftersale.paid_no_parcel"]
        found = await shadow.shadow_turn(
            _BANKS[OLD], one, session, utterance, suggestion, own, clock, dropped=dropped
        )  # fmt: skip
        result = found.answer
        if found.comparison.fired_old or found.comparison.fired_new:
            comparisons = (found.comparison.to_json(),)
            shadow.append(bank, found.comparison)
    _keep(bank, visit, session, utterance, result, said, comparisons, time)


def _keep(
    bank: Bank, visit: Visit, session: SessionState, utterance: str, result: TurnResult, said: Mapping[str, Any],
    comparisons: tuple[dict[str, Any], ...], time: str,
) -> None:  # fmt: skip
    kept = turns.Turn(
        session.id, session.turn, time, "clerk", f"call_{session.turn}", result.kind, result.code, result.strategy,
        utterance, dict(said), result.trace.events, result.executions, comparisons, dict(session.user),
        dict(session.values()),
    )  # fmt: skip
    turns.append(bank.records, kept)
    executions.append(bank.records, (replace(one, user=dict(session.user)) for one in result.executions))
    queue = Queue(bank.records / FEEDBACK)
    for one in result.executions:
        case = capture(one, result.trace, utterance, said)
        if case is not None:
            queue.add(case)


_BANKS = {version: compiled(version) for version in (OLD, NEW)}


def days_ago(days: float, *, now: datetime | None = None) -> datetime:
    """Return a moment of the past, on a whole second."""
    return ((now or datetime.now(UTC)) - timedelta(days=days)).replace(microsecond=0)
