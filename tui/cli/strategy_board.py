"""`exuvia strategy board|domain`: what was executed lately, and who answers for what (STRATEGY S75 to S77)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import NotFoundError
from core.strategy.bank.bank import Bank, bank_of
from tui.cli.common import Place, group_options, here, json_option, place_options, print_json, print_table, say
from tui.cli.strategy_lines import milliseconds, percent, share_facts, stage_words, standing_facts
from tui.cli.strategy_moves import operator

if TYPE_CHECKING:
    from core.strategy.bank.alarms import Watched
    from core.strategy.bank.dashboards import Numbers
    from core.strategy.bank.inventory import Domain, Inventory

_NOBODY = "(no strategy)"


@click.command(
    epilog="Examples:  exuvia strategy board   |   exuvia strategy board aftersale.paid_no_parcel --by device"
)
@click.argument("name", metavar="[ID]", required=False)
@click.option("--by", "attribute", metavar="ATTRIBUTE",
              help="By a user's attribute, or by version, event or code.")  # fmt: skip
@click.option("--hours", type=click.FloatRange(min=0.1, max=24 * 400), default=24.0, show_default=True, help="Lately.")
@json_option
@place_options
def board(name: str | None, attribute: str | None, hours: float, as_json: bool, place: Place) -> None:
    """Show what was executed lately: rates, latency, how many were checked at which level, alarms, domains.

    "-" is unknown: nothing was counted, or nobody told. A dry run counts nowhere.
    """
    from core.strategy.bank.board import board as look

    bank, now = bank_of(place.project), datetime.now(UTC)
    if name is not None:
        bank.entry(name)
    found = look(bank, now, hours=hours)
    rows: Mapping[str, Numbers] = found.strategies
    if attribute is not None:
        rows = found.by(attribute, name)
    elif name is not None:
        rows = {one: numbers for one, numbers in found.strategies.items() if one == name}
    alarms = [one for one in found.alarms if name in (None, one.strategy_id)]
    released = [one for one in found.released if name in (None, one.id)]
    held = _inventory(bank, now)
    if as_json:
        print_json(
            {
                "hours": hours,
                "whole": _numbers_facts(found.whole) if name is None else None,
                "by": attribute or "strategy",
                "rows": {one or None: _numbers_facts(numbers) for one, numbers in rows.items()},
                "alarms": [_alarm_facts(one) for one in alarms],
                "released": [{"id": one.id, **standing_facts(one)} for one in released],
                "satisfaction": {"answers": len(found.satisfaction), "mean": _mean(found.satisfaction)},
                "intents": share_facts(found.intents),
                "inventory": _inventory_facts(held),
                "findings": list(found.findings),
            }
        )
        return
    say(f"The last {hours:g} hours, {found.whole.executions} executions.")
    shown = {one or _NOBODY: numbers for one, numbers in rows.items()}
    if name is None and attribute is None and len(rows) > 1:
        shown["all"] = found.whole
    _table(attribute or "strategy", shown)
    if shown:
        say("")
        _mix(attribute or "checked", shown)
        say("")
    for one in alarms:
        say(f"{'ALARM ' if one.state == 'alarm' else ''}{one.text}")
    for standing in released:
        say(f"{standing.id} version {standing.version}: {standing.state}{stage_words(standing)} since {standing.since}")
    if found.satisfaction and name is None:
        say(f"Satisfaction {_mean(found.satisfaction):.1f} of 10 in {len(found.satisfaction)} answers.")
    if found.intents.count and name is None:
        say(f"The model saw what was wanted in {percent(found.intents.value)} of {found.intents.count} told sessions.")
    if name is None:
        _domains(held)
    for finding in found.findings:
        say(f"Not counted: {finding}")


def _table(heading: str, rows: Mapping[str, Numbers]) -> None:
    if not rows:
        say("Nothing was executed.")
        return
    print_table(
        (heading, "runs", "success", "fallback", "pseudo", "missed", "mistrigger", "p50", "p95", "impact"),
        [
            (
                one,
                numbers.executions,
                *(percent(share.value) for share in (numbers.success, numbers.fallback, numbers.pseudo_success)),
                *(percent(share.value) for share in (numbers.missed, numbers.mistrigger)),
                *(milliseconds(value) for value in (numbers.latency_p50, numbers.latency_p95)),
                percent(numbers.impact_mean),
            )
            for one, numbers in rows.items()
        ],
    )


def _mix(heading: str, rows: Mapping[str, Numbers]) -> None:
    """Say at which levels how many runs were checked (S43)."""
    print_table(
        (heading, "level 0", "level 1", "level 2", "probe", "over budget", "waited for checks"),
        [
            (
                one,
                *(percent(numbers.levels[level].value) for level in ("level0", "level1", "level2", "cross")),
                percent(numbers.overruns.value),
                milliseconds(numbers.validation_ms),
            )
            for one, numbers in rows.items()
        ],
    )


def _numbers_facts(numbers: Numbers) -> dict[str, Any]:
    shares = ("success", "fallback", "pseudo_success", "missed", "mistrigger", "overruns")
    return {
        "executions": numbers.executions,
        **{name: share_facts(getattr(numbers, name)) for name in shares},
        "levels": {level: share_facts(share) for level, share in numbers.levels.items()},
        "latency_ms": {"mean": numbers.latency_mean, "p50": numbers.latency_p50, "p95": numbers.latency_p95},
        "validation_ms": numbers.validation_ms,
        "business_impact": {"mean": numbers.impact_mean, "known": numbers.impact_known},
    }


def _alarm_facts(one: Watched) -> dict[str, Any]:
    return {
        "strategy": one.strategy_id,
        "metric": one.metric,
        "state": one.state,
        "below": one.alert.below,
        "hours": [{"start": hour.start.isoformat(), "samples": hour.samples, "mean": hour.mean} for hour in one.hours],
    }


def _mean(values: tuple[float, ...]) -> float | None:
    return sum(values) / len(values) if values else None


def _inventory(bank: Bank, now: datetime) -> Inventory:
    from core.strategy.bank.inventory import inventory

    return inventory(bank.entries(), bank.journal(), bank.settings(), now)


def _inventory_facts(held: Inventory) -> dict[str, Any]:
    return {
        "strategies": held.strategies,
        "faulty": held.faulty,
        "retired": held.retired,
        "retired_share": held.retired_share,
        "domains": [
            {
                "name": one.name,
                "owner": one.owner or None,
                "strategies": one.count,
                "states": dict(one.states),
                "reviewed": one.reviewed.isoformat() if one.reviewed else None,
                "due": one.due.isoformat() if one.due else None,
                "overdue": one.overdue,
            }
            for one in held.domains
        ],
    }


def _domains(held: Inventory) -> None:
    if not held.domains:
        say("The bank holds no strategy.")
        return
    print_table(
        ("domain", "strategies", "states", "owner", "reviewed", "review due"),
        [
            (
                one.name,
                one.count,
                ", ".join(f"{count} {state}" for state, count in sorted(one.states.items())) or None,
                one.owner or None,
                f"{one.reviewed:%Y-%m-%d}" if one.reviewed else None,
                _due(one),
            )
            for one in held.domains
        ],
    )
    faulty = f", {held.faulty} with faults" if held.faulty else ""
    retired = f"{held.retired} retired in 91 days ({percent(held.retired_share) or '-'})"
    say(f"{held.strategies} strategies{faulty}; {retired}.")


def _due(one: Domain) -> str | None:
    if one.due is None:
        return None
    return f"{one.due:%Y-%m-%d}{' OVERDUE' if one.overdue else ''}"


@click.group(epilog="Example:  exuvia strategy domain list")
@group_options
def domain() -> None:
    """List domains with their owner and when their review is due, or say that one was reviewed."""


@domain.command("list", epilog="Example:  exuvia strategy domain list --json")
@json_option
@place_options
def list_domains(as_json: bool, place: Place) -> None:
    """List domains: how many strategies in which state, who owns them, when the next review is due."""
    held = _inventory(bank_of(place.project), datetime.now(UTC))
    if as_json:
        print_json(_inventory_facts(held))
        return
    _domains(held)
    unowned = [one.name for one in held.domains if not one.owner]
    if unowned:
        way = f"domains: {{{unowned[0]}: {{owner: NAME}}}}"
        say(f"Nobody answers for {', '.join(unowned)}: name an owner in bank.yaml, {way}")


@domain.command("review", epilog='Example:  exuvia strategy domain review aftersale --reason "read all of it"')
@click.argument("name", metavar="DOMAIN")
@click.option("--reason", "why", default="", metavar="TEXT", help="What was found; it stands in the history.")
@json_option
@place_options
def review_domain(name: str, why: str, as_json: bool, place: Place) -> None:
    """Write down that you have looked through DOMAIN; the next review is due so many days later."""
    bank, now = bank_of(place.project), datetime.now(UTC)
    known = {one.name for one in _inventory(bank, now).domains}
    if name not in known:
        raise NotFoundError(
            f"There is no domain {name!r} in this bank.", hint=f"Domains: {', '.join(sorted(known)) or 'none yet'}."
        )
    bank.review_domain(name, operator(), why)
    one = next(one for one in _inventory(bank, datetime.now(UTC)).domains if one.name == name)
    if as_json:
        print_json({"domain": name, "owner": one.owner or None, "due": one.due.isoformat() if one.due else None})
        return
    say(f"{name} is reviewed." + (f" The next time: {one.due:%Y-%m-%d}." if one.due else ""))
    say(here("What waits for review: exuvia strategy list --state review"))
