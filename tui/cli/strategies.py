"""`exuvia strategy`: the bank of a Project, what stands in it, and how its versions reach users."""

from __future__ import annotations

import click

from core.foundation.errors import UsageError
from core.strategy.bank.bank import Bank, Entry, bank_of
from core.strategy.bank.states import STATES
from tui.cli.common import (
    Place,
    group_options,
    here,
    json_option,
    place_options,
    print_json,
    print_table,
    say,
    say_text,
)
from tui.cli.late import LateGroup
from tui.cli.strategy_lines import stage_words, standing_facts
from tui.cli.strategy_moves import approve, archive, enforce, gray, publish, rollback, shadow, submit

_LATE = {
    "demo": ("tui.cli.strategy_demo", "demo", "Watch what strategies are worth, offline."),
    "board": ("tui.cli.strategy_board", "board", "Show what was executed lately: rates, validation, alarms, domains."),
    "domain": ("tui.cli.strategy_board", "domain", "List domains with owner and review, or say that one was reviewed."),
    "outcome": ("tui.cli.strategy_outcome", "outcome", "Tell what became of a session: resolved or not, satisfaction."),
    "cases": ("tui.cli.strategy_feedback", "cases", "List bad cases: what failed, was a fallback, or took too long."),
    "clusters": (
        "tui.cli.strategy_feedback",
        "clusters",
        "Show bad cases that are one trouble, with what would settle it.",
    ),
    "nightly": ("tui.cli.strategy_feedback", "nightly", "Do what time brings; safe to run twice."),
    "ab": ("tui.cli.strategy_feedback", "ab", "Show an A/B test: both arms, the reported rule and ours."),
    "report": ("tui.cli.strategy_report", "report", "Compare a version with the one before, by group of users."),
    "review": ("tui.cli.strategy_review", "review", "List, approve or reject what waits for a person."),
    "import": ("tui.cli.strategy_writing", "import_", "Bring a draft in the text form into the bank."),
    "schema": ("tui.cli.strategy_writing", "schema", "Show, check or draft the schemas of an agent's skills."),
    "audit": ("tui.cli.strategy_governance", "audit", "Say what to archive, take off-line or work on; how full it is."),
    "advise": ("tui.cli.strategy_governance", "advise", "Say which layers pay at this size."),
    "conflicts": ("tui.cli.strategy_governance", "conflicts", "Show strategies that take each other's turns."),
    "troubles": ("tui.cli.strategy_governance", "troubles", "Show the table of troubles, and which your records show."),
    "matrix": ("tui.cli.strategy_matrix", "matrix", "Show which strategies go with which models; try a model."),
    "check": ("tui.cli.strategy_check", "check", "Check syntax, simulated paths, impact and routing tests."),
    "lint": ("tui.cli.strategy_check", "lint", "Say which laws strategies break."),
    "impact": ("tui.cli.strategy_check", "impact", "Say what a change of a strategy touches."),
    "graph": (
        "tui.cli.strategy_check",
        "graph",
        "Show what depends on what, and which tests a change makes mandatory.",
    ),
}

_PARTS = {
    "See": ("list", "show", "diff", "history", "demo"),
    "Write": ("check", "lint", "impact", "graph", "import", "schema"),
    "Release": ("publish", "submit", "review", "approve", "shadow", "gray", "report", "ab", "enforce", "rollback",
                "archive"),
    "Watch and learn": ("board", "outcome", "cases", "clusters", "nightly"),
    "Keep order": ("troubles", "domain", "conflicts", "audit", "advise", "matrix"),
}  # fmt: skip


@click.group(cls=LateGroup, late=_LATE, parts=_PARTS, epilog="Example:  exuvia strategy list --state gray")
@group_options
def strategy() -> None:
    """See the strategies that govern skills, publish versions, release them step by step, take them back."""


for _command in (publish, submit, approve, shadow, gray, enforce, rollback, archive):
    strategy.add_command(_command)


@strategy.command("list", epilog="Example:  exuvia strategy list --domain aftersale --json")
@click.option("--domain", metavar="NAME", help="Of one domain.")
@click.option("--state", type=click.Choice(STATES), help="In one state.")
@click.option("--owner", metavar="NAME", help="Of one owner.")
@json_option
@place_options
def list_strategies(domain: str | None, state: str | None, owner: str | None, as_json: bool, place: Place) -> None:
    """List the bank's strategies with their versions and where they stand."""
    bank = bank_of(place.project)
    found = [
        entry
        for entry in bank.entries()
        if (domain is None or entry.domain == domain)
        and (state is None or any(one.state == state for one in entry.versions) or entry.state == state)
        and (owner is None or (entry.authored is not None and entry.authored.owner == owner))
    ]
    if as_json:
        print_json({"bank": str(bank.root), "strategies": [_facts(entry) for entry in found]})
        return
    if not found:
        say(f"No strategies{' like that' if domain or state or owner else ''} in {bank.root}.")
        say(here("See how they are written: docs/strategies.md"))
        return
    print_table(
        ("id", "state", "versions", "owner", "purpose"),
        [
            (entry.id, entry.state, _versions(entry), _owner(entry), _purpose(entry))
            for entry in sorted(found, key=lambda one: one.id)
        ],
    )
    for finding in bank.journal().findings:
        say(f"Not taken: {finding}")


