"""`exuvia strategy outcome`: what became of a session, told by whoever knows it (STRATEGY S74, S102)."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.foundation.errors import ExitCode, UsageError
from core.strategy.bank.bank import bank_of
from tui.cli.common import Place, json_option, note, place_options, print_json, say

if TYPE_CHECKING:
    from core.strategy.bank.outcomes import Intake


@click.command(
    epilog="Examples:  exuvia strategy outcome SESSION resolved_without_human=true nps=9   |   "
    "exuvia strategy outcome --from outcomes.jsonl"
)
@click.argument("session", required=False)
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--from", "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
              metavar="FILE", help="JSON lines ('-' reads standard input), each with a session.")  # fmt: skip
@click.option("--time", metavar="TIME", help="When it became known, with its zone (else now).")
@click.option("--source", default="cli", show_default=True, metavar="NAME", help="Who tells it.")
@json_option
@place_options
def outcome(
    session: str | None,
    pairs: tuple[str, ...],
    file: Path | None,
    time: str | None,
    source: str,
    as_json: bool,
    place: Place,
) -> int:
    """Tell what became of SESSION: values by key, true, false, numbers or short texts.

    A release names the key that is its business impact (track.business_impact.metric). `nps` (0 to 10) is satisfaction,
    `mistrigger=true` says that a strategy was used where it shouldn't have been. From a file a line is an object:
    {"session": "...", "resolved_without_human": true}; a line that can't be taken costs only itself, and exits 1.
    """
    from core.strategy.bank import outcomes, turns

    records = bank_of(place.project).records
    if file is not None:
        if session is not None or time is not None:
            raise UsageError(
                "--from brings its own sessions and times.", hint="Leave out SESSION and --time, or leave out --from."
            )
        return _told(outcomes.take(records, _text(file), source=source), as_json=as_json)
    if session is None:
        raise UsageError("No session is named.", hint="exuvia strategy outcome SESSION KEY=VALUE, or --from FILE")
    lines = outcomes.record(records, session, outcomes.parse_pairs(pairs), source=source, time=time)
    if not turns.read(records, session)[0]:
        note(f"No turn of {session} is kept here; if that is a mistyped id, nothing will come of it.")
    if as_json:
        print_json({"taken": [asdict(line) for line in lines], "refused": []})
    else:
        say(f"Taken for {session}: {', '.join(f'{line.key}={_shown(line.value)}' for line in lines)}")
    return int(ExitCode.DONE)


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is no text in UTF-8: {error.reason}.", hint="JSON lines are UTF-8.") from error


def _told(intake: Intake, *, as_json: bool) -> int:
    if as_json:
        refused = [{"line": number, "reason": reason} for number, reason in intake.refused]
        print_json({"taken": [asdict(line) for line in intake.taken], "refused": refused})
    else:
        for number, reason in intake.refused:
            note(f"Line {number} is not taken: {reason}")
        sessions = len({line.session for line in intake.taken})
        say(f"Taken: {len(intake.taken)} values of {sessions} sessions; {len(intake.refused)} lines were not.")
    return int(ExitCode.FAILED if intake.refused else ExitCode.DONE)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
