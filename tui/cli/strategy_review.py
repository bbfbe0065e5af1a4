"""`exuvia strategy review`: the pool of what waits for a person, and the person's decision (STRATEGY S105, S106)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from core.foundation.errors import RefusedError
from core.strategy.bank.bank import bank_of
from core.strategy.bank.states import newest
from tui.cli.common import (
    Place,
    group_options,
    group_place,
    here,
    json_option,
    place_options,
    print_json,
    print_table,
    say,
    say_text,
)
from tui.cli.strategy_lines import standing_facts
from tui.cli.strategy_moves import operator

if TYPE_CHECKING:
    from core.strategy.bank.states import Standing
    from core.strategy.feedback.review import Waiting


@click.group(
    invoke_without_command=True, epilog="Examples:  exuvia strategy review   |   exuvia strategy review list --json"
)
@group_options
@click.pass_context
def review(context: click.Context) -> None:
    """List the versions that wait for a person, or approve or reject one. Approved, it goes into shadow first."""
    if context.invoked_subcommand is None:
        _list(group_place(), as_json=False)


@review.command("list", epilog="Example:  exuvia strategy review list --json")
@json_option
@place_options
def list_waiting(as_json: bool, place: Place) -> None:
    """List the versions in review, the one that waits longest first."""
    _list(place, as_json=as_json)


@review.command("show", epilog="Example:  exuvia strategy review show aftersale.paid_no_parcel")
@click.argument("name", metavar="ID")
@json_option
@place_options
def show(name: str, as_json: bool, place: Place) -> None:
    """Show the version of strategy ID that waits: its text, what it rests on, and the bad cases that it answers."""
    one = _waiting_of(place, name)
    if as_json:
        print_json({**_facts(one), "text": one.text, "cases": [case.to_json() for case in one.cases]})
        return
    say(f"{one.id} version {one.version}, by {one.strategy.created_by or '-'}, waits since {one.since}")
    say(f"{one.strategy.purpose}")
    say(f"Rests on: {', '.join(one.evidence) or 'nothing that it names'}")
    for case in one.cases:
        say(f"  {case.id}: {case.utterance}")
    say("")
    say_text(one.text)


@review.command(
    "approve", epilog='Example:  exuvia strategy review approve aftersale.paid_no_parcel --reason "read, tested"'
)
@click.argument("name", metavar="ID")
@click.option("--reason", "why", required=True, metavar="TEXT", help="Why; it stands in the history.")
@click.option("--evidence", multiple=True, metavar="ID", help="A check or a run of the benchmark that it rests on.")
@json_option
@place_options
def approve(name: str, why: str, evidence: tuple[str, ...], as_json: bool, place: Place) -> None:
    """Approve the version of strategy ID that waits: it runs in shadow then, without any effect."""
    from core.strategy.feedback import review as pool

    one = _waiting_of(place, name)
    bank = bank_of(place.project)
    _tell(pool.approve(bank, one.id, one.version, operator().name, why, evidence), as_json)
    if not as_json:
        say(here(f"Let it answer the first users: exuvia strategy gray {name}"))


@review.command(
    "reject", epilog='Example:  exuvia strategy review reject aftersale.paid_no_parcel --reason "too broad"'
)
@click.argument("name", metavar="ID")
@click.option("--reason", "why", required=True, metavar="TEXT", help="Why; it stands in the history.")
@json_option
@place_options
def reject(name: str, why: str, as_json: bool, place: Place) -> None:
    """Put the version of strategy ID that waits away for good. Its text stays."""
    from core.strategy.feedback import review as pool

    one = _waiting_of(place, name)
    _tell(pool.reject(bank_of(place.project), one.id, one.version, operator().name, why), as_json)


def _list(place: Place, *, as_json: bool) -> None:
    found = _pool(place)
    if as_json:
        print_json({"waiting": [_facts(one) for one in found]})
        return
    if not found:
        say(f"Nothing waits for review in {bank_of(place.project).root}.")
        return
    print_table(
        ("id", "version", "since", "origin", "by", "rests on", "purpose"),
        [
            (
                one.id,
                one.version,
                one.since,
                one.strategy.origin.kind,
                one.strategy.created_by or None,
                ", ".join(one.evidence[:2]) + (f" and {len(one.evidence) - 2} more" if len(one.evidence) > 2 else ""),
                one.strategy.purpose[:60],
            )
            for one in found
        ],
    )
    say(here(f"Read one: exuvia strategy review show {found[0].id}"))


def _pool(place: Place) -> tuple[Waiting, ...]:
    from core.strategy.bank.changes import FEEDBACK
    from core.strategy.feedback.bad_cases import Queue
    from core.strategy.feedback.review import pool

    bank = bank_of(place.project)
    return pool(bank, {case.id: case for case in Queue(bank.records / FEEDBACK).read().cases})


def _waiting_of(place: Place, name: str) -> Waiting:
    found = [one for one in _pool(place) if one.id == name]
    if found:
        return found[-1]
    versions = bank_of(place.project).entry(name).versions
    last = newest(versions, *(one.state for one in versions))
    stands = f"version {last.version} is {last.state}" if last is not None else "none is published"
    raise RefusedError(f"No version of {name} waits for review: {stands}.", hint="What waits: exuvia strategy review")


def _facts(one: Waiting) -> dict[str, Any]:
    return {
        "id": one.id,
        "version": one.version,
        "since": one.since,
        "origin": one.strategy.origin.kind,
        "created_by": one.strategy.created_by or None,
        "owner": one.strategy.owner,
        "purpose": one.strategy.purpose,
        "evidence": list(one.evidence),
        "cases_kept": len(one.cases),
    }


def _tell(one: Standing, as_json: bool) -> None:
    if as_json:
        print_json({"id": one.id, **standing_facts(one)})
    else:
        say(f"{one.id} version {one.version}: {one.state}")
