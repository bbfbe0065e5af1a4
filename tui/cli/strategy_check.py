"""`exuvia strategy check|lint|impact|graph`: is the bank right, and what does a change concern."""

from __future__ import annotations

from dataclasses import asdict

import click

from core.foundation.errors import ExitCode, UsageError
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.documents.strategy import Strategy
from tui.cli.common import Place, here, json_option, place_options, print_json, print_table, say

_SHOWN = 200


@click.command(epilog="Examples:  exuvia strategy check   |   exuvia strategy check aftersale.paid_no_parcel --json")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--changed", is_flag=True, help="Simulate only strategies whose text is not published as it is.")
@click.option("--agent", "agent_id", metavar="AGENT", help="With the skills of this agent (else of all).")
@json_option
@place_options
def check(names: tuple[str, ...], changed: bool, agent_id: str | None, as_json: bool, place: Place) -> int:
    """Check the bank: syntax, simulated paths, impact of what changed, routing tests, the laws. Exits 1 on an error.

    With IDs or --changed only those are simulated; syntax and routing are always those of the whole bank. Nothing is
    written and no skill is called.
    """
    from core.strategy.governance.checked import check_project

    _known(place, agent_id)
    if changed and names:
        raise UsageError("--changed and IDs exclude each other.", hint="Leave out one of the two.")
    entries = bank_of(place.project).entries() if changed else ()
    new = tuple(entry.id for entry in entries if entry.authored is not None and not entry.published)
    report = check_project(place.project, agent_id, only=new if changed else names or None)
    if as_json:
        print_json(report.to_json())
        return int(report.exit_code)
    for line in report.lines():
        say(line)
    if not report.ok:
        say(here("What the layer knows: docs/strategies.md. A strategy's text: exuvia strategy show ID"))
    return int(report.exit_code)


@click.command(epilog="Examples:  exuvia strategy lint   |   exuvia strategy lint aftersale.paid_no_parcel")
@click.argument("name", metavar="[ID]", required=False)
@click.option("--agent", "agent_id", metavar="AGENT", help="With the skills and prompts of this agent (else of all).")
@json_option
@place_options
def lint(name: str | None, agent_id: str | None, as_json: bool, place: Place) -> int:
    """Say which laws strategies break: one problem each, few lines, checks that cost little. Exits 1 on an error."""
    from core.strategy.governance.checked import lints

    _known(place, agent_id)
    found = lints(place.project, agent_id, name)
    wrong = any(one.severity == "error" for one in found)
    if as_json:
        print_json({"ok": not wrong, "lints": [asdict(one) for one in found]})
    else:
        for one in found:
            say(f"{one.severity}: {one}")
        say(f"{len(found) or 'No'} finding{'' if len(found) == 1 else 's'}.")
    return int(ExitCode.FAILED if wrong else ExitCode.DONE)


@click.command(epilog="Example:  exuvia strategy impact aftersale.paid_no_parcel")
@click.argument("name", metavar="ID")
@json_option
@place_options
def impact(name: str, as_json: bool, place: Place) -> None:
    """Say what a change of strategy ID touches: call paths by skill, tracked turns, strategies that depend on it."""
    from core.strategy.bank.impact import impact as impact_of
    from core.strategy.bank.tracked import tracked

    bank = bank_of(place.project)
    bank.read(name)
    report = impact_of(name, _written(bank), tracked(bank).executions)
    if as_json:
        print_json(report.to_json())
        return
    say(report.text)
    if report.by_skill:
        print_table(
            ("skill", "call paths", "touched"),
            [
                (skill, share.count, None if share.value is None else f"{share.value:.0%}")
                for skill, share in report.by_skill.items()
            ],
        )


@click.command(epilog="Examples:  exuvia strategy graph aftersale.paid_no_parcel   |   exuvia strategy graph --json")
@click.argument("name", metavar="[ID]", required=False)
@json_option
@place_options
def graph(name: str | None, as_json: bool, place: Place) -> None:
    """Show what strategies depend on; with ID what a change of it concerns, and whose tests become mandatory."""
    from core.strategy.governance.graph import affected, mandatory
    from core.strategy.governance.graph import graph as graph_of

    bank = bank_of(place.project)
    if name is not None:
        bank.read(name)
    written = _written(bank).values()
    found = graph_of(written)
    edges = found.edges if name is None else found.of(name)
    concerned = None if name is None else affected(found, [name])
    tests = None if name is None else mandatory(written, [name])
    if as_json:
        print_json(
            {
                "nodes": list(found.nodes),
                "edges": [asdict(edge) for edge in edges],
                "affected": None if concerned is None else list(concerned.marked),
                "mandatory": None if tests is None else asdict(tests),
            }
        )
        return
    if edges:
        print_table(
            ("strategy", "depends on", "by", "where"),
            [(edge.source, _there(edge.target, found.nodes), edge.kind, edge.why) for edge in edges[:_SHOWN]],
        )
    else:
        say("No strategy depends on another one." if name is None else f"Nothing hangs together with {name}.")
    if len(edges) > _SHOWN:
        say(f"{len(edges) - _SHOWN} more: --json shows all.")
    if concerned is not None and tests is not None:
        for one in concerned.marked:
            way = concerned.through.get(one)
            say(f"Concerned: {one}" + (f" ({way.kind} {way.target}, {way.why})" if way else " (changed)"))
        say(f"Mandatory: {tests.examples} routing examples of {len(tests.strategies)} strategies.")
        for one in tests.untested:
            say(f"No example at all: {one}. Give it some (trigger.examples).")


def _there(target: str, nodes: tuple[str, ...]) -> str:
    return target if target in nodes else f"{target} (not in this bank)"


def _written(bank: Bank) -> dict[str, Strategy]:
    return {entry.id: entry.authored for entry in bank.entries() if entry.authored is not None}


def _known(place: Place, agent_id: str | None) -> None:
    if agent_id is not None:
        place.agent(agent_id)
