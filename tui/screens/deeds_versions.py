"""The questions before a version is kept, exported or imported, and what is done on an answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.message import Message
from textual.widget import Widget

from core.state.paths import ProjectPaths
from tui import commands_versions
from tui.messages import DeedWanted, Outcome, Said
from tui.stores.console import ConsoleView
from tui.stores.diff import Comparison, Side
from tui.stores.versions import VersionRow
from tui.widgets.prompt import Prompt
from tui.work import Work

if TYPE_CHECKING:
    from tui.screens.frame import Frame


class Offered(Message):
    """An archive was checked and may come in: the side to compare the present state with."""

    def __init__(self, side: Side) -> None:
        self.side = side
        super().__init__()


def keep_present(pane: Widget, view: ConsoleView) -> None:
    """Ask for a note and keep the present state."""
    versions = view.versions
    if versions.present is None:
        pane.post_message(Said("There is no state to keep here.", "warn"))
        return
    project = _project(pane)

    def told(note: str | None) -> None:
        if note is None:
            pane.post_message(Said("Nothing was kept."))
        else:
            do = partial(commands_versions.keep, project, versions.agent_id, note.strip())
            _start(pane, lambda _: do(), f"keeping v{versions.present}")

    _ask(pane, f"Keep {versions.agent_id} v{versions.present} as it is now. A note (or just Enter):", told)


def export_version(pane: Widget, view: ConsoleView, row: VersionRow | None) -> None:
    """Ask where to, and export the selected version; the present one as it is now, edits included."""
    versions = view.versions
    if row is None:
        pane.post_message(Said("There is no version to export."))
        return
    present = row.present and (row.drift != "same" or not row.kept)
    if not row.kept and not row.present:
        pane.post_message(Said(f"The state of v{row.version} is not kept, so it can't be exported.", "warn"))
        return
    project, number = _project(pane), None if present else row.version

    def told(target: str | None) -> None:
        if target is None:
            pane.post_message(Said("Nothing was exported."))
            return

        def do(work: Work) -> Outcome:
            return commands_versions.export(project, versions.agent_id, number, target, work)

        _start(pane, do, f"exporting v{row.version}")

    what = f"v{row.version} as it is now" if present else f"v{row.version}"
    _ask(pane, f"Export {what} to:", told, _here(f"{versions.agent_id}-v{row.version}.tar.gz"))


def import_asked(pane: Widget, view: ConsoleView) -> None:
    """Ask for an archive and check it; what it would change is shown before anything is."""
    agent_id, live = view.versions.agent_id, _live(view)
    if not agent_id:
        pane.post_message(Said("There is no agent here to import into.", "warn"))
        return
    if live:
        pane.post_message(Said(f"Run {live} works on {agent_id}.", "warn", "K stops it; then import."))
        return
    project = _project(pane)

    def told(source: str | None) -> None:
        if source is None:
            pane.post_message(Said("Nothing was imported."))
            return

        def do(work: Work) -> Outcome:
            side = commands_versions.look(project, agent_id, source, work)
            pane.post_message(Offered(side))
            return Outcome(f"{side.words} holds v{side.version} and is sound.", "I imports it, Esc leaves it.")

        _start(pane, do, "checking the archive")

    _ask(pane, f"Import into {agent_id}; what it changes is shown first. Archive:", told)


def import_shown(pane: Widget, view: ConsoleView, comparison: Comparison | None) -> None:
    """Ask whether to import the archive that is shown; where its version is not newer, by typing that version."""
    side = comparison.right if comparison is not None else None
    if comparison is None or side is None or side.kind != "archive" or comparison.trouble:
        pane.post_message(Said("No archive is shown that could be imported.", hint="I in Versions (5) takes one."))
        return
    if not comparison.files:
        pane.post_message(Said("The archive holds what is here already; there is nothing to import."))
        return
    if live := _live(view):
        pane.post_message(Said(f"Run {live} works on {side.agent_id}.", "warn", "K stops it; then import."))
        return
    project, present = _project(pane), comparison.present or 1
    newer = side.version > present

    def answered(yes: bool) -> None:
        if not yes:
            pane.post_message(Said("Not imported; nothing was changed."))
            return
        _start(pane, partial(commands_versions.import_archive, project, side, not newer), f"importing v{side.version}")

    prompt = pane.screen.query_one(Prompt)
    if newer:
        prompt.confirm(f"Import v{side.version} over v{present} of {side.agent_id}? u undoes it.", answered)
    else:
        question = f"v{side.version} is not newer than v{present} of {side.agent_id}. Import it all the same?"
        prompt.confirm_typed(question, f"v{side.version}", answered)


def export_patch(pane: Widget, comparison: Comparison) -> None:
    """Ask where to, and write what is shown as a patch."""
    left, right = (_file_word(side) for side in (comparison.left, comparison.right))

    def told(target: str | None) -> None:
        if target is None:
            pane.post_message(Said("Nothing was exported."))
        else:
            _start(
                pane, lambda work: commands_versions.write_patch(comparison.files, target, work), "writing the patch"
            )

    _ask(pane, "Write the difference to:", told, _here(f"{comparison.right.agent_id}-{left}-{right}.patch"))


def _file_word(side: Side) -> str:
    return f"v{side.version}" if side.version else "now" if side.kind == "current" else side.kind


def _live(view: ConsoleView) -> str:
    return next((run.run_id for run in view.sessions.live if run.agent_id == view.versions.agent_id), "")


def _here(name: str) -> str:
    """Return a file in the working directory as a person would type it."""
    try:
        return f"~/{(Path.cwd() / name).relative_to(Path.home())}"
    except (ValueError, OSError, RuntimeError):
        return str(Path.cwd() / name)


def _project(pane: Widget) -> ProjectPaths:
    return cast("Frame", pane.screen).project


def _ask(pane: Widget, question: str, told: Callable[[str | None], None], initial: str = "") -> None:
    pane.screen.query_one(Prompt).ask(question, told, initial)


def _start(pane: Widget, do: Callable[[Work], Outcome], doing: str) -> None:
    pane.post_message(DeedWanted(do, doing))
