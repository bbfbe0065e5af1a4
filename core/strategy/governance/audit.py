"""The monthly audit: which strategies to put away, which to take off-line, which to work on (STRATEGY S111 to S116).

Pure: what stands in the bank and what was logged go in, proposals come out. Whoever applies them decides; "offline" is
the one that the law forces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from core.foundation.clock import parse_ms
from core.statistics.intervals import Interval, wilson
from core.strategy.documents.release import Governance
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.records import Execution

Action = Literal["archive", "offline", "optimise"]
_DAY_MS = 86_400_000
_NEAR = 0.8
LEAST_RUNS = 20
"""Of fewer runs no failure rate is told: one failure in three runs is no 33 %."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A version that answers users, and since when (aware)."""

    strategy: Strategy
    since: datetime


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy in the audit, over the last `days` days.

    `calls` are runs that served somebody, `fallbacks` those in which it stood in for something that failed. Rates are
    shares of runs that failed, None for fewer than LEAST_RUNS; `before` is that of the period before. `actions` are
    what the law says, with `reasons` in the same order. `new` tells that it is younger than the period, so that
    silence proves nothing.
    """

    strategy_id: str
    calls: int
    fallbacks: int
    failure_rate: float | None
    interval: Interval | None
    before: float | None
    new: bool
    actions: tuple[Action, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Load:
    """What taking strategies out frees (S115).

    `strategies`: share of all in force. `conditions`: share of the conditions that are evaluated, each weighed by how
    often its event came. `time`: share of the time that logged runs took; None where none was logged.
    """

    strategies: float | None
    conditions: float | None
    time: float | None


@dataclass(frozen=True, slots=True)
class Gauge:
    """How full a bank is (S116). `limit` is where the account says that trouble began, unless bank.yaml says other."""

    count: int
    limit: int
    level: Literal["ok", "near", "over"]


@dataclass(frozen=True, slots=True)
class Audit:
    """The audit's rows by id, what the proposals free, and the gauge."""

    rows: tuple[Row, ...]
    load: Load
    gauge: Gauge

    def of(self, action: Action) -> tuple[str, ...]:
        """Return the ids for which the law says so."""
        return tuple(row.strategy_id for row in self.rows if action in row.actions)


def audit(
    held: Iterable[InForce], executions: Iterable[Execution], now: datetime, governance: Governance | None = None
) -> Audit:
    """Return the audit of all versions in force over the last `archive_days` days."""
    governance = governance or Governance()
    held = list(held)
    length = governance.archive_days * _DAY_MS
    end = now.timestamp() * 1000
    timed = [(parse_ms(one.time), one) for one in executions if not one.dry_run]
    last = [one for at, one in timed if at is not None and end - length < at <= end]
    older = [one for at, one in timed if at is not None and end - 2 * length < at <= end - length]
    rows = tuple(
        _row(one, last, older, governance, new=now - one.since < timedelta(days=governance.archive_days))
        for one in sorted(held, key=lambda one: one.strategy.id)
    )
    removed = {row.strategy_id for row in rows if {"archive", "offline"} & set(row.actions)}
    return Audit(rows, _load([one.strategy for one in held], removed, last), gauge(len(held), governance))


def gauge(count: int, governance: Governance | None = None) -> Gauge:
    """Return how near a number of strategies is to too many."""
    limit = (governance or Governance()).explosion
    return Gauge(count, limit, "over" if count > limit else "near" if count >= _NEAR * limit else "ok")


def _row(one: InForce, last: Sequence[Execution], older: Sequence[Execution], numbers: Governance, *, new: bool) -> Row:
    name = one.strategy.id
    runs = [run for run in last if run.strategy_id == name]
    # What answers an event of failure logs a run of its own; what a recovery calls stands in the caller's line.
    standing_in = sum(run.event.startswith(("failure:", "strategy_failed:")) for run in runs)
    standing_in += sum(step == f"call {name}" for run in last for step in run.fallbacks)
    rate, before = _rate(runs), _rate([run for run in older if run.strategy_id == name])
    found: list[tuple[Action, str]] = []
    if not runs and not standing_in and not new:
        found.append(("archive", f"not called for {numbers.archive_days} days"))
    if rate is not None and rate > numbers.failure_rate and before is not None and rate >= before:
        told = f"fails in {rate:.0%} of {len(runs)} runs, {before:.0%} the period before: no improvement"
        found.append(("offline", told))
    elif rate is not None and rate > numbers.failure_rate:
        was = "nothing to compare with yet" if before is None else f"{before:.0%} the period before: it improves"
        found.append(("optimise", f"fails in {rate:.0%} of {len(runs)} runs; {was}"))
    if standing_in > numbers.fallback_uses:
        found.append(("optimise", f"stood in {standing_in} times; what it stands in for needs work"))
    return Row(
        name,
        len(runs),
        standing_in,
        rate,
        wilson(sum(not run.ok for run in runs), len(runs)),
        before,
        new,
        tuple(action for action, _ in found),
        tuple(reason for _, reason in found),
    )


def _rate(runs: Sequence[Execution]) -> float | None:
    return sum(not run.ok for run in runs) / len(runs) if len(runs) >= LEAST_RUNS else None


def _load(held: Sequence[Strategy], removed: set[str], runs: Sequence[Execution]) -> Load:
    triggers = {one.id: one.trigger.event for one in held if one.trigger is not None}
    turns = len({(run.session, run.turn) for run in runs})
    counts: Mapping[str, int] = {
        event: turns if event == "turn" else len({(run.session, run.turn) for run in runs if run.event == event})
        for event in set(triggers.values())
    }
    evaluated = sum(counts[event] for event in triggers.values())
    freed = sum(counts[event] for name, event in triggers.items() if name in removed)
    took = sum(run.latency_ms for run in runs)
    spared = sum(run.latency_ms for run in runs if run.strategy_id in removed)
    return Load(
        len(removed) / len(held) if held else None,
        freed / evaluated if evaluated else None,
        spared / took if took else None,
    )
