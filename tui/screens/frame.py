"""The frame: status row, tabs, panes, prompt line, footer; which pane is where, and what each key leads to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from core.state.paths import ProjectPaths
from tui.actions import PANES, bindings, by_id
from tui.clipboard import copy
from tui.messages import CopyWanted, DeedWanted, DiffWanted, Done, Outcome, ReadWanted, Said, TraceOpened
from tui.screens.base import ConsoleScreen
from tui.screens.lines import footer_line, resting_line, status_lines, tabs_line, useless
from tui.screens.panes.base import BackWanted, Pane, TraceWanted, method_of
from tui.screens.panes.coming import first_panes, mount_rest
from tui.screens.panes.sessions import SessionsPane
from tui.screens.panes.table import BESIDE, NUMBERED, make
from tui.screens.panes.tail import Tail
from tui.screens.works import Works, failure
from tui.settings import Loaded
from tui.stores.console import ConsoleView
from tui.stores.runs import Subject
from tui.widgets.bars import Bar
from tui.widgets.line_list import LineList, RowList
from tui.widgets.prompt import Prompt
from tui.widgets.spans import Line
from tui.work import Work

if TYPE_CHECKING:
    from tui.screens.deeds import Deeds
    from tui.screens.global_actions import GlobalActions
    from tui.screens.panes.inbox import AnswerWanted, InboxPane
    from tui.screens.panes.trace import TracePane


_ASKING = frozenset({"filter", "palette"})


class Frame(ConsoleScreen):
    """The one screen of the console.

    Invariant: `active` is the pane with the focus; `main` is the pane in the middle where there is room for several.
    """

    BINDINGS = bindings("global")
    HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (60, "-s"), (100, "-m"), (170, "-l")]  # noqa: RUF012 (Textual's way)
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (15, "-short"), (36, "-tall")]  # noqa: RUF012 (Textual's way)

    def __init__(
        self,
        project: ProjectPaths,
        view: ConsoleView,
        *,
        read_only: bool = False,
        look_at: Callable[[Subject], None] = lambda subject: None,
        refresh_all: Callable[[], None] = lambda: None,
        tell_terminal: Callable[[str], None] = lambda sequence: None,
        loaded: Loaded | None = None,
        settle: Callable[[Loaded], None] = lambda loaded: None,
    ) -> None:
        super().__init__(id="frame")
        self.project, self.view, self.read_only = project, view, read_only
        self.loaded, self.settle = loaded or Loaded(), settle
        self.isolation = ""
        self.active = self._first_pane()
        self.main = self.active if self.active != "sessions" else "matrix"
        self.look_at, self.refresh_all, self.tell_terminal = look_at, refresh_all, tell_terminal
        self.changed_pane = 0.0
        self._greeting: tuple[str, str, str] | None = None
        self._early: list[str] | None = [] if view.reading else None  # asked for before all panes were there

    def compose(self) -> ComposeResult:
        # Before the first layout, so that there need not be a second one.
        for points, cells in ((self.HORIZONTAL_BREAKPOINTS, self.app.size.width),
                              (self.VERTICAL_BREAKPOINTS, self.app.size.height)):  # fmt: skip
            self.add_class(next(name for least, name in reversed(points) if cells >= least), update=False)
        yield Bar(id="status")
        yield Bar(id="tabs")
        with Container(id="body"):
            for pane in first_panes(self.main) if self.view.reading else map(make, (*NUMBERED, *BESIDE)):
                pane.view = self.view
                self._place(pane, update=False)  # styled once, where it belongs
                yield pane
        yield Bar(id="too-small")
        yield Prompt(id="prompt")
        yield Bar(id="footer")

    def on_mount(self) -> None:
        self.whole = self.count()
        self.works = Works(self)
        self.query_one("#too-small", Bar).show(((" Too small: 60x15 cells are needed.", "mark"),))
        self.show(self.view)
        self.activate(self.active)
        if self.view.reading:
            for pane in self.query(Pane):
                pane.catch_up(soon=True)
        if self.loaded.problems:
            self.flash(f"Settings: {self.loaded.problems[0]}", "bad", ", shows them all")
        elif self._greeting:
            self.flash(*self._greeting)

    def on_unmount(self) -> None:
        self.works.end_all()

    def _first_pane(self) -> str:
        asked = self.view.inbox.pending or self.view.waiting
        idle = "training" if self.view.trained_last else "scores"
        return "inbox" if asked else "sessions" if self.view.sessions.live else idle

    async def complete(self) -> None:
        """Make the panes that the first paint did without, then do what was asked for meanwhile."""
        with self.app.batch_update():  # seen at once, each pane where something stood in for it
            made = await mount_rest(self.query_one("#body"), self._place)
            self.whole = self.count()
        for pane in made:
            pane.show(self.view)
        self.catch_up()
        early, self._early = self._early, None
        for action_id in early or ():
            self.run_action_by_id(action_id)

    @cached_property
    def deeds(self) -> Deeds:
        """What changes the world, asked about where that is wanted."""
        from tui.screens.deeds import Deeds

        return Deeds(self.project, self.query_one(Prompt), lambda deed, doing: self.start(lambda _: deed(), doing))

    @cached_property
    def _actions(self) -> GlobalActions:
        from tui.screens.global_actions import GlobalActions  # keys come after the first paint

        return GlobalActions(self)

    def greet(self, text: str, hint: str) -> None:
        """Say something when the console has opened."""
        self._greeting = (text, "accent", hint)

    # Views

    def show(self, view: ConsoleView) -> None:
        """Show the newest facts."""
        asked = {item.id for item in self.view.inbox.pending}
        fresh = view.inbox.pending if not self.view.reading else ()
        new = next((item for item in fresh if item.id not in asked), None)
        self.view = view
        if not self.stands:
            return
        for pane in self.query(Pane):
            pane.show(view)
        self.tick()
        if new is not None:
            from tui.screens.panes.inbox import KINDS

            name = KINDS[new.kind].name if new.kind in KINDS else new.kind
            if self.active != "inbox":
                self.flash(f"A {name} waits for your decision.", "mark", "6 opens it")
            if self.loaded.settings.bell:
                self.app.bell()
        self.lines()

    def tick(self) -> None:
        """Let the clocks of live runs go on, and the tail follow the selected run."""
        if not self.stands:
            return
        sessions = self.query_one(SessionsPane)
        if self.view.sessions.live:
            sessions.redraw()
        self.query_one(Tail).of(sessions.selected())
        self.query_one(Prompt).age()
        self.query_one(Prompt).working(*self.works.words())

    def lines(self) -> None:
        """Fill status row, tabs, prompt line and footer."""
        if not self.stands:
            return
        width = self.size.width or 80
        about = self.pane().heading()
        left, right = status_lines(self.view, width, about, isolation=self.isolation, read_only=self.read_only)
        self.query_one("#status", Bar).show(left, right)
        self.query_one("#tabs", Bar).show(tabs_line(self.active, len(self.view.inbox.pending), width))
        self.query_one("#footer", Bar).show(self._footer(width))
        filtered = next((rows.filter for rows in self.pane().query(RowList) if rows.filter), "")
        own = () if filtered or self.view.fault else self.pane().resting()
        self.query_one(Prompt).rest(own or resting_line(self.view, filtered, read_only=self.read_only))

    def _footer(self, width: int) -> Line:
        return footer_line(self.active, width, self.useless(), read_only=self.read_only, changed=self.loaded.keys)

    def useless(self) -> frozenset[str]:
        """Return the actions that would do nothing now, which the footer need not offer."""
        pane = self.pane()  # what it does itself, as stopping a training run, it alone can tell of
        return frozenset(one for one in useless(self.view) if not hasattr(pane, method_of(one))) | pane.useless()

    def on_resize(self) -> None:
        self.call_after_refresh(self.catch_up)

    def catch_up(self) -> None:
        """Draw what came into sight, at a new size or in a new place."""
        for pane in self.query(Pane):
            pane.catch_up()
        self.lines()

    # Panes

    def pane(self, pane_id: str = "") -> Pane:
        wanted = pane_id or self.active
        if self._early is not None:  # it may be a stand-in
            return next(pane for pane in self.query(Pane) if pane.pane_id == wanted)
        return self.query_one(f"#{wanted}", Pane)

    def _trace_pane(self) -> TracePane:
        from tui.screens.panes.trace import TracePane

        return self.query_one(TracePane)

    def inbox_pane(self) -> InboxPane:
        from tui.screens.panes.inbox import InboxPane

        return self.query_one(InboxPane)

    def activate(self, pane_id: str, *, focus: bool = True, opener: str = "") -> None:
        """Make a pane the active one; `opener` is the pane to go back to from it."""
        if pane_id != self.active:
            self.changed_pane = monotonic()
            self.pane(pane_id).opener = opener
            self.query_one(Prompt).clear()  # what it said was of the pane before
        self.active = pane_id
        if pane_id != "sessions":
            self.main = pane_id
        self.pane().catch_up(soon=True)
        for pane in self.query(Pane):
            self._place(pane)
        self.call_after_refresh(self.catch_up)
        if focus:
            self.restore_focus()
        self.lines()

    def _place(self, pane: Pane, *, update: bool = True) -> None:
        """Give a pane the classes that say where it stands; the tail stands below the runs."""
        owner = "sessions" if pane.pane_id == "tail" else pane.pane_id
        pane.set_class(owner == self.active, "active", update=update)
        pane.set_class(pane.pane_id == self.main, "main", update=update)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        pane = next((node for node in event.widget.ancestors if isinstance(node, Pane)), None)
        if self.stands and pane is not None and pane.pane_id != self.active:
            self.activate(pane.pane_id, focus=False)

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        if event.rows.id == "sessions-list":
            self.query_one(Tail).of(self.query_one(SessionsPane).selected())

    def restore_focus(self) -> None:
        if self.stands and (first := self.pane().first_focus()) is not None:
            first.focus()

    def leave(self) -> bool:
        """Go back to the pane that led to the active one; tell whether one did."""
        opener = self.pane().opener
        if opener:
            self.activate(opener)
        return bool(opener)

    def on_back_wanted(self, event: BackWanted) -> None:
        event.stop()
        if self.stands and not self.leave():
            self.flash("There is nothing before this.")

    def _other_than(self, pane_id: str) -> str:
        return self.active if self.active != pane_id else ""

    # Traces

    def on_trace_wanted(self, event: TraceWanted) -> None:
        event.stop()
        if not event.session_id:
            self.flash("There is no Session behind this yet.", "warn")
            return
        session_id, about, opener = event.session_id, event.about, self._other_than("trace")

        from tui.stores.trace import OpenTrace

        def open_it() -> None:
            try:
                opened = OpenTrace.begin(self.project, session_id, about)
            except Exception as error:  # whatever a file holds, the console goes on
                self.post_message(Done(failure(error)))
            else:
                self.post_message(TraceOpened(opened, at_end=event.at_end, opener=opener))

        self.run_worker(open_it, thread=True, exit_on_error=False, group="trace", description="open a trace")

    def on_trace_opened(self, event: TraceOpened) -> None:
        if not self.stands:
            event.trace.close()
            return
        self._trace_pane().open(event.trace, at_end=event.at_end, opener=event.opener)
        self.activate("trace", opener=event.opener)

    def follow_traces(self, session_ids: frozenset[str]) -> None:
        """Take in what was appended to the open trace."""
        if self.stands:
            self._trace_pane().follow(session_ids)

    def on_read_wanted(self, event: ReadWanted) -> None:
        event.stop()

        def read() -> None:
            try:
                found = event.read(self.project)
            except Exception as error:  # whatever a file holds, the console goes on
                told = failure(error)
                self.post_message(Said(told.text, "bad", told.hint))
            else:
                event.to.post_message(found)

        self.run_worker(read, thread=True, exit_on_error=False, group="read", description=event.doing)

    def on_diff_wanted(self, event: DiffWanted) -> None:
        from tui.screens.panes.diff import DiffPane

        event.stop()
        if self.stands:
            self.query_one(DiffPane).compare(event.left, event.right, event.file)
            self.activate("diff", opener=self._other_than("diff"))

    # Actions

    def run_action_by_id(self, action_id: str) -> None:
        if self.read_only and by_id(action_id).dangerous:
            self._refuse(action_id)
            return
        if self._early is not None:
            # Nothing is decided before its facts are in sight, and what is typed after a question is words, not keys.
            if by_id(action_id).dangerous:
                self.flash("Still opening.", "warn", "Press it again once everything is in sight.")
            elif not (self._early and self._early[-1] in _ASKING):
                self._early.append(action_id)
            return
        head, _, rest = action_id.partition(".")
        if head == "pane" and rest in {pane for pane, _, _ in PANES}:
            self.activate(rest)
        elif not self.pane().do(action_id):
            self._actions.do(action_id)

    def _refuse(self, action_id: str) -> None:
        """Say why a key that changes something does nothing here."""
        label = by_id(action_id).label or action_id.partition(".")[0]
        self.flash(f"Opened read-only: {label} is off.", "warn", "Open without --read-only to change things.")

    def flash(self, text: str, tone: str = "plain", hint: str = "") -> None:
        """Say what happened, on the prompt line."""
        if not self.stands:
            return
        self.query_one(Prompt).flash(f" {text}", tone, hint)

    def on_answer_wanted(self, event: AnswerWanted) -> None:
        event.stop()
        if self.read_only:
            self._refuse("say")
        else:
            self.deeds.answer(self.view, event.item_id, event.text)

    def on_copy_wanted(self, event: CopyWanted) -> None:
        where, hint = copy(event.text, self.tell_terminal, self.loaded.settings.clipboard)
        self.flash(f"Copied {event.what} to {where}.", "plain", hint)

    # Deeds in threads

    def start(self, do: Callable[[Work], Outcome], doing: str) -> None:
        """Do something in a thread."""
        self.flash(f"{doing}...")
        self.works.start(do, doing)

    def on_deed_wanted(self, event: DeedWanted) -> None:
        event.stop()
        self.start(event.do, event.doing)

    def on_said(self, event: Said) -> None:
        event.stop()
        self.flash(event.text, event.tone, event.hint)

    def on_done(self, event: Done) -> None:
        outcome = event.outcome
        self.query_one(Prompt).working(*self.works.words())
        if outcome.text:
            self.flash(outcome.text, "good" if outcome.ok else "bad", outcome.hint)
        else:
            self.query_one(Prompt).clear()
        if outcome.changed:
            self.refresh_all()
