"""`exuvia strategy audit|advise|conflicts|troubles`: order in a bank of many strategies (S5, S6, 1.10, 1.12)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import NotFoundError
from core.strategy.bank.bank import bank_of
from tui.cli.common import Place, here, json_option, note, place_options, print_json, print_table, say
from tui.cli.strategy_lines import interval_facts, percent, standing_facts
from tui.cli.strategy_moves import operator

if TYPE_CHECKING:
    from core.strategy.bank.states import Standing
    from core.strategy.governance.audit import Audit
    from core.strategy.governance.troubles import Trouble
    from core.strategy.governance.troubleshoot import Diagnosis


@click.command(epilog="Examples:  exuvia strategy audit   |   exuvia strategy audit --apply")
@click.option("--apply", "carry_out", is_flag=True, help="Take off-line what the law forces; the rest stays proposed.")
@json_option
@place_options
def audit(carry_out: bool, as_json: bool, place: Place) -> None:
    """Say which strategies in force to put away, take off-line or work on, and how full the bank is.

    Over the last 30 days, unless bank.yaml says other: not called is proposed for the archive; failing in over 15 %
    without improvement goes off-line; a fallback more than 100 times needs work.
    """
    from core.strategy.bank.tracked import tracked
    from core.strategy.governance.audit import audit as audit_of
    from core.strategy.governance.held import in_force, take_off

    bank = bank_of(place.project)
    found = audit_of(in_force(bank), tracked(bank).executions, datetime.now(UTC), bank.settings().governance)
    done = take_off(bank, found, operator()) if carry_out else ()
    if as_json:
        print_json(
            {
                "rows": [{**asdict(row), "interval": interval_facts(row.interval)} for row in found.rows],
                "load": asdict(found.load),
                "gauge": asdict(found.gauge),
                "taken_offline": [{"id": one.id, **standing_facts(one)} for one in done],
            }
        )
        return
    _rows(found)
    for one in done:
        say(f"{one.id} version {one.version}: offline")
    _still_held(place, done)
    if found.of("offline") and not carry_out:
        say(here("Take off-line what fails and does not improve: exuvia strategy audit --apply"))
    gauge, load = found.gauge, found.load
    freed = ", ".join(
        f"{percent(value) or '-'} of {what}"
        for value, what in ((load.strategies, "strategies"), (load.conditions, "conditions"), (load.time, "time"))
    )
    say(f"What archive and off-line would free: {freed}.")
    words = {"ok": "", "near": ": near the limit", "over": ": OVER the limit"}[gauge.level]
    say(f"{gauge.count} strategies in force of {gauge.limit} at most{words}.")


def _rows(found: Audit) -> None:
    if not found.rows:
        say("No strategy answers users yet.")
        return
    print_table(
        ("strategy", "calls", "stood in", "failed", "before", "the law says", "why"),
        [
            (
                row.strategy_id,
                row.calls,
                row.fallbacks,
                percent(row.failure_rate),
                percent(row.before),
                ", ".join(row.actions) or ("(new)" if row.new else None),
                "; ".join(row.reasons) or None,
            )
            for row in found.rows
        ],
    )


def _still_held(place: Place, done: tuple[Standing, ...]) -> None:
    from core.evolution.strategy_release import governed_agents

    for one in done:
        for agent in governed_agents(bank_of(place.project), one.id):
            note(here(f"{agent.id} holds {one.id} in its own state still: exuvia rollback {agent.id}"))


@click.command(epilog="Example:  exuvia strategy advise")
@click.option("--agent", "agent_id", metavar="AGENT", help="With the skills of this agent (else of all).")
@json_option
@place_options
def advise(agent_id: str | None, as_json: bool, place: Place) -> None:
    """Say which layers pay at this size: from skill calls and branches a task, as they were tracked."""
    from core.strategy.bank.tracked import tracked
    from core.strategy.governance.advisor import advise as advise_of
    from core.strategy.governance.replayed import intents
    from core.strategy.schema.directory import skills_of

    if agent_id is not None:
        place.agent(agent_id)
    bank = bank_of(place.project)
    held = skills_of(place.project, agent_id)
    skills, kinds = len(held.schemas) + len(held.without), len(intents(bank))
    found = advise_of(tracked(bank).executions, skills=skills, kinds=kinds)
    if as_json:
        print_json({**asdict(found), "skills": skills, "kinds": kinds})
        return
    say(f"{found.tasks} tasks, {skills} skills, {kinds} kinds of task (intents that a model named).")
    if found.calls is not None and found.branches is not None:
        say(f"Skill calls a task: {_mean(found.calls, found.calls_error)}")
        say(f"Branches a task: {_mean(found.branches, found.branches_error)}")
    say(found.reason)
    say(f"Layers: {', '.join(found.layers) or 'no advice yet'}")
    if found.banner:
        say(found.banner)


def _mean(value: float, error: float | None) -> str:
    return f"{value:.2f}" + ("" if error is None else f" ± {error:.2f}")


@click.command(epilog="Example:  exuvia strategy conflicts")
@click.option("--agent", "agent_id", metavar="AGENT", help="With the skills of this agent (else of all).")
@json_option
@place_options
def conflicts(agent_id: str | None, as_json: bool, place: Place) -> None:
    """Show strategies that take each other's turns: proved by their conditions, or seen in turns that were kept."""
    from core.strategy.governance.diagnosing import find_conflicts
    from core.strategy.governance.held import as_written
    from core.strategy.schema.directory import skills_of

    if agent_id is not None:
        place.agent(agent_id)
    bank = bank_of(place.project)
    compiled = as_written(bank, skills_of(place.project, agent_id).schemas)
    found = find_conflicts(bank, compiled)
    if as_json:
        rows = [{**asdict(one), "interval": interval_facts(one.interval)} for one in found.conflicts]
        print_json(
            {
                "conflicts": rows,
                "turns": found.turns,
                "rate": found.rate,
                "not_looked_at": [str(fault) for fault in compiled.faults],
            }
        )
        return
    if found.conflicts:
        print_table(
            ("hardly fires", "because of", "how", "share", "turns"),
            [(one.swallowed, one.by, one.how, percent(one.share), one.turns or None) for one in found.conflicts],
        )
    for one in found.conflicts:
        say(f"Settle it: {' or '.join(one.fixes)}")
    if not found.conflicts:
        say("No conflict is proved, and none was seen.")
    lost = percent(found.rate)
    say(f"{found.turns} turns replayed" + ("." if lost is None else f"; in {lost} a strategy lost its turn so."))
    for fault in compiled.faults:
        say(f"Not looked at: {fault}")


