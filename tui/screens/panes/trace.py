"""Pane 3: a trace of any size, one line a record, and the record under the cursor to read."""

from __future__ import annotations

from textual.app import ComposeResult

from tui.actions import bindings
from tui.messages import Said
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, TraceWanted
from tui.stores.trace import OpenTrace
from tui.widgets.bars import Rule
from tui.widgets.line_list import LineList
from tui.widgets.spans import Line, fit, plain
from tui.widgets.wrapped_text import WrappedText

_KIND_TONES = {"model": "strong", "calls": "call", "gap": "bad", "abort": "bad"}


class TraceLines(LineList):
    """The records of the open trace; only those in sight are read."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.trace: OpenTrace | None = None

    def open(self, trace: OpenTrace | None) -> None:
        """Show another trace from its start."""
        self.trace = trace
        self.cursor = 0
        self.resized()
        self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()
        self.post_message(self.Highlighted(self, "0"))

    def grown(self) -> None:
        """Show what was appended; a cursor on the last record stays on the last."""
        if self.trace is None:
            return
        before = self.virtual_size.height
        at_end = self.cursor >= before - 1
        self.resized()
        self.refresh()
        if at_end:
            self.call_after_refresh(self.select, self.row_count() - 1)

    def row_count(self) -> int:
        return len(self.trace) if self.trace is not None else 0

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        assert self.trace is not None
        line = self.trace.line(index)
        number = fit(str(line.number), len(str(self.row_count())), right=True)
        tone = "plain" if line.tone == "call" else line.tone
        kind_tone = _KIND_TONES.get(line.kind, line.tone)
        return (
            (
                (f"{number} ", "dim"),
                (f"{line.time} ", "dim"),
                (fit(line.kind, 10), kind_tone),
                (line.text, tone),
            ),
        )


class TracePane(Pane):
    """Shows one trace; those that were open before can be gone back to."""

    pane_id = "trace"
    BINDINGS = bindings("trace")

    def __init__(self) -> None:
        super().__init__()
        self._before: list[tuple[str, str]] = []
        self._going_back = False

    def parts(self) -> ComposeResult:
        yield TraceLines(id="trace-list")
        yield Rule(id="trace-rule")
        yield WrappedText(id="trace-detail")

    @property
    def trace(self) -> OpenTrace | None:
        return self.query_one(TraceLines).trace

    def open(self, trace: OpenTrace) -> None:
        """Show a trace; the one before is closed."""
        old = self.trace
        self.query_one(TraceLines).open(trace)
        if old is not None:
            if old.head.session_id != trace.head.session_id and not self._going_back:
                self._before.append((old.head.session_id, old.head.about))
            old.close()
        self._going_back = False
        self.draw()

    def follow(self, session_ids: frozenset[str]) -> None:
        """Take in what was appended to the open trace, if it is one of these."""
        trace = self.trace
        if trace is not None and trace.head.session_id in session_ids and trace.refresh():
            self.query_one(TraceLines).grown()
            self.draw()

    def draw(self) -> None:
        trace = self.trace
        if trace is None:
            self.title("none open")
            self.query_one("#trace-rule", Rule).show(())
            self.query_one("#trace-detail", WrappedText).show(
                plain(
                    [
                        "A trace is everything a Session did, record by record.",
                        "Choose one: Enter on a run or a Session (1), on a cell of the matrix (2), or on a score (4).",
                    ],
                    "dim",
                ),
                "empty",
            )
            return
        head = trace.head
        self.title(head.about or head.session_id, ((f"{head.count} records ", "dim"),))
        self._detail()

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands:
            self._detail()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        trace = self.trace
        leads = trace.line(int(event.key)).leads_to if trace is not None else ""
        if leads and trace is not None and leads != trace.head.session_id:
            self.post_message(TraceWanted(leads, ""))
        else:
            self.query_one("#trace-detail", WrappedText).focus()

    def _detail(self) -> None:
        trace, lines = self.trace, self.query_one(TraceLines)
        if trace is None or not len(trace):
            return
        number = min(lines.cursor, len(trace) - 1)
        line = trace.line(number)
        hint = "  Enter opens that session" if line.leads_to else ""
        session = trace.head.session_id
        self.query_one("#trace-rule", Rule).show(
            ((f"{number} {line.kind}", "strong"), (f"  {trace.head.agent_id}  {session}", "dim"), (hint, "accent"))
        )
        self.query_one("#trace-detail", WrappedText).show(plain(trace.detail(number)), (session, number))

    def do_problem_next(self) -> None:
        self._problem(1)

    def do_problem_previous(self) -> None:
        self._problem(-1)

    def _problem(self, step: int) -> None:
        trace, lines = self.trace, self.query_one(TraceLines)
        if trace is None:
            return
        found = trace.next_problem(lines.cursor, step)
        if found is not None:
            lines.select(found)
        else:
            self.post_message(Said(f"No record {'after' if step > 0 else 'before'} this one failed."))

    def do_trace_back(self) -> None:
        if self._before:
            session_id, about = self._before.pop()
            self._going_back = True
            self.post_message(TraceWanted(session_id, about))
