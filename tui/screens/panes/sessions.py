"""Pane 1: the runs that live or lived, and the Sessions of the agent in sight."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from tui.actions import bindings
from tui.palette import MARKS, STATES, score_tone
from tui.screens.panes.base import Pane, TraceWanted, elapsed, local, money, points
from tui.stores.sessions import RunLine, SessionLine
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, middle, short, two_sided, width_of


class SessionsPane(Pane):
    """Two lines a run, two a Session; Enter opens the trace."""

    pane_id = "sessions"
    BINDINGS = bindings("sessions")

    def __init__(self) -> None:
        super().__init__()
        self._newest = ""

    def parts(self) -> ComposeResult:
        yield RowList(height=2, id="sessions-list")

    def draw(self) -> None:
        view = self.view.sessions
        live = len(view.live)
        context = f"{live} live of {len(view.runs)} runs" if view.runs else "no run yet"
        self.title(context)
        rows = self.query_one("#sessions-list", RowList)
        rows.show(self._rows)
        newest = view.live[0].run_id if view.live else ""
        if newest != self._newest:
            self._newest = newest
            if not rows.has_focus:  # nobody is choosing here: what began is what there is to see
                rows.go_to(f"run:{newest}")

    def selected(self) -> RunLine | None:
        """Return the run under the cursor, else the live one, else the newest."""
        key = self.query_one("#sessions-list", RowList).key if self.is_mounted else ""
        runs = self.view.sessions.runs
        chosen = next((run for run in runs if f"run:{run.run_id}" == key), None)
        return chosen or next((run for run in runs if run.is_live), None) or (runs[0] if runs else None)

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        kind, _, ident = event.key.partition(":")
        if kind == "session":
            session = next((s for s in self.view.sessions.sessions if s.session_id == ident), None)
            if session is not None:
                self.post_message(
                    TraceWanted(ident, f"Target of {session.case_id}" if session.case_id else session.title)
                )
        elif kind == "run":
            run = next((run for run in self.view.sessions.runs if run.run_id == ident), None)
            if run is not None:
                self.post_message(TraceWanted(run.session_id, f"{run.role} of {run.benchmark_id}"))

    def _rows(self, width: int) -> Sequence[Row]:
        view = self.view.sessions
        rows = [_run_row(run, width) for run in view.runs]
        if not view.runs:
            rows.append(_note("start", "No run yet.", "Start one: exuvia demo, or exuvia build"))
        rows += [_note(f"damaged:{text}", "Not readable:", text, "bad") for text in view.damaged]
        if view.sessions:
            more = f", {view.more} older ones not shown" if view.more else ""
            rows.append(_note("heading", "", f"Sessions of {view.agent_id}{more}", "title"))
            rows += [_session_row(session, width) for session in view.sessions]
        return rows


def _note(key: str, first: str, second: str, tone: str = "dim") -> Row:
    return Row(key, (((first, tone),), ((second, tone),)), selectable=False)


def _run_row(run: RunLine, width: int) -> Row:
    tone = STATES.get(run.state, "plain")
    state = "waits for you: 6" if run.state == "waiting" and width > 50 else run.state
    head: Line = (
        (f"{run.role:<9} ", "strong"),
        (state, tone),
        *(((f"  {run.phase}", "plain"),) if run.phase and run.is_live and width > 50 else ()),
    )
    time = elapsed(run.started_ms, None if run.is_live else run.updated_ms)
    first = two_sided(head, ((f"{run.step}  ", "plain"), (time, "dim")), width)
    if run.cases:
        doing: Line = (("Case ", "dim"), (", ".join(run.cases), "plain"))
    elif run.reason and not run.is_live:
        doing = ((run.reason, "warn"),)
    else:
        doing = ((f"{run.agent_id} / {run.benchmark_id}", "dim"),)
    second = two_sided((("  ", "plain"), *doing), ((money(run.cost, run.unknown), "dim"),), width)
    find = f"{run.role} {run.state} {run.agent_id} {run.benchmark_id} {run.run_id} {' '.join(run.cases)}"
    return Row(f"run:{run.run_id}", (first, second), find=find)


def _session_row(session: SessionLine, width: int) -> Row:
    about = session.case_id or session.title or "(no prompt yet)"
    right: Line = ()
    if session.case_id:
        mark, tone = MARKS.get(session.state, ("?", "warn"))
        right = (
            ((session.state, tone),) if session.score is None else ((points(session.score), score_tone(session.score)),)
        )
        about = f"{mark} {about}"
    room = max(8, width - sum(width_of(text) for text, _ in right) - 1)
    first = two_sided(((short(about, room), "plain"),), right, width)
    second = two_sided(
        ((f"  {local(session.time)}  {middle(session.session_id, max(9, width - 27))}", "dim"),),
        ((session.role or "session", "dim"),),
        width,
    )
    return Row(f"session:{session.session_id}", (first, second), find=f"{about} {session.session_id} {session.role}")