@click.command(epilog="Examples:  exuvia strategy troubles   |   exuvia strategy troubles logged_success --days 7")
@click.argument("name", metavar="[TROUBLE]", required=False)
@click.option("--days", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="How far to look back.")
@click.option("--agent", "agent_id", metavar="AGENT", help="With the skills of this agent (else of all).")
@json_option
@place_options
def troubles(name: str | None, days: float, agent_id: str | None, as_json: bool, place: Place) -> None:
    """Show the table of troubles, what to look at and what to do, and which of them your own records show."""
    from core.strategy.governance.diagnosing import diagnose
    from core.strategy.governance.held import as_written
    from core.strategy.governance.troubles import TROUBLES
    from core.strategy.schema.directory import skills_of

    rows = [one for one in TROUBLES if name in (None, one.name)]
    if not rows:
        raise NotFoundError(
            f"There is no trouble {name!r} in the table.", hint=f"There are {', '.join(one.name for one in TROUBLES)}."
        )
    if agent_id is not None:
        place.agent(agent_id)
    bank = bank_of(place.project)
    compiled = as_written(bank, skills_of(place.project, agent_id).schemas)
    shown = diagnose(bank, compiled, datetime.now(UTC), days=days)
    found = [one for one in shown if name in (None, one.trouble)]
    if as_json:
        print_json({"troubles": [asdict(one) for one in rows], "found": [_diagnosis(one) for one in found]})
        return
    for row in rows:
        _trouble(row)
        for one in found:
            if one.trouble == row.name:
                say(f"  FOUND {one.subject}: {one.found}")
                say(f"        do: {one.fix}")
    if not found:
        say(f"Nothing of it in what was recorded in {days:g} days: that is no proof that all is well.")


def _trouble(row: Trouble) -> None:
    say(f"{row.name}: {row.symptom}")
    say(f"  look: {row.look}")
    say(f"  do: {row.fix}")
    say(f"  ({row.reported}; not measured here)")


def _diagnosis(one: Diagnosis) -> dict[str, Any]:
    return {**asdict(one), "evidence": dict(one.evidence)}
