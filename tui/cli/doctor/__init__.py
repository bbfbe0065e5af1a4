"""`exuvia doctor`: what this machine offers and lacks, with a fix for each finding."""

from __future__ import annotations

from collections.abc import Iterator

import click

from core.foundation.errors import ExitCode
from core.state.paths import HomePaths
from tui.cli.common import Place, json_option, place_options, print_json, say
from tui.cli.doctor import home, machine, models, terminal
from tui.cli.doctor.findings import Finding, World

__all__ = ["Finding", "World", "doctor", "examine"]


def examine(place: Place, world: World, *, providers: bool | None = None) -> Iterator[Finding]:
    """Yield every finding. `providers` None asks those that the operator has configured, False none."""
    yield from machine.program()
    yield from machine.isolation()
    for check in (terminal.terminal, terminal.colours, terminal.clipboard, terminal.tmux, terminal.ssh):
        yield from check(world)
    yield from machine.settings()
    yield from home.home(place.home, world)
    yield from home.watches(place.home, world, home.watches_used())
    yield from home.leftovers(place.home)
    project = HomePaths(place.home).project(place.project_id)
    yield from models.configured(project)
    if providers is not False:
        found = models.reachable(project, every=bool(providers))
        yield from found
        if providers and not found:
            yield Finding("provider", "ok", "none is configured: the rehearsal model needs none",
                          f"Models stand in {project.config}.")  # fmt: skip
    yield from machine.training(world)


@click.command(epilog="Examples:  exuvia doctor   |   exuvia doctor --json   |   exuvia doctor --no-providers")
@click.option(
    "--providers/--no-providers", default=None, help="Ask all the file names, or none (default: those with a key)."
)
@json_option
@place_options
def doctor(providers: bool | None, as_json: bool, place: Place) -> int:
    """Check program, isolation, terminal, clipboard, tmux, home, models and GPU, with a fix for each finding.

    Nothing is changed. "warn" costs something, "bad" must be mended; exit 1 if anything is bad.
    """
    findings: list[Finding] = []
    for finding in examine(place, World.here(), providers=providers):
        findings.append(finding)
        if not as_json:
            say(f"{finding.level:<5} {finding.subject:<10} {finding.found}")
            if finding.fix:
                say(f"{'':<16} -> {finding.fix}")
    bad = sum(finding.level == "bad" for finding in findings)
    warned = sum(finding.level == "warn" for finding in findings)
    if as_json:
        print_json({"findings": [finding.__dict__ for finding in findings], "bad": bad, "warn": warned})
    else:
        said = [f"{bad} bad" if bad else "", f"{warned} warning{'s' * (warned > 1)}" if warned else ""]
        say(f"{', '.join(part for part in said if part) or 'All is well'}.")
    return int(ExitCode.FAILED if bad else ExitCode.DONE)
