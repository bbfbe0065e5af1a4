"""How a strategy's release goes: versions and stages, the new version's numbers beside the old one's, rules, alarm,
shadow and A/B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.strategy.bank import shadow
from core.strategy.bank.alarms import Watched, watched
from core.strategy.bank.bank import Bank
from core.strategy.bank.comparison import DiffReport
from core.strategy.bank.dashboards import Numbers, numbers, segments
from core.strategy.bank.drawing import drawn_of
from core.strategy.bank.outcomes import joined
from core.strategy.bank.outcomes import read as read_outcomes
from core.strategy.bank.representation import Representation
from core.strategy.bank.rollback import Judged, mistriggers_of, review
from core.strategy.bank.serving import user_of
from core.strategy.bank.states import Standing, moment, newest
from core.strategy.execution.records import Execution
from core.strategy.feedback.ab_report import AbReport, ab_report
from tui.stores.strategies_lines import StrategyLine
from tui.stores.views import StrategiesView

WINDOW = timedelta(days=7)
"""What numbers are of, where the new version is not younger."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """The release of a strategy. `new` is the version on its way (in gray, else in shadow, else the active one),
    `old` the one that answers the others, or answered before; None where there is none.

    `numbers` are of both over the same time, from `since` on; `segments` the new one's by attribute and value, None
    where nothing of it was executed. `drawn` compares the users in gray with all. `alarm` is None where the release
    names no business impact, `report` where nothing ran in shadow, `arms` where there is no test.
    """

    line: StrategyLine
    new: Standing | None
    old: Standing | None
    since: datetime | None
    numbers: Mapping[str, Numbers]
    segments: Mapping[str, Mapping[str, Numbers]]
    rules: Sequence[Judged]
    alarm: Watched | None
    report: DiffReport | None
    arms: AbReport | None
    drawn: Representation | None


def rollout(bank: Bank, view: StrategiesView, line: StrategyLine, now: datetime) -> Rollout:
    """Return how the release goes at `now`. Reads outcomes and the shadow's log."""
    versions = line.entry.versions
    new = newest(versions, "gray") or newest(versions, "shadow") or newest(versions, "active")
    old = _before(versions, new)
    release = (new.release if new is not None else None) or line.entry.release
    mine = tuple(one for one in view.executions if one.strategy_id == line.id)
    impact = release.track.business_impact if release is not None else None
    if impact is not None:
        mine = joined(mine, read_outcomes(bank.records), {line.id: impact.metric})
    wrong = mistriggers_of(bank)
    since = None if new is None else max(moment(new.since), now - WINDOW) if new.since else now - WINDOW
    late = [one for one in mine if since is None or moment(one.time) >= since]
    arms = {
        name: [one for one in late if one.version == standing.version]
        for name, standing in (("old", old), ("new", new))
        if standing is not None
    }
    by = release.rollout.shadow.by if release is not None and release.rollout.shadow is not None else ()
    return Rollout(
        line=line,
        new=new,
        old=old,
        since=since,
        numbers={name: numbers(some, wrong) for name, some in arms.items()},
        segments={key: _of_segments(arms.get("new", []), key, wrong) for key in by},
        rules=review(new, mine, wrong, now) if new is not None and new.state in ("gray", "active") else (),
        alarm=watched(mine, {line.id: impact}, now)[0] if impact is not None else None,
        report=_report(bank, line, new),
        arms=_arms(bank, line, new, now),
        drawn=drawn(new, view.executions, now),
    )


def _before(versions: Sequence[Standing], new: Standing | None) -> Standing | None:
    if new is None:
        return None
    active = newest(versions, "active")
    if active is not None and active.version != new.version:
        return active
    return next((one for one in versions if one.version == new.replaced), None)


def _of_segments(executions: list[Execution], key: str, wrong: Mapping[str, bool]) -> dict[str, Numbers]:
    return {value: numbers(some, wrong) for value, some in segments(executions, key).items()}


def _report(bank: Bank, line: StrategyLine, new: Standing | None) -> DiffReport | None:
    if new is None:
        return None
    found = shadow.report(bank, line.id, new.version)
    return found if found.whole.turns else None


def _arms(bank: Bank, line: StrategyLine, new: Standing | None, now: datetime) -> AbReport | None:
    """Return the A/B test of the version in gray, None where none is tested."""
    if new is None or new.state != "gray" or new.release is None or new.release.rollout.ab is None:
        return None
    return ab_report(bank, line.id, now)


def drawn(new: Standing | None, executions: Sequence[Execution], now: datetime | None = None) -> Representation | None:
    """Compare the users in gray with all of whom something was executed in the last 30 days."""
    if new is None or new.state != "gray":
        return None
    begin = (now or present()) - timedelta(days=30)
    users = {}
    for one in executions:
        if not one.dry_run and moment(one.time) >= begin:
            user = user_of(one.user)
            if user.id:
                users[user.id] = user
    return drawn_of(new, list(users.values())) if users else None


def present() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)
