"""The alarm of the business: its metric below a bound for so many hours one after the other (STRATEGY S76).

An hour of which nothing is known is unknown: it neither raises the alarm nor clears it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from core.strategy.bank.states import moment
from core.strategy.documents.release import Alert, Impact
from core.strategy.execution.records import Execution

State = Literal["ok", "alarm", "unknown"]


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the clock: `samples` executions with a known impact, and their mean; None without any."""

    start: datetime
    samples: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class Watched:
    """A strategy's alarm. `hours` are those looked at, oldest first; `state` as `judge` says."""

    strategy_id: str
    metric: str
    alert: Alert
    hours: tuple[Hour, ...]
    state: State

    @property
    def text(self) -> str:
        """Say it in a line."""
        shown = ", ".join("?" if hour.mean is None else f"{hour.mean:.0%}" for hour in self.hours)
        bound = f"{self.metric} below {self.alert.below:.0%} for {self.alert.hours} h"
        match self.state:
            case "alarm":
                return f"{self.strategy_id}: {bound}: {shown}"
            case "unknown":
                return f"{self.strategy_id}: unknown whether {bound}: {shown}"
            case _:
                return f"{self.strategy_id}: not {bound}: {shown}"


def hours(executions: Iterable[Execution], now: datetime, count: int) -> tuple[Hour, ...]:
    """Return the last `count` whole hours before `now`, oldest first; the hour under way isn't among them."""
    end = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    starts = [end - timedelta(hours=back) for back in range(count, 0, -1)]
    values: dict[datetime, list[float]] = {start: [] for start in starts}
    for one in executions:
        start = moment(one.time).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        if one.business_impact is not None and not one.dry_run and start in values:
            values[start].append(one.business_impact)
    return tuple(Hour(start, len(found), sum(found) / len(found) if found else None) for start, found in values.items())


def judge(last: Iterable[Hour], alert: Alert) -> State:
    """Return "alarm" where all of the last `alert.hours` are known and below the bound, "ok" where one is known not to
    be below, "unknown" where neither is known. Pure.
    """
    row = list(last)[-alert.hours :]
    if any(hour.mean is not None and hour.mean >= alert.below for hour in row):
        return "ok"
    if len(row) == alert.hours and all(hour.mean is not None for hour in row):
        return "alarm"
    return "unknown"


def watched(executions: Iterable[Execution], impacts: Mapping[str, Impact], now: datetime) -> tuple[Watched, ...]:
    """Return the alarm of each strategy that names its business impact, by id. `executions` with outcomes joined."""
    mine: dict[str, list[Execution]] = {strategy_id: [] for strategy_id in impacts}
    for one in executions:
        if one.strategy_id in mine:
            mine[one.strategy_id].append(one)
    found = []
    for strategy_id, impact in sorted(impacts.items()):
        looked = hours(mine[strategy_id], now, impact.alert.hours)
        state = judge(looked, impact.alert)
        found.append(Watched(strategy_id, impact.metric, impact.alert, looked, state))
    return tuple(found)
