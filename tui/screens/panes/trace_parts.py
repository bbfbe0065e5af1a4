"""The parts of the Trace pane, which of them is in sight, and the list of Sessions that all others name things by."""

from __future__ import annotations

from time import monotonic
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget

from core.state.paths import ProjectPaths
from tui.messages import ReadWanted, Said
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane
from tui.screens.panes.trace_list import TraceLines
from tui.screens.panes.trace_lists import FoundRows, RequestRows, Resized
from tui.screens.panes.trace_tree import SessionRows
from tui.stores.trace import OpenTrace
from tui.stores.trace_lanes import LanesView
from tui.stores.trace_rows import Listing, SessionRow
from tui.stores.trace_search import Finding, FoundEverywhere
from tui.stores.trace_sessions import SessionsOfProject
from tui.widgets.bars import Bar, Rule
from tui.widgets.lanes import Lanes
from tui.widgets.line_list import LineList
from tui.widgets.prompt import Prompt
from tui.widgets.wrapped_text import WrappedText
from tui.work import Ended, Work

View = Literal["tree", "records", "lanes", "found"]
Place = tuple[View, str, str, int]
"""Where somebody was: the list, and of records the Session, what it was about, and the entry under the cursor."""
_REST_S, _LONGEST_REST_S = 0.5, 5.0
"""Seconds between two readings of the Sessions."""
_BESIDE_FROM = 130
"""Cells from which the text stands beside the list."""


class Listed(Message):
    """A newer list of Sessions; `is_last` says that no more is being read. `fault` is why it could not be."""

    def __init__(self, listing: Listing | None, share: float = 1.0, *, is_last: bool = False, fault: str = "") -> None:
        self.listing, self.share, self.is_last, self.fault = listing, share, is_last, fault
        super().__init__()


