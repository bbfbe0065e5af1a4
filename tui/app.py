"""The way into the console. Nothing heavy is imported before the terminal has been checked and prepared."""

from __future__ import annotations

import gc
import sys
from shutil import which

from core.state.paths import ProjectPaths
from tui import boot


def run_console(
    project: ProjectPaths,
    *,
    mouse: bool = False,
    read_only: bool = False,
    demo: bool = False,
    lean: bool | None = None,
    greeting: str = "",
) -> int:
    """Show the console until the operator leaves it; return the exit code.

    `lean` sends fewer bytes for the same screen; by default it does unless the settings say off.
    `greeting` is said once it is open. Raises UsageError where the terminal cannot show it.
    Runs that are live go on without the console.
    """
    boot.check_terminal()
    boot.prepare()
    boot.write_utf8()
    gc.disable()  # until the first paint: what is imported and built by then stays
    # Imported here: Textual reads its settings from the environment that was just prepared.
    from tui import settings
    from tui.console import Console
    from tui.stores.console import ConsoleStore
    from tui.stores.glance import first_facts

    loaded = settings.load()

    store = ConsoleStore(project)
    store.view = first_facts(project)  # so that the first paint shows facts (DECISIONS 29); the feed reads the rest
    if lean is None:
        lean = loaded.settings.lean != "off"
    app = Console(project, store, read_only=read_only, lean=lean, loaded=loaded)
    if demo:
        app.frame.greet(
            "A demonstration with the rehearsal model: no key, no network.", "6 when it waits for you, ? for help"
        )
    elif greeting:
        app.frame.greet(greeting, "? for help")
    app.run(mouse=mouse or loaded.settings.mouse)
    live = [run.run_id for run in store.view.sessions.live] + [run.id for run in store.view.training.live]
    if app.return_code:
        return app.return_code
    if live:
        print(f"Still at work: {', '.join(live)}. Runs go on without the console.", file=sys.stdout)  # noqa: T201
    if live or demo:
        program = "exuvia" if which("exuvia") else sys.argv[0]
        print(f"Look again: {program} --home {project.root.parent}", file=sys.stdout)  # noqa: T201
    return 0
