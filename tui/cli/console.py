"""`exuvia open`, and `exuvia` alone: the console on a home."""

from __future__ import annotations

import click

from core.foundation.errors import NotFoundError
from core.state.paths import DEFAULT_PROJECT, HomePaths, resolve_home
from tui.cli.common import named_home, note


@click.command("open", epilog="Example:  exuvia open --home DIR")
@click.option("--home", metavar="DIR", help="State directory (else EXUVIA_HOME, PENGUIN_HOME, ~/.exuvia/data).")
@click.option("--project", "project_id", default=DEFAULT_PROJECT, metavar="ID", show_default=True, help="Project.")
@click.option("--mouse", is_flag=True, help="Let the console take the mouse.")
@click.option("--read-only", is_flag=True, help="Look, change nothing.")
def open_console(
    home: str | None, project_id: str = DEFAULT_PROJECT, mouse: bool = False, read_only: bool = False
) -> int:
    """Open the console. A home named by --home or a variable must exist; the default one is made on first use."""
    from core.state.fresh import ensure_home
    from core.state.generations import unsupported
    from tui.boot import check_terminal

    check_terminal()
    home = named_home(home)
    root = resolve_home(home)
    places = HomePaths(root)
    project = places.project(project_id)
    if not project.root.is_dir():
        if home is not None or project_id != DEFAULT_PROJECT or places.project_ids():
            known = ", ".join(places.project_ids()) or "none"
            raise NotFoundError(
                f"There is no project {project_id!r} in {root}.",
                hint=f"Projects there: {known}. A fresh demonstration: exuvia demo",
            )
        ensure_home(root)
    for text in unsupported(places):
        note(text)
    from tui.app import run_console

    return run_console(project, mouse=mouse, read_only=read_only)