class Grown(Message):
    """More of the open trace was read, or found in it."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Grown)


class LanesRead(Message):
    """A timeline is there."""

    def __init__(self, view: LanesView) -> None:
        self.view = view
        super().__init__()


class TraceParts(Pane):
    """Invariant: `sight` names the list in sight; `_before` are the places to go back to, newest last."""

    pane_id = "trace"

    def __init__(self) -> None:
        super().__init__()
        self.sight: View = "tree"
        self.listing = Listing()
        self.everywhere: FoundEverywhere | None = None
        self.raw = False
        self._store: SessionsOfProject | None = None
        self._reading = self._read_again = self._resting = False
        self._began = self._rested_at = 0.0
        self._share = 1.0
        self._query = ""
        self._before: list[tuple[View, str, str, int]] = []
        self._returning = ""  # the Session whose trace is opened on the way back
        self._land: tuple[str, int] | None = None
        self._search: Work | None = None
        self._shown_in: Finding | None = None  # the search whose match at the cursor was brought into sight
        self.add_class("-tree")

    def parts(self) -> ComposeResult:
        yield Bar(id="trace-head")
        with Container(id="trace-body"):
            with Container(id="trace-main"):
                yield SessionRows(id="trace-tree")
                yield TraceLines(id="trace-list")
                yield Lanes(id="trace-lanes")
                yield Bar(id="trace-requests-head")
                yield RequestRows(id="trace-requests")
                yield FoundRows(id="trace-found")
            with Container(id="trace-side"):
                yield Rule(id="trace-rule")
                yield WrappedText(id="trace-detail")

    @property
    def trace(self) -> OpenTrace | None:
        """The trace that is open."""
        return self.query_one(TraceLines).trace

    @property
    def sessions(self) -> SessionRows:
        return self.query_one(SessionRows)

    @property
    def lines(self) -> TraceLines:
        return self.query_one(TraceLines)

    @property
    def lanes(self) -> Lanes:
        return self.query_one(Lanes)

    def first_focus(self) -> Widget | None:
        if not own_screen(self).stands:
            return None
        lists: dict[View, type[LineList]] = {
            "tree": SessionRows, "records": TraceLines, "lanes": Lanes, "found": FoundRows,
        }  # fmt: skip
        return self.query_one(lists[self.sight])

    def look(self, sight: View) -> None:
        """Bring another list into sight."""
        for name in ("tree", "records", "lanes", "found"):
            self.set_class(name == sight, f"-{name}")
        changed, self.sight = sight != self.sight, sight
        if changed and self.has_pseudo_class("focus-within") and (first := self.first_focus()) is not None:
            first.focus()
        self.redraw()
        self.call_after_refresh(self._heads)  # the columns have their widths now

    def on_resize(self) -> None:
        beside = self.size.width >= _BESIDE_FROM
        if beside != self.has_class("-beside"):
            self.set_class(beside, "-beside")
        self.call_after_refresh(self._heads)

    def on_resized(self, event: Resized) -> None:
        event.stop()
        self._heads()

    # Sessions

    def draw(self) -> None:
        trace = self.trace
        if self.sight == "tree" or trace is None or self.listing.of(trace.head.session_id) is None:
            self._read_sessions()
        self._titles()
        self._heads()
        self._detail()

    def _read_sessions(self) -> None:
        """Read the Sessions in a thread; once more where something changed meanwhile, but not without a pause."""
        if self._reading:
            self._read_again = True
            return
        wait = self._rested_at - monotonic()
        if wait > 0:
            if not self._resting:
                self._resting = True
                self.set_timer(wait, self._rested)
            return
        self._reading, self._read_again, self._began = True, False, monotonic()
        self.post_message(ReadWanted(self._listed, self, "listing Sessions"))

    def _rested(self) -> None:
        self._resting = False
        if self.display:
            self._read_sessions()

    def _listed(self, project: ProjectPaths) -> Message:
        """Read all Sessions, telling of each step; in a thread."""
        share = 1.0

        def report(done: int, total: int) -> None:
            nonlocal share
            if not self.is_running:
                raise Ended  # the console leaves, and a thread would keep its process alive
            share = done / total if total else 1.0

        try:
            sessions = self._store = self._store or SessionsOfProject(project)
            listing = None
            for listing in sessions.listings(report):
                self.post_message(Listed(listing, 1.0 if listing.is_counted else share))
            return Listed(listing, is_last=True)
        except Exception as error:  # the list must not wait for ever for what failed
            return Listed(None, is_last=True, fault=str(error) or type(error).__name__)

    def on_listed(self, event: Listed) -> None:
        event.stop()
        if event.is_last:
            self._reading = False
            # A large Project takes long to be listed; watching it must not take a processor.
            self._rested_at = monotonic() + min(_LONGEST_REST_S, max(_REST_S, 8 * (monotonic() - self._began)))
        if not own_screen(self).stands:
            return
        self._share = event.share
        if event.fault:
            self.post_message(Said(f"The Sessions can't be listed: {event.fault}", "bad"))
        if event.listing is not None and event.listing != self.listing:
            self.listing = event.listing
            self.sessions.show(event.listing)
            self._heads()
        self._titles()
        if event.is_last and self.sight == "tree" and not self.listing.rows:
            self._detail()  # what there is to do, instead of that it is being read
        if event.is_last and self._read_again and self.display and self.sight == "tree":
            self._read_sessions()

    def _row(self) -> SessionRow | None:
        """Return the Session that is looked at: under the cursor, or that of the open trace."""
        if self.sight == "tree":
            return self.sessions.row
        trace = self.trace
        return self.listing.of(trace.head.session_id) if trace is not None else None

    # Places

    def _remember(self, going_to: str) -> None:
        place = self._place()
        if place is not None and place[1:2] != (going_to,):
            self._before.append(place)

    def _place(self) -> tuple[View, str, str, int] | None:
        trace = self.trace
        if self.sight in ("tree", "found"):
            return self.sight, "", "", 0
        return ("records", trace.head.session_id, trace.head.about, self.lines.number) if trace is not None else None

    def _prompt(self) -> Prompt:
        return self.screen.query_one(Prompt)

    # What the layers above say

    def _titles(self) -> None:
        """Fill the title."""
        raise NotImplementedError

    def _heads(self) -> None:
        """Fill the row with the names of the columns."""
        raise NotImplementedError

    def _detail(self) -> None:
        """Show at length what is selected."""
        raise NotImplementedError
