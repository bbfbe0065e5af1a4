"""`exuvia open`, and `exuvia` alone: the console on a home, or its events line by line."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from core.foundation.errors import NotFoundError, UsageError
from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths, resolve_home
from tui.cli.common import demo_hint, keep_read_only, named_home, note


@click.command(
    "open",
    epilog="Examples:  exuvia open   |   exuvia open ~/.exuvia/demo --read-only   |   exuvia open DIR --plain --json",
)
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--home", metavar="DIR", help="State directory (else EXUVIA_HOME, PENGUIN_HOME, ~/.exuvia/data).")
@click.option("--project", "project_id", default=DEFAULT_PROJECT, metavar="ID", show_default=True, help="Project.")
@click.option("--mouse", is_flag=True, help="Let the console take the mouse.")
@click.option("--read-only", is_flag=True, help="Look, change nothing; core refuses every change.")
@click.option("--plain", is_flag=True, help="No full screen: where things stand, then one line an event.")
@click.option("--once", is_flag=True, help="With --plain: where things stand, and no more.")
@click.option("--json", "as_json", is_flag=True, help="With --plain: a JSON document on each line.")
def open_console(
    directory: str | None = None,
    home: str | None = None,
    project_id: str = DEFAULT_PROJECT,
    mouse: bool = False,
    read_only: bool = False,
    plain: bool = False,
    once: bool = False,
    as_json: bool = False,
) -> int:
    """Open the console on DIR, a state directory of this program or of one that writes the same format.

    With --plain (or EXUVIA_PLAIN=1) no screen is needed: each event is a line of its own, with its time and without
    colour, until Ctrl-C or the end of input. A home that is named must exist; the default one is made on first use.
    """
    plain = plain or once or as_json or bool(click.get_current_context().find_root().params.get("plain"))
    if not plain:
        from tui.boot import check_terminal

        check_terminal()
    home, found = named_home(home), ""
    if directory is not None:
        project, found = _pointed_at(directory, home, project_id)
        root = project.root.parent
        home, project_id = str(root), project.id
        read_only = keep_read_only(root, asked=read_only)
    else:
        root = resolve_home(home)
        read_only = keep_read_only(root, asked=read_only)
        project = _project(root, project_id, home=home, read_only=read_only, once=once)
    from core.state.generations import unsupported

    for text in unsupported(HomePaths(root)):
        note(text)
    if plain:
        from tui.cli.plain import tell

        return tell(project, home=_home_words(home, project_id), as_json=as_json, once=once)
    from tui.app import run_console

    return run_console(project, mouse=mouse, read_only=read_only, greeting=found)


def _pointed_at(directory: str, home: str | None, project_id: str) -> tuple[ProjectPaths, str]:
    """Return the project that DIR means and a sentence about it. Raises UsageError where --home names another."""
    from core.state.opening import find_project

    if home is not None:
        raise UsageError("Both DIR and --home were given.", hint="One of them is enough: exuvia open DIR")
    source = click.get_current_context().get_parameter_source("project_id")
    found = find_project(directory, project_id if source is click.core.ParameterSource.COMMANDLINE else None)
    return found.project, found.text


def _project(root: Path, project_id: str, *, home: str | None, read_only: bool, once: bool) -> ProjectPaths:
    """Return the project to open; the default one is made where there is none at all yet, with a word of welcome."""
    places = HomePaths(root)
    project = places.project(project_id)
    if project.root.is_dir():
        return project
    known = ", ".join(places.project_ids())
    if home is not None or project_id != DEFAULT_PROJECT or known:
        raise NotFoundError(
            f"There is no project {project_id!r} in {root}.",
            hint=f"Projects there: {known or 'none'}. Make one there: exuvia agent create ID --requirement TEXT --home "
            f"{shlex.quote(str(root))}\n{demo_hint()}",
        )
    if read_only or once:
        raise NotFoundError(
            f"There is nothing to look at in {root} yet.",
            hint=f"It is made on first use: exuvia agent create ID --requirement TEXT\n{demo_hint()}\n"
            "Another state directory: exuvia open DIR",
        )
    from core.state.fresh import ensure_home  # the first start only: the others come to the screen without it

    ensure_home(root)
    for line in welcome(root):
        note(line)
    return project


def welcome(root: Path) -> tuple[str, ...]:
    """Return what a person needs to know who starts the program for the first time."""
    return (
        f"Welcome to Exuvia. Your agents will live in {root}, which was just made, with an example to look at.",
        f"  See the whole loop, offline and without a key:  {_demo_words()}",
        "  Make an agent of your own:                       exuvia agent create ID --requirement TEXT",
        "  Open a state directory that you have:            exuvia open DIR",
        "  Check this machine:                              exuvia doctor",
    )


def _demo_words() -> str:
    from tui.cli.common import demo_home

    place = demo_home()
    return f"exuvia --home {shlex.quote(str(place))}" if place.is_dir() else "exuvia demo"


def _home_words(home: str | None, project_id: str) -> str:
    """Return what a command needs after its words to work on the same project."""
    words = "" if home is None else f" --home {shlex.quote(home)}"
    return words if project_id == DEFAULT_PROJECT else f"{words} --project {shlex.quote(project_id)}"
