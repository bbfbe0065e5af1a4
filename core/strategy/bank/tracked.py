"""What was tracked of a bank, with the outcomes that came later: the ground of every fold over it (STRATEGY S74)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.foundation.errors import ExuviaError
from core.strategy.bank import executions as log
from core.strategy.bank import outcomes
from core.strategy.bank.bank import Bank
from core.strategy.documents.release import Impact
from core.strategy.execution.records import Execution


@dataclass(frozen=True, slots=True)
class Tracked:
    """Executions in the order of their time, `business_impact` filled where an outcome of their session is known.

    `findings` are lines of the records, and releases, that can't be read.
    """

    executions: tuple[Execution, ...]
    findings: tuple[str, ...]


def tracked(bank: Bank, *, since: datetime | None = None, until: datetime | None = None) -> Tracked:
    """Return what was tracked from `since` (included) to `until` (excluded), aware moments; None for no bound."""
    metrics, unreadable = impacts_of(bank)
    read = log.read(bank.records, since=since, until=until)
    told = outcomes.read(bank.records, since=None if since is None else since - timedelta(seconds=1))
    joined = outcomes.joined(read.executions, told, {name: one.metric for name, one in metrics.items()})
    return Tracked(joined, (*read.findings, *outcomes.gaps(bank.records), *unreadable))


def impacts_of(bank: Bank) -> tuple[Mapping[str, Impact], tuple[str, ...]]:
    """Return strategy to the business impact that its release names, and releases that can't be read."""
    found: dict[str, Impact] = {}
    unreadable: list[str] = []
    for strategy_id in bank.files():
        try:
            release = bank.release(strategy_id)
        except ExuviaError as error:
            unreadable.append(str(error))
            continue
        if release is not None and release.track.business_impact is not None:
            found[strategy_id] = release.track.business_impact
    return found, tuple(unreadable)
