"""`exuvia strategy report`: how a new version decided beside the old one, by group of users (STRATEGY S71, S72)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from core.foundation.errors import RefusedError
from core.strategy.bank.bank import bank_of
from core.strategy.bank.states import newest
from tui.cli.common import Place, here, json_option, place_options, print_json, print_table, say
from tui.cli.strategy_lines import percent

if TYPE_CHECKING:
    from core.strategy.bank.comparison import Row


@click.command(epilog="Example:  exuvia strategy report aftersale.paid_no_parcel --version 4")
@click.argument("name", metavar="ID")
@click.option("--version", type=click.IntRange(min=1), help="Which version (else the newest in shadow or gray).")
@json_option
@place_options
def report(name: str, version: int | None, as_json: bool, place: Place) -> None:
    """Compare a version of strategy ID with the one before it, over the turns in which both were run.

    By the groups that its release names (rollout.shadow.by). What could not be compared, since a write was withheld,
    is unknown and counts nowhere.
    """
    from core.strategy.bank.shadow import read
    from core.strategy.bank.shadow import report as report_of

    bank = bank_of(place.project)
    if version is None:
        versions = bank.entry(name).versions
        one = newest(versions, "shadow", "gray") or newest(versions, "active", "deprecated", "offline")
        if one is None:
            raise RefusedError(
                f"No version of {name} ran in shadow.",
                hint=f"Where its versions stand: exuvia strategy show {name}",
            )
        version = one.version
    else:
        bank.standing(name, version)
    found = report_of(bank, name, version)
    damaged = read(bank, name, version)[1]
    if as_json:
        print_json({**found.to_json(), "damaged": list(damaged)})
        return
    if not found.whole.turns:
        say(f"{name} version {version} was not compared in a turn yet.")
        say(here("Turns of users are compared while it is in shadow: exuvia chat AGENT --user ID"))
        return
    say(f"{name} version {version} beside {found.old_version or 'nothing'}: {found.whole.turns} turns, "
        f"{found.withheld} with a write that was withheld")  # fmt: skip
    print_table(
        ("users", "turns", "other path", "other output", "other checks", "fires newly", "no longer", "fails old",
         "fails new", "p50", "stands out in"),
        [_row(row) for row in (found.whole, *found.rows)],
    )  # fmt: skip
    for word in damaged:
        say(f"Not read: {word}")


def _row(row: Row) -> tuple[object, ...]:
    times = (row.latency_old_p50, row.latency_new_p50)
    return (
        f"{row.attribute} {row.value}".strip(),
        row.turns,
        *(percent(row.differs[aspect].value) for aspect in ("path", "output", "validation")),
        *(percent(share.value) for share in (row.gained, row.lost, row.failed_old, row.failed_new)),
        None if None in times else f"{times[0]:.0f} to {times[1]:.0f} ms",
        ", ".join(row.suspicious) or None,
    )
