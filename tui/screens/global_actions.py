"""What the keys do that work everywhere: moving between panes, finding, copying, deciding, leaving."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from core.foundation.errors import ExuviaError
from tui.actions import PANES
from tui.lean import CLEAR
from tui.messages import CopyWanted
from tui.screens.panes.base import BackWanted, TraceWanted, method_of
from tui.screens.panes.sessions import SessionsPane
from tui.screens.panes.tail import Tail
from tui.settings import Loaded
from tui.widgets.line_list import RowList
from tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from tui.screens.frame import Frame

SLIP_S = 0.3
"""A dangerous key this soon after a change of pane may have been meant for the pane before."""
TWICE_S = 3.0
_SHOW_VERSIONS = frozenset({"versions", "scores"})


class GlobalActions:
    """Does what the pane in focus has no way of its own for: `do_zoom` is the action `zoom` of the registry."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._interrupted = 0.0

    def do(self, action_id: str) -> None:
        """Do an action; nothing happens for one that only panes know."""
        done: Callable[[], None] | None = getattr(self, method_of(action_id), None)
        if done is not None:
            done()

    def do_pane_next(self) -> None:
        self._step(1)

    def do_pane_previous(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        """Go to the next widget in sight, round and round; from a pane that stands alone and has one, to the next."""
        chain = self.frame.focus_chain
        at = chain.index(self.frame.focused) + step if self.frame.focused in chain else 0
        if self.frame.has_class("-s") and len(chain) < 2:
            ids = [pane for pane, _, _ in PANES]
            self.frame.activate(ids[(ids.index(self.frame.active) + step) % len(ids)])
        elif chain:
            chain[at % len(chain)].focus()

    def do_back(self) -> None:
        pane = self.frame.pane()
        filtered = [rows for rows in pane.query(RowList) if rows.filter]
        if self.frame.works.end():
            self.frame.flash("Ending it...")
            return
        if filtered:
            for rows in filtered:
                rows.set_filter("")
            self.frame.lines()
        elif pane.go_back():
            self.frame.lines()
        elif self.frame.has_class("-zoom"):
            self.do_zoom()
        elif self.frame.focused is not None and self.frame.focused is not pane.first_focus():
            self.frame.restore_focus()
        else:
            self.frame.leave()
        self.frame.query_one(Prompt).clear()

    def do_diff_back(self) -> None:
        pane = self.frame.pane()
        if not pane.go_back():
            pane.post_message(BackWanted())

    def do_filter(self) -> None:
        rows = self.frame.focused
        if not isinstance(rows, RowList):
            self.frame.flash("There is nothing to filter here.")
            return
        target = rows

        def told(text: str | None) -> None:
            if text is not None:
                target.set_filter(text)
            target.focus()
            self.frame.lines()

        self.frame.query_one(Prompt).ask("Show rows that hold:", told, target.filter)

    def do_subject(self) -> None:
        listed = self.frame.view.subjects
        if len(listed) < 2 or self.frame.view.subject is None:
            self.frame.flash("There is no other agent or benchmark here.")
            return
        from tui.screens.picker import Choice, PickerScreen

        found = [
            Choice(f"subject:{at}", one.agent_id, one.benchmark_id or "no benchmark", "agent")
            for at, one in enumerate(listed)
        ]
        at = f"subject:{listed.index(self.frame.view.subject)}" if self.frame.view.subject in listed else ""
        self.frame.app.push_screen(PickerScreen("Look at another agent or benchmark", found, self._found, at=at))

    def do_approve(self) -> None:
        item = self.frame.inbox_pane().item
        self.frame.deeds.approve(self.frame.view, item.id if item else "")

    def do_reject(self) -> None:
        item = self.frame.inbox_pane().item
        self.frame.deeds.reject(self.frame.view, item.id if item else "")

    def do_say(self) -> None:
        self.frame.deeds.tell(self.frame.query_one(SessionsPane).listener())

    def do_start(self) -> None:
        from tui.screens.starting import open_form

        open_form(self.frame, self.frame.query_one(SessionsPane).selected())

    def do_continue(self) -> None:
        self.frame.deeds.resume(self.frame.view, self.frame.query_one(SessionsPane).selected())

    def do_rollback(self) -> None:
        frame = self.frame
        # Asked where no version is in sight that R would go to, or where the key may be a slip.
        unseen = frame.active not in _SHOW_VERSIONS
        slip = monotonic() - frame.changed_pane < SLIP_S
        ask = unseen or slip or frame.loaded.settings.confirm_rollback
        frame.deeds.roll_back(frame.view, frame.pane().version_in_sight(), ask=ask)

    def do_undo(self) -> None:
        self.frame.deeds.undo(self.frame.view)

    def do_stop(self) -> None:
        selected = self.frame.query_one(SessionsPane).selected()
        live = (
            selected if selected is not None and selected.is_live else next(iter(self.frame.view.sessions.live), None)
        )
        self.frame.deeds.stop(self.frame.view, live.run_id if live else None)

    def do_pause(self) -> None:
        tail = self.frame.query_one(Tail)
        if tail.display:
            self.frame.flash("Live is held; Space goes on." if tail.hold() else "Live follows again.")
        else:
            self.frame.flash("There is nothing here that streams.", "plain", "Sessions and Trace do")

    def do_zoom(self) -> None:
        if self.frame.has_class("-s") and not self.frame.has_class("-zoom"):
            self.frame.flash("This pane has the whole screen already.")
            return
        self.frame.toggle_class("-zoom")
        self.frame.call_after_refresh(self.frame.catch_up)

    def do_copy(self) -> None:
        self._copy(whole=False)

    def do_copy_row(self) -> None:
        self._copy(whole=True)

    def _copy(self, *, whole: bool) -> None:
        found = self.frame.pane().copied(whole=whole)
        if found is None:
            self.frame.flash("Nothing is selected that could be copied.")
        else:
            self.frame.on_copy_wanted(CopyWanted(*found))

    def do_pager(self) -> None:
        from tui.pager import page

        text = self.frame.pane().reading()
        if not text:
            self.frame.flash("There is no text here to read at length.")
            return
        try:
            page(self.frame.app, text)
        except ExuviaError as error:
            self.frame.flash(str(error), "bad", error.hint)

    def do_refresh(self) -> None:
        self.frame.refresh_all()
        self.frame.flash("Read again.")

    def do_redraw(self) -> None:
        self.frame.tell_terminal(CLEAR)
        self.frame.refresh(repaint=True, layout=True)

    def do_suspend(self) -> None:
        self.frame.app.action_suspend_process()

    def do_help(self) -> None:
        from tui.screens.help import HelpScreen

        self.frame.app.push_screen(
            HelpScreen(self.frame.active, read_only=self.frame.read_only, changed=self.frame.loaded.keys)
        )

    def do_settings(self) -> None:
        from tui.screens.settings import SettingsScreen

        self.frame.app.push_screen(SettingsScreen(self.frame.loaded, self._settled))

    def _settled(self, loaded: Loaded) -> None:
        self.frame.loaded = loaded
        self.frame.settle(loaded)
        self.frame.lines()

    def do_palette(self) -> None:
        from tui.screens.finder import choices
        from tui.screens.picker import PickerScreen

        frame = self.frame
        found = choices(frame.view, frame.active, frame.useless(), frame.loaded.keys, read_only=frame.read_only)
        frame.app.push_screen(PickerScreen("Do something, or go somewhere", found, self._found))

    def _found(self, key: str) -> None:
        """Do what was chosen in the palette."""
        kind, _, rest = key.partition(":")
        match kind:
            case "do":
                scope, _, action_id = rest.partition(":")
                if scope in {pane for pane, _, _ in PANES}:
                    self.frame.activate(scope)
                self.frame.run_action_by_id(action_id)
            case "run":
                self.frame.activate("sessions")
                self.frame.query_one("#sessions-list", RowList).go_to(key)
            case "training":
                self.frame.activate("training")
                self.frame.query_one("#training-list", RowList).go_to(rest)
            case "strategy":
                self.frame.activate("strategies")
                self.frame.query_one("#strategies-list", RowList).go_to(rest)
            case "case":
                self.frame.activate("matrix")
                from tui.widgets.grid import Grid

                self.frame.query_one(Grid).go_to(rest)
            case "version":
                self.frame.activate("versions")
                self.frame.query_one("#versions-list", RowList).go_to(f"v{rest}")
            case "subject":
                self.frame.look_at(self.frame.view.subjects[int(rest)])
            case "session":
                self.frame.post_message(TraceWanted(rest, ""))

    def do_quit(self) -> None:
        self.frame.app.exit(0)

    def do_interrupt(self) -> None:
        if monotonic() - self._interrupted < TWICE_S:
            self.frame.app.exit(0)
        self._interrupted = monotonic()
        self.frame.flash("Ctrl-C again leaves the console (q does too). Runs go on.")
