"""All five diagnoses on the records of one bank, for whoever opens the table of troubles (STRATEGY S120 to S130)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core.strategy.bank.bank import Bank
from core.strategy.bank.serving import profile
from core.strategy.bank.states import SERVED, Standing, moment
from core.strategy.bank.tracked import tracked
from core.strategy.conditions.view import View
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.records import Execution
from core.strategy.governance import conflicts, replayed, troubleshoot
from core.strategy.governance.conflicts import Conflict
from core.strategy.governance.held import conditions_of
from core.strategy.governance.troubleshoot import Diagnosis

DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Found:
    """Conflicts of triggers, proved and replayed, and the share of replayed turns in which one lost its turn.

    `turns` are those that were replayed; `rate` is None without any.
    """

    conflicts: tuple[Conflict, ...]
    turns: int
    rate: float | None


def find_conflicts(bank: Bank, compiled: CompiledBank) -> Found:
    """Return a compiled bank's conflicts, on the turns that were kept too (S123). A proved pair is told once."""
    held = conditions_of(compiled)
    views: list[View] = [replayed.view_of(one, compiled.registry.patterns) for one in replayed.moments(bank)]
    of_turns = [one for one in held if one.strategy.trigger is not None and one.strategy.trigger.event == "turn"]
    firings = conflicts.replay(of_turns, views)
    proved = conflicts.static(held)
    pairs = {(one.swallowed, one.by) for one in proved}
    more = [one for one in conflicts.empirical(of_turns, firings) if (one.swallowed, one.by) not in pairs]
    found = (*proved, *more)
    return Found(found, len(firings), conflicts.rate(firings, found))


def diagnose(bank: Bank, compiled: CompiledBank, now: datetime, *, days: float = DAYS) -> tuple[Diagnosis, ...]:
    """Return what the records of the last days show, in the order of the table. Nothing found is no proof of health."""
    since = now - timedelta(days=days)
    runs = tracked(bank, since=since, until=now).executions
    strategies: tuple[Strategy, ...] = tuple(one.strategy for _, one in sorted(compiled.strategies.items()))
    asked = (replayed.asked_of(one) for one in replayed.moments(bank) if moment(one.turn.time) >= since)
    served = [one for one in bank.journal().standings.values() if one.state in SERVED]
    return (
        *troubleshoot.logged_success(runs, schemas=compiled.schemas),
        *troubleshoot.other_path(asked),
        *_swallowed(bank, compiled, served, runs, since),
        *troubleshoot.heavy(strategies, runs),
        *_left_out(served, runs),
    )


def _swallowed(
    bank: Bank, compiled: CompiledBank, served: list[Standing], runs: tuple[Execution, ...], since: datetime
) -> tuple[Diagnosis, ...]:
    """Look at what each version that came within the time took away, from its first user on."""
    new = [one for one in served if moment(one.since) > since]
    found: list[Diagnosis] = []
    if new:
        known = find_conflicts(bank, compiled).conflicts
        for one in new:
            before = [run for run in runs if moment(run.time) < moment(one.since)]
            after = [run for run in runs if moment(run.time) >= moment(one.since)]
            found += troubleshoot.swallowed(before, after, one.id, known)
    return tuple(found)


def _left_out(served: list[Standing], runs: tuple[Execution, ...]) -> tuple[Diagnosis, ...]:
    found: list[Diagnosis] = []
    for one in served:
        shadow = one.release.rollout.shadow if one.release is not None else None
        if one.state == "gray" and shadow is not None and shadow.by:
            found += troubleshoot.left_out(f"{one.id}.release.yaml", profile(one, runs, shadow.by))
    return tuple(found)
