"""Which releases take themselves back: the rules of `rollback_when` on what was executed (STRATEGY S73).

A rule with too few executions says "unknown": it takes nothing back, and never counts as passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from core.foundation.errors import RefusedError
from core.strategy.bank import executions as log
from core.strategy.bank.bank import Bank
from core.strategy.bank.dashboards import Numbers, Share, numbers, segments
from core.strategy.bank.outcomes import latest
from core.strategy.bank.outcomes import read as read_outcomes
from core.strategy.bank.states import Actor, Standing, moment
from core.strategy.documents.release import RollbackRule
from core.strategy.execution.records import Execution

Verdict = Literal["roll_back", "hold", "unknown"]
ENGINE = Actor("rollback rule", person=False)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a rule said: the metric of the new version and, for a relative rule, of the old one; None is unknown."""

    rule: RollbackRule
    segment: str
    new: float | None
    old: float | None
    samples: int
    verdict: Verdict

    @property
    def text(self) -> str:
        """Say it in a line."""
        name = f"{self.rule.metric}{f' of {self.segment}' if self.segment else ''}"
        if self.verdict == "unknown":
            return f"{name} unknown: {self.samples} of {self.rule.min_samples} samples"
        told = f"{name} {_shown(self.rule, self.new)}"
        if self.rule.over is not None:
            return f"{told}, bound {_shown(self.rule, self.rule.over)}"
        return f"{told} against {_shown(self.rule, self.old)}, may rise by {self.rule.rel_increase:.0%}"


def judge(rule: RollbackRule, new: Numbers, old: Numbers, segment: str = "") -> Judged:
    """Return what a rule says of two sets of executions. Pure."""
    value, samples = _metric(rule, new)
    before, earlier = _metric(rule, old)
    if value is None or samples < rule.min_samples:
        return Judged(rule, segment, value, before, samples, "unknown")
    if rule.over is not None:
        return Judged(rule, segment, value, before, samples, "roll_back" if value > rule.over else "hold")
    assert rule.rel_increase is not None
    if before is None or earlier < rule.min_samples:
        return Judged(rule, segment, value, before, min(samples, earlier), "unknown")
    risen = value > before * (1 + rule.rel_increase)
    return Judged(rule, segment, value, before, samples, "roll_back" if risen else "hold")


def review(
    standing: Standing, executions: Sequence[Execution], mistriggers: Mapping[str, bool], now: datetime
) -> tuple[Judged, ...]:
    """Return what each rule of a released version says at `now`, about its own hours before.

    In gray the old version is whatever served at the same time; for an active version it is its predecessor in the
    hours before the change. `executions` are the strategy's, of all versions. Pure.
    """
    if standing.release is None:
        return ()
    found: list[Judged] = []
    by = standing.release.rollout.shadow.by if standing.release.rollout.shadow else ()
    for rule in standing.release.rollout.rollback_when:
        window = timedelta(hours=rule.hours)
        begin = max(now - window, moment(standing.since))
        mine = _between(executions, begin, now, lambda version: version == standing.version)
        end = now if standing.state == "gray" else moment(standing.since)
        others = _between(executions, end - window, end, lambda version: version != standing.version)
        found.append(judge(rule, numbers(mine, mistriggers), numbers(others, mistriggers)))
        if rule.segment != "any":
            continue
        for attribute in by:
            theirs = segments(others, attribute)
            for value, some in segments(mine, attribute).items():
                told = numbers(theirs.get(value, ()), mistriggers)
                found.append(judge(rule, numbers(some, mistriggers), told, f"{attribute} {value}"))
    return tuple(found)


def sweep(bank: Bank, now: datetime) -> dict[str, tuple[Judged, ...]]:
    """Take back every released version that one of its rules says so of; return what was judged, by strategy.

    Safe to run at any time and twice: what was taken back is no longer released.
    """
    released = [one for one in bank.journal().standings.values() if one.state in {"gray", "active"}]
    ruled = [one for one in released if one.release is not None and one.release.rollout.rollback_when]
    judged: dict[str, tuple[Judged, ...]] = {}
    if not ruled:
        return judged
    hours = max(rule.hours for one in ruled for rule in one.release.rollout.rollback_when)  # type: ignore[union-attr]  # filtered above
    since = min(now, *(moment(one.since) for one in ruled)) - timedelta(hours=hours)
    everything = log.read(bank.records, since=since, until=now).executions
    wrong = mistriggers_of(bank, since)
    for one in ruled:
        mine = [execution for execution in everything if execution.strategy_id == one.id]
        judged[one.id] = found = review(one, mine, wrong, now)
        hit = [rule.text for rule in found if rule.verdict == "roll_back"]
        if hit:
            _take_back(bank, one, hit)
    return judged


def mistriggers_of(bank: Bank, since: datetime | None = None) -> dict[str, bool]:
    """Return session to whether a strategy was used wrongly there, where an outcome from `since` on says so."""
    told = latest(read_outcomes(bank.records, since=since))
    return {
        session: keys["mistrigger"].value is True
        for session, keys in told.items()
        if "mistrigger" in keys and isinstance(keys["mistrigger"].value, bool)
    }


def _take_back(bank: Bank, standing: Standing, hit: list[str]) -> None:
    try:
        bank.take_back(standing.id, ENGINE, "; ".join(hit), version=standing.version)
    except RefusedError:
        return  # taken back between the look and the move


def _between(
    executions: Sequence[Execution], start: datetime, end: datetime, wanted: Callable[[int], bool]
) -> list[Execution]:
    return [
        one for one in executions if one.version is not None and wanted(one.version) and start <= moment(one.time) < end
    ]


def _metric(rule: RollbackRule, found: Numbers) -> tuple[float | None, int]:
    if rule.metric == "latency_ms":
        return found.latency_mean, found.executions
    shares: Mapping[str, Share] = {
        "fallback_rate": found.fallback,
        "failure_rate": Share(found.success.count - found.success.hits, found.success.count),
        "mistrigger_rate": found.mistrigger,
        "pseudo_success_rate": found.pseudo_success,
    }
    share = shares[rule.metric]
    return share.value, share.count


def _shown(rule: RollbackRule, value: float | int | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.0f} ms" if rule.metric == "latency_ms" else f"{value:.1%}"
