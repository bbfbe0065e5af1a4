"""`exuvia strategy publish|submit|approve|shadow|gray|rollback|archive`: the ways of a version, one command each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from core.foundation.clock import now_s
from core.foundation.errors import RefusedError
from core.state import audit
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import Actor, Standing, State, Step, newest
from tui.cli.common import Place, json_option, note, place_options, print_json, say
from tui.cli.strategy_lines import standing_facts

if TYPE_CHECKING:
    from core.evolution.strategy_release import InForce

P = ParamSpec("P")
R = TypeVar("R")


def operator() -> Actor:
    """Return the person at this terminal."""
    return Actor(audit.signature(), person=True)


def _why(command: Callable[P, R]) -> Callable[P, R]:
    return click.option("--reason", "why", default="", metavar="TEXT", help="Why; it stands in the history.")(command)


def _version(command: Callable[P, R]) -> Callable[P, R]:
    return click.option(
        "--version", type=click.IntRange(min=1), help="Which version (else the newest that it can be done to)."
    )(command)


def _evidence(command: Callable[P, R]) -> Callable[P, R]:
    return click.option(
        "--evidence", multiple=True, metavar="ID", help="A run, check, A/B test or report that it rests on."
    )(command)


@click.command(
    "publish", epilog='Example:  exuvia strategy publish aftersale.paid_no_parcel --reason "skip the carrier"'
)
@click.argument("name", metavar="ID")
@_why
@json_option
@place_options
def publish(name: str, why: str, as_json: bool, place: Place) -> None:
    """Publish the newest text of strategy ID as a version, which never changes again. It gets no traffic by that."""
    _tell(bank_of(place.project).publish(name, operator(), why), as_json, "next: exuvia strategy submit")


@click.command("submit", epilog="Example:  exuvia strategy submit aftersale.paid_no_parcel")
@click.argument("name", metavar="ID")
@_version
@_why
@json_option
@place_options
def submit(name: str, version: int | None, why: str, as_json: bool, place: Place) -> None:
    """Ask for a review of a draft of strategy ID."""
    bank = bank_of(place.project)
    _move(bank, name, version, ("draft", "offline"), "review", why=why, as_json=as_json)


@click.command("approve", epilog='Example:  exuvia strategy approve aftersale.paid_no_parcel --reason "read, tested"')
@click.argument("name", metavar="ID")
@_version
@_evidence
@_why
@json_option
@place_options
def approve(name: str, version: int | None, evidence: tuple[str, ...], why: str, as_json: bool, place: Place) -> None:
    """Approve a reviewed version of strategy ID: it goes into shadow, where it has no effects."""
    bank = bank_of(place.project)
    _move(bank, name, version, ("review",), "shadow", why=why, evidence=evidence, as_json=as_json)


@click.command("shadow", epilog="Example:  exuvia strategy shadow aftersale.paid_no_parcel --reason 'fallbacks rose'")
@click.argument("name", metavar="ID")
@_version
@_why
@json_option
@place_options
def shadow(name: str, version: int | None, why: str, as_json: bool, place: Place) -> None:
    """Take a version of strategy ID out of gray, back into shadow."""
    _move(bank_of(place.project), name, version, ("gray",), "shadow", why=why, as_json=as_json)


@click.command("gray", epilog="Example:  exuvia strategy gray aftersale.paid_no_parcel")
@click.argument("name", metavar="ID")
@_version
@_evidence
@_why
@click.option("--force", is_flag=True, help="Pass over the waiting time, with a reason.")
@json_option
@place_options
def gray(
    name: str,
    version: int | None,
    evidence: tuple[str, ...],
    why: str,
    force: bool,
    as_json: bool,
    place: Place,
) -> None:
    """Let the next stage of its release use a version of strategy ID; after the last stage it is active for all."""
    bank = bank_of(place.project)
    one = _chosen(bank, name, version, ("gray", "shadow"))
    stage = one.stage + 1 if one.state == "gray" else 0
    release = bank.release(name)
    stages = one.stages if one.state == "gray" else (Standing("", 0, "", release=release)).stages
    to: State = "active" if one.state == "gray" and stage >= len(stages) else "gray"
    if to == "active":
        step = Step(to, operator(), now_s(), why, evidence=evidence, force=force)
        moved = bank.move(name, one.version, step, expect=one.state)
    else:
        from core.strategy.bank.drawing import enter_stage  # it loads the executor, which no other move needs

        entered = enter_stage(
            bank, name, one.version, operator(), datetime.now(UTC), stage=stage, why=why, force=force, evidence=evidence
        )
        moved = entered.standing
        if entered.representation.population and not as_json:
            for line in entered.representation.lines():
                note(line)
    agents = _follow(bank, name, why) if moved.state == "active" else ()
    _tell(moved, as_json, "take it back: exuvia strategy rollback", agents)


@click.command("enforce", epilog="Example:  exuvia strategy enforce aftersale.paid_no_parcel --agent clerk")
@click.argument("name", metavar="ID")
@click.option("--agent", "agent_id", metavar="AGENT", help="In this agent (else in all that have the strategy).")
@_why
@json_option
@place_options
def enforce(name: str, agent_id: str | None, why: str, as_json: bool, place: Place) -> None:
    """Bring the active version of strategy ID into force in an agent: a new version of it, taken back by rollback."""
    from core.evolution.strategy_release import bring_into_force, governed_agents

    bank = bank_of(place.project)
    one = _chosen(bank, name, None, ("active",))
    agents = (place.agent(agent_id),) if agent_id is not None else governed_agents(bank, name)
    done = [bring_into_force(agent, name, one.version, "cli", why) for agent in agents]
    if as_json:
        print_json({"id": name, "version": one.version, "agents": [asdict(found) for found in done if found]})
        return
    if not agents:
        say(f"No agent has {name}. Give it to one: exuvia strategy enforce {name} --agent AGENT")
    for agent, found in zip(agents, done, strict=True):
        say(_enforced(agent.id, name, one.version, found))


def _follow(bank: Bank, name: str, why: str) -> tuple[str, ...]:
    """Make the agents have of a strategy what the bank says; a line for each that changed or couldn't."""
    from core.evolution.strategy_release import follow_bank

    return follow_bank(bank, name, "cli", why)


