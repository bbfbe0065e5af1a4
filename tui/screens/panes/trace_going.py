"""Going from place to place in the Trace pane: opening Sessions and records, following files, and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic, sleep

from tui.messages import DeedWanted, Outcome, Said
from tui.screens.base import own_screen
from tui.screens.panes.base import BackWanted, TraceWanted
from tui.screens.panes.trace_finds import TraceFinds
from tui.screens.panes.trace_lists import FoundRows, RequestRows
from tui.screens.panes.trace_parts import Grown, View
from tui.stores.trace import OpenTrace
from tui.stores.trace_search import PACE_S
from tui.widgets.lanes import Lanes
from tui.widgets.line_list import LineList
from tui.widgets.wrapped_text import WrappedText
from tui.work import Work

_FIRST_S = 0.1
"""The first screen is drawn before the rest of a trace is read."""
_REST_S = 0.001
"""Between two pieces of a large trace, so that keys are answered while it is read."""


class TraceGoing(TraceFinds):
    """Opens what is selected and knows the way back."""

    # Opening and following

    def open(self, trace: OpenTrace, *, at_end: bool = False, opener: str = "") -> None:
        """Show a trace; the one before is closed. What another pane opened leads back there, not to places here."""
        head = trace.head
        if opener:
            self._before.clear()
        elif head.session_id != self._returning:
            self._remember(head.session_id)
        self._returning = ""
        old = self.trace
        self.lines.open(trace, at_end=at_end)
        if old is not None:
            old.close()
        self._end_search()
        self._arrive()
        self.look("records")
        if not trace.is_whole:
            self.set_timer(_FIRST_S, lambda: self._read_on(trace))
        self._look_for_it_here()

    def _read_on(self, trace: OpenTrace) -> None:
        """Read the rest of a trace in a thread."""
        self.post_message(DeedWanted(partial(self._grow, trace), f"reading {trace.head.session_id}"))

    def _arrive(self) -> None:
        """Go to the record that was asked for, once it is there."""
        trace = self.trace
        if trace is None or self._land is None or self._land[0] != trace.head.session_id:
            return
        number = self._land[1]
        if number >= len(trace) and not trace.is_whole:
            return
        self._land = None
        self._go(min(number, len(trace) - 1))

    def _grow(self, trace: OpenTrace, work: Work) -> Outcome:
        """Read the rest of a trace; in a thread."""
        said = 0.0
        for done, total in trace.grow():
            if monotonic() - said > PACE_S:
                said = monotonic()
                self.post_message(Grown())
            work.report(done, total)
            sleep(_REST_S)
        self.post_message(Grown())
        return Outcome("" if trace.is_closed else f"{len(trace)} records.", changed=False)

    def on_grown(self, event: Grown) -> None:
        event.stop()
        if not own_screen(self).stands:
            return
        self.lines.grown()
        self._arrive()
        self.query_one(FoundRows).show(self.everywhere, self.listing)
        self._titles()
        finding = self.lines.finding
        if finding is not None:
            self.lines.refresh()
            if self.sight == "records" and self._shown_in is not finding and finding.holds(self.lines.number):
                # Somebody who came from a result stands on its record already: its text has to go to the place, once.
                self._shown_in = finding
                self._detail()

    def follow(self, session_ids: frozenset[str]) -> None:
        """Take in what was appended to the open trace, if it is one of these."""
        trace = self.trace
        if self.display and self.sight == "tree":
            self._read_sessions()
        if trace is None or trace.head.session_id not in session_ids:
            return
        replaced = trace.replacements
        if trace.refresh():
            if trace.replacements != replaced:
                self.post_message(Said("The trace was replaced; it is shown from its file as it is now.", "warn"))
                self._end_search()
            self.lines.grown()
            self._titles()
            self._detail()

    # What the lists say

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands and event.rows is self.first_focus():
            self._detail()
            if self.sight == "records" and self.lines.finding is not None:
                self._titles()
        elif event.rows.id == "trace-requests":
            self._detail()

    def on_lanes_moved(self, event: Lanes.Moved) -> None:
        event.stop()
        if own_screen(self).stands and self.sight == "lanes":
            mark = self.lanes.selected
            if mark is not None and mark.number is not None:
                self.query_one(RequestRows).near(mark.number)
            self._detail()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        opened: dict[str, Callable[[], None]] = {
            "trace-tree": self._open_row,
            "trace-list": self._open_record,
            "trace-lanes": self._open_mark,
            "trace-requests": self._open_request,
            "trace-found": self._open_hit,
        }
        opened[event.rows.id or ""]()

    def _open_row(self) -> None:
        row = self.sessions.row
        if row is None:
            return
        if row.state == "missing":
            self.post_message(Said(f"The trace of {row.session_id} is not here.", "warn"))
        else:
            self._want(row.session_id, row.about)

    def _open_record(self) -> None:
        trace = self.trace
        leads = trace.leads_to(self.lines.number) if trace is not None and len(trace) else ""
        if leads and trace is not None and leads != trace.head.session_id:
            row = self.listing.of(leads)
            self._want(leads, row.about if row is not None else "")
        else:
            self.query_one("#trace-detail", WrappedText).focus()
            self.call_after_refresh(self._detail)  # more of it, now that it is read

    def _open_mark(self) -> None:
        mark, lane = self.lanes.selected, self.lanes.lane
        session_id = mark.session_id if mark is not None else lane.session_id if lane is not None else ""
        self._go_to_record(session_id, mark.number if mark is not None and mark.number is not None else 0)

    def _open_request(self) -> None:
        request, view = self.query_one(RequestRows).request, self.lanes.view
        if request is not None and view is not None:
            self._go_to_record(view.session_id, request.number)

    def _open_hit(self) -> None:
        hit = self.query_one(FoundRows).hit
        if hit is not None:
            self._go_to_record(hit.session_id, hit.number)

    def _go_to_record(self, session_id: str, number: int) -> None:
        trace = self.trace
        self._land = (session_id, number)
        if trace is not None and trace.head.session_id == session_id and not trace.is_gone:
            if self.sight == "found":
                self._before.append(("found", "", "", 0))
            self.look("records")
            self._arrive()
            self._look_for_it_here()
        else:
            row = self.listing.of(session_id)
            self._want(session_id, row.about if row is not None else "")

    def _look_for_it_here(self) -> None:
        if self.everywhere is not None and self._before and self._before[-1][0] == "found":
            self._find(self.everywhere.query, stay=True)

    def _want(self, session_id: str, about: str) -> None:
        self.post_message(TraceWanted(session_id, about))

    # Going back

    def go_back(self) -> bool:
        text = self.query_one("#trace-detail", WrappedText)
        first = self.first_focus()
        if text.has_focus and first is not None:
            first.focus()
        elif (
            self.sight == "records"
            and self.lines.finding is not None
            and (not self._before or self._before[-1][0] != "found")
        ):
            self._end_search()
            self.redraw()
        elif self.sight == "tree" and self._query:
            self._filter("")
        elif self.sight == "lanes" and self.trace is not None and not self._came_from_tree():
            self.look("records")
        elif self._before:
            self._return_to(*self._before.pop())
        elif self.sight != "tree" and not self.opener:
            self.look("tree")
        else:
            return False
        return True

    def _came_from_tree(self) -> bool:
        view, trace = self.lanes.view, self.trace
        return trace is None or (view is not None and view.session_id != trace.head.session_id)

    def _return_to(self, sight: View, session_id: str, about: str, number: int) -> None:
        trace = self.trace
        if sight != "records" or (trace is not None and trace.head.session_id == session_id):
            self._end_search()
            self.look(sight)
            return
        self._returning = session_id
        self._land = (session_id, number)
        self._want(session_id, about)

    def do_trace_back(self) -> None:
        if not self.go_back():
            self.post_message(BackWanted())