def _versions(entry: Entry) -> str:
    told = ", ".join(f"{one.version} {one.state}{stage_words(one)}" for one in entry.versions[-3:])
    return told + ("" if entry.published or entry.authored is None else f"{', ' if told else ''}+ unpublished")


def _owner(entry: Entry) -> str | None:
    return entry.authored.owner if entry.authored is not None else None


def _purpose(entry: Entry) -> str:
    if entry.faults:
        return f"FAULT {entry.faults[0]}"
    return entry.authored.purpose[:70] if entry.authored is not None else "(no text here any more)"


def _facts(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "domain": entry.domain,
        "state": entry.state,
        "owner": _owner(entry),
        "purpose": entry.authored.purpose if entry.authored else None,
        "layers": list(entry.authored.layers) if entry.authored else [],
        "published": entry.published,
        "faults": [str(fault) for fault in entry.faults],
        "versions": [standing_facts(one) for one in entry.versions],
    }


@strategy.command("show", epilog="Example:  exuvia strategy show aftersale.paid_no_parcel --version 3")
@click.argument("name", metavar="ID")
@click.option("--version", type=click.IntRange(min=1), help="A published version (else the newest text).")
@json_option
@place_options
def show(name: str, version: int | None, as_json: bool, place: Place) -> None:
    """Show the text of strategy ID, and where its versions stand."""
    bank = bank_of(place.project)
    entry = bank.entry(name)
    text = bank.text(name, version) if version is not None or entry.file.is_file() else ""
    if as_json:
        print_json({**_facts(entry), "text": text})
        return
    for fault in entry.faults:
        say(f"FAULT {fault}")
    for one in entry.versions:
        by = f", approved by {one.reviewed_by}" if one.reviewed_by else ""
        say(f"version {one.version}: {one.state}{stage_words(one)} since {one.since or '-'} ({one.origin}{by})")
    if entry.authored is not None and not entry.published:
        say(here(f"The newest text is not published: exuvia strategy publish {name}"))
    say("")
    say_text(text)


@strategy.command("diff", epilog="Example:  exuvia strategy diff aftersale.paid_no_parcel 3 4")
@click.argument("name", metavar="ID")
@click.argument("old", type=click.IntRange(min=1))
@click.argument("new", type=click.IntRange(min=1), required=False)
@json_option
@place_options
def diff(name: str, old: int, new: int | None, as_json: bool, place: Place) -> None:
    """Compare version OLD of strategy ID with NEW, or with its newest text."""
    told = bank_of(place.project).difference(name, old, new)
    if as_json:
        print_json({"id": name, "old": old, "new": new, "diff": told})
        return
    say_text(told or "No difference.")


@strategy.command("history", epilog="Example:  exuvia strategy history aftersale.paid_no_parcel")
@click.argument("name", metavar="ID", required=False)
@click.option("--git", is_flag=True, help="What git says of the bank's files, where it is kept in git.")
@click.option("--most", default=50, show_default=True, type=click.IntRange(min=1), help="At most so many lines.")
@json_option
@place_options
def history(name: str | None, git: bool, most: int, as_json: bool, place: Place) -> None:
    """Say who published and moved what, when and why; newest last."""
    bank = bank_of(place.project)
    if git:
        _git(bank, name, most, as_json)
        return
    events = [event for event in bank.journal().events if name in (None, event.id)][-most:]
    if name is not None and not events:
        bank.entry(name)
    if as_json:
        print_json({"events": [dict(event.detail) for event in events]})
    elif not events:
        say("Nothing was published yet.")
    else:
        print_table(
            ("time", "strategy", "version", "what", "by", "why"),
            [(e.time, e.id, e.version or None, e.to or e.event, e.actor, e.why or None) for e in events],
        )


def _git(bank: Bank, name: str | None, most: int, as_json: bool) -> None:
    from core.strategy.bank.git_log import log

    path = "." if name is None else str(bank.entry(name).file.relative_to(bank.root))
    found = log(bank.root, path, most)
    if found is None:
        raise UsageError(f"{bank.root} is not kept in git.", hint="Its own history: exuvia strategy history")
    if as_json:
        print_json(
            {"commits": [{"id": one.sha, "time": one.time, "by": one.author, "subject": one.subject} for one in found]}
        )
        return
    print_table(
        ("commit", "time", "by", "subject"), [(one.sha[:10], one.time, one.author, one.subject) for one in found]
    )
