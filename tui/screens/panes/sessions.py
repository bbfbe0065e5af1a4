"""Pane 1: the runs that live or lived, and every other Session of the agent in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.message import Message

from tui.actions import bindings
from tui.screens.panes.base import Pane, TraceWanted
from tui.screens.panes.session_rows import WIDE, heading, note, run_row, session_row
from tui.stores.session_lines import RunLine, SessionLine
from tui.widgets.line_list import LineList, Row, RowList

if TYPE_CHECKING:
    from tui.screens.deeds import Listener

ORDERS = ("newest", "role", "state", "cost")
_LATE = "Read-only eyes: a Target and an Evaluator work on their task alone."


class RunStarted(Message):
    """A run was started from here; the console goes to it as soon as it is seen."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__()


class SessionList(RowList):
    """One line a row where there is room for columns, else two."""

    def on_resize(self) -> None:
        height = 1 if self.inner_width >= WIDE else 2
        if height != self.row_height:
            self.row_height = height
            self.resized()
            self.refresh()


class SessionsPane(Pane):
    """Runs above, other Sessions below; Enter opens a trace, a live one at its end.

    Invariant: `_awaited` is the id of a run that was started here and not seen yet, "" where none is.
    """

    pane_id = "sessions"
    early = True
    BINDINGS = bindings("sessions")

    def __init__(self) -> None:
        super().__init__()
        self._newest = self._awaited = ""
        self._order = ORDERS[0]

    def parts(self) -> ComposeResult:
        yield SessionList(height=2, id="sessions-list")

    def draw(self) -> None:
        view = self.view.sessions
        live = len(view.live)
        runs = f"{len(view.runs)} run{'s' if len(view.runs) != 1 else ''}"
        context = f"{live} live of {runs}" if live else f"{runs}, none live" if view.runs else "no run yet"
        self.title(context, ((f"by {self._order} ", "dim"),) if self._order != ORDERS[0] else ())
        rows = self.query_one("#sessions-list", RowList)
        rows.show(self._rows)
        if self._awaited and any(run.run_id == self._awaited for run in view.runs):
            rows.go_to(f"run:{self._awaited}")
            self._awaited = ""
        newest = view.live[0].run_id if view.live else ""
        if newest != self._newest:
            self._newest = newest
            if not rows.has_focus:  # nobody is choosing here: what began is what there is to see
                rows.go_to(f"run:{newest}")

    # What is selected

    @property
    def _key(self) -> tuple[str, str]:
        key = self.query_one("#sessions-list", RowList).key if self.is_mounted else ""
        kind, _, ident = key.partition(":")
        return kind, ident

    def selected(self) -> RunLine | None:
        """Return the run under the cursor, or that of the Session there; else the live one, else the newest."""
        kind, ident = self._key
        runs = self.view.sessions.runs
        if kind == "session":
            session = self._session(ident)
            ident = session.run_id if session else ""
        chosen = next((run for run in runs if run.run_id == ident), None)
        return chosen or next((run for run in runs if run.is_live), None) or (runs[0] if runs else None)

    def listener(self) -> Listener | None:
        """Return the live Session that a word goes to: the selected one, else the first that listens."""
        from tui.screens.deeds import Listener

        kind, ident = self._key
        session = self._session(ident) if kind == "session" else None
        if session is not None and (session.live or session.listens):
            return Listener(session.session_id, session.role or "Session", session.listens, _LATE)
        runs = self.view.sessions.live
        chosen = next((run for run in runs if kind == "run" and run.run_id == ident), None)
        run = chosen or next((run for run in runs if run.listens), None) or next(iter(runs), None)
        if run is not None:
            why = "Another program runs it." if run.observed else "It will once its Session has begun."
            return Listener(run.session_id, f"{run.role} of {run.agent_id}", run.listens, why)
        chat = next((one for one in self.view.sessions.sessions if one.listens), None)
        return Listener(chat.session_id, f"chat with {chat.agent_id}", listens=True) if chat else None

    def _session(self, session_id: str) -> SessionLine | None:
        return next((one for one in self.view.sessions.sessions if one.session_id == session_id), None)

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        kind, ident = self._key
        if not whole or not ident:
            return (ident, f"the {kind}'s id") if ident else None
        rows = self.query_one("#sessions-list", RowList)
        lines = rows.row_lines(rows.cursor, rows.inner_width)
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines), "the row"

    # Keys

    def on_run_started(self, event: RunStarted) -> None:
        event.stop()
        self._awaited = event.run_id

    def do_sessions_sort(self) -> None:
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self.draw()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        kind, _, ident = event.key.partition(":")
        if kind == "session" and (session := self._session(ident)) is not None:
            role = session.role.capitalize() or "Session"
            about = f"{role} of {session.about}" if session.case_id else session.title
            self.post_message(TraceWanted(ident, about, at_end=session.live))
        elif kind == "run" and (run := self.selected()) is not None:
            self.post_message(TraceWanted(run.session_id, f"{run.role} of {run.benchmark_id}", at_end=run.is_live))

    # Drawing

    def _rows(self, width: int) -> Sequence[Row]:
        view = self.view.sessions
        rows = [heading(width)] if width >= WIDE and (view.runs or view.sessions) else []
        rows += [run_row(run, width) for run in sorted(view.runs, key=self._place_of_run)]
        if not view.runs:
            trained = self.view.training.runs
            told = "No run of an agent yet. S starts one." if trained else "No run yet. S starts one."
            more = "Training runs stand in pane 8." if trained else "exuvia demo shows a whole loop."
            rows.append(note("start", told, more, width))
        rows += [note(f"damaged:{text}", "Not readable:", text, width, "bad") for text in view.damaged]
        if view.sessions:
            more = f", {view.more} older ones not shown" if view.more else ""
            rows.append(note("heading", "", f"Sessions of {view.agent_id}{more}", width, "title"))
            rows += [session_row(session, width) for session in sorted(view.sessions, key=self._place_of_session)]
        return rows

    def _place_of_run(self, run: RunLine) -> tuple[object, ...]:
        """Return what a run is sorted by; equal ones stay newest first."""
        places: dict[str, tuple[object, ...]] = {
            "role": (run.role,), "state": (run.state,), "cost": (-run.cost, -run.unknown)
        }  # fmt: skip
        return places.get(self._order, ())

    def _place_of_session(self, session: SessionLine) -> tuple[object, ...]:
        used = session.used
        cost = (-used.usd, -used.unknown) if used else (0.0, 0)
        places: dict[str, tuple[object, ...]] = {"role": (session.role,), "state": (session.state,), "cost": cost}
        return places.get(self._order, (not session.live,))