def _enforced(agent_id: str, name: str, version: int, found: InForce | None) -> str:
    if found is None:
        return f"{agent_id} has {name} version {version} in force already."
    return f"{agent_id} is version {found.version} now, with {name} version {version}."


@click.command("rollback", epilog='Example:  exuvia strategy rollback aftersale.paid_no_parcel --reason "complaints"')
@click.argument("name", metavar="ID")
@click.option("--version", type=click.IntRange(min=1), help="Only this one (else what was released last).")
@_why
@json_option
@place_options
def rollback(name: str, version: int | None, why: str, as_json: bool, place: Place) -> None:
    """Take the version of strategy ID that was released last off-line; the one before answers again."""
    bank = bank_of(place.project)
    one = bank.take_back(name, operator(), why, version=version)
    _tell(one, as_json, agents=_follow(bank, name, why))


@click.command("archive", epilog="Example:  exuvia strategy archive aftersale.old_way --version 2")
@click.argument("name", metavar="ID")
@_version
@_why
@json_option
@place_options
def archive(name: str, version: int | None, why: str, as_json: bool, place: Place) -> None:
    """Put a version of strategy ID away for good. Its text stays."""
    bank = bank_of(place.project)
    _move(
        bank,
        name,
        version,
        ("draft", "review", "shadow", "deprecated", "offline"),
        "archived",
        why=why,
        as_json=as_json,
    )


def _move(
    bank: Bank,
    name: str,
    version: int | None,
    of: tuple[State, ...],
    to: State,
    *,
    why: str,
    as_json: bool,
    evidence: tuple[str, ...] = (),
) -> None:
    one = _chosen(bank, name, version, of)
    step = Step(to, operator(), now_s(), why, evidence=evidence)
    _tell(bank.move(name, one.version, step, expect=one.state), as_json)


def _chosen(bank: Bank, name: str, version: int | None, of: tuple[State, ...]) -> Standing:
    """Return the version that is meant. Raises RefusedError where none is in one of the states."""
    if version is not None:
        return bank.standing(name, version)
    versions = bank.entry(name).versions
    for state in of:
        if (found := newest(versions, state)) is not None:
            return found
    stand = ", ".join(f"{one.version} is {one.state}" for one in versions) or "none is published"
    raise RefusedError(f"No version of {name} is {' or '.join(of)}: {stand}.", hint="See exuvia strategy show.")


def _tell(one: Standing, as_json: bool, then: str = "", agents: tuple[str, ...] = ()) -> None:
    """Say where a version stands, what may be done next, and what became of the agents that have it."""
    if as_json:
        print_json({"id": one.id, **standing_facts(one), "agents": list(agents)})
        return
    percent = (
        f", stage {one.stage + 1} of {len(one.stages)} ({one.stages[one.stage].percent:g} %)" if one.stage >= 0 else ""
    )
    say(f"{one.id} version {one.version}: {one.state}{percent}")
    if then:
        say(f"{then[0].upper()}{then[1:]} {one.id}")
    for line in agents:
        say(line)
