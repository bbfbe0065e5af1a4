"""Pane 4: every version that was measured or tried, what was expected of it and what came; as table and plot."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.widget import Widget

from core.evolution.side import Side
from tui.actions import bindings
from tui.messages import DiffWanted, Said
from tui.palette import score_tone
from tui.plot import plot, sparkline
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, TraceWanted, local, points, signed
from tui.screens.panes.scores_summary import Summary
from tui.screens.panes.scores_table import table
from tui.screens.panes.scores_words import (
    change_tone,
    compared_lines,
    event_lines,
    freeze_word,
    headline,
    row_lines,
)
from tui.stores.board_rows import BoardEvent, Series, compare, series, timeline
from tui.stores.views import BoardRow, BoardView
from tui.widgets.bars import Bar, Rule
from tui.widgets.facts import Facts
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, fit, plain
from tui.widgets.wrapped_text import WrappedText

__all__ = ["ScoresPane", "Summary"]


class ScoresPane(Pane):
    """Everything that happened to the versions, newest last; the cursor starts on the present version.

    Invariant: `marked` and `opened` are keys of rows that are there, or "". While a row is `opened` its Cases are
    listed; while `is_comparing`, the marked row is set against the one under the cursor.
    """

    pane_id = "scores"
    BINDINGS = bindings("scores")
    DEFAULT_CSS = """
    ScoresPane #scores-plot { height: 1fr; }
    ScoresPane #scores-cases { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._placed = ""
        self.marked = self.opened = ""
        self.is_comparing = self.is_plotting = False
        self.has_candidates = True

    def parts(self) -> ComposeResult:
        yield Bar(id="scores-head")
        yield RowList(trails=True, id="scores-list")
        yield RowList(id="scores-cases")
        yield Facts(id="scores-plot")
        yield RowList(id="scores-series")
        yield Rule(id="scores-rule")
        yield WrappedText(id="scores-detail")

    # What is in sight

    @property
    def entries(self) -> tuple[BoardRow | BoardEvent, ...]:
        """Return what the table shows."""
        board = self.view.board
        return timeline(board.rows, board.dropped, board.events, candidates=self.has_candidates)

    def _entry(self, key: str) -> BoardRow | BoardEvent | None:
        return next((entry for entry in self.entries if entry.key == key), None)

    @property
    def selected(self) -> BoardRow | None:
        """Return the version that is open, else the one under the cursor."""
        found = self._entry(self.opened or self.query_one("#scores-list", RowList).key)
        return found if isinstance(found, BoardRow) else None

    def version_in_sight(self) -> int | None:
        row = self.selected
        return row.version if row is not None and row.version else None

    @property
    def _curves(self) -> tuple[Series, ...]:
        board = self.view.board
        held = [(version, score) for _, version, score in board.heldout if score is not None]
        return series(board.rows, held)

    def first_focus(self) -> Widget | None:
        if not self.query("#scores-list"):
            return None
        name = "#scores-series" if self.is_plotting else "#scores-cases" if self.opened else "#scores-list"
        return self.query_one(name, Widget)

    # Drawing

    def draw(self) -> None:
        board = self.view.board
        keys = {entry.key for entry in self.entries}
        self.marked = self.marked if self.marked in keys else ""
        self.opened = self.opened if self.opened in keys else ""
        self.is_comparing = self.is_comparing and bool(self.marked)
        self.is_plotting = self.is_plotting and bool(board.rows)
        hidden = "" if self.has_candidates else "Candidates hidden, c shows them  "
        self.title(board.title or board.benchmark_id, ((hidden, "warn"), (freeze_word(board), "dim"), (" ", "plain")))
        self.query_one("#scores-head", Bar).show(headline(board, self.size.width or 80))
        self._arrange()
        rows = self.query_one("#scores-list", RowList)
        rows.show(self._rows)
        subject = f"{board.agent_id}/{board.benchmark_id}"
        if self._placed != subject and board.rows:
            self._placed = subject
            present = [row for row in board.rows if row.version == self.view.versions.present]
            rows.go_to((present or board.rows)[-1].key)
        if self.opened:
            self.query_one("#scores-cases", RowList).show(self._cases)
        if self.is_plotting:
            self.query_one("#scores-series", RowList).show(self._series_rows)
            self._plot()
        self._detail()

    def _arrange(self) -> None:
        short = self.size.height < 18
        self.query_one("#scores-series").styles.height = max(2, min(len(self._curves), self.size.height // 3))
        shown = {
            "scores-head": not (self.is_plotting and short),
            "scores-list": not self.is_plotting and not self.opened,
            "scores-cases": bool(self.opened) and not self.is_plotting,
            "scores-plot": self.is_plotting,
            "scores-series": self.is_plotting,
            "scores-rule": not self.is_plotting,
            "scores-detail": not self.is_plotting,
        }
        for name, is_shown in shown.items():
            widget = self.query_one(f"#{name}", Widget)
            if widget.display != is_shown:
                widget.display = is_shown

    def on_resize(self) -> None:
        if own_screen(self).stands and self.display:
            self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        if own_screen(self).stands:
            self.query_one("#scores-head", Bar).show(headline(self.view.board, self.size.width or 80))
            if self.is_plotting:
                self._plot()

    def _rows(self, width: int) -> Sequence[Row]:
        board = self.view.board
        if not self.entries:
            hint = "No score yet. A Builder's frozen benchmark brings the first one: S starts a run."
            return [*_notes(board), Row("empty", (((hint, "dim"),),), False)]
        return [*table(self.entries, self.marked, width), *_notes(board)]

    def _cases(self, width: int) -> Sequence[Row]:
        row = self.selected
        if row is None:
            return []
        name = max(16, min(40, width - 36))
        heading = fit("Case", name) + "".join(
            fit(word, 9, right=True) for word in ("expected", "came", "before", "change")
        )
        found = [Row("heading", (((heading, "dim"),),), selectable=False)]
        for case in row.cases:
            delta = None if case.observed is None or case.reference is None else case.observed - case.reference
            line: Line = (
                (fit(case.case_id, name), "plain"),
                (fit(points(case.expected), 9, right=True), "dim"),
                (fit(points(case.observed), 9, right=True), score_tone(case.observed)),
                (fit(points(case.reference), 9, right=True), "dim"),
                (fit(signed(delta), 9, right=True), change_tone(delta)),
            )
            found.append(Row(case.case_id, (line,), find=case.case_id))
        return found

    def _series_rows(self, width: int) -> Sequence[Row]:
        places = len(self.view.board.rows)
        room = max(8, min(places, width - 58))
        name = max(14, min(34, width - room - 27))
        found: list[Row] = []
        for curve in self._curves:
            line = curve.kept
            first, last = (line[0][1], line[-1][1]) if line else (None, None)
            told: Line = (
                (fit(curve.name or "All Cases", name), "plain" if curve.name else "strong"),
                (fit(sparkline(curve, places, room), room + 1), "accent"),
                (fit(points(first), 7, right=True), "dim"),
                (" to ", "dim"),
                (fit(points(last), 6, right=True), score_tone(last)),
                (fit(signed(curve.change), 9, right=True), change_tone(curve.change)),
            )
            found.append(Row(curve.name or "all", (told,), find=curve.name or "all Cases"))
        return found

    def _plot(self) -> None:
        key = self.query_one("#scores-series", RowList).key
        curves = self._curves
        curve = next((curve for curve in curves if curve.name == key), curves[0])
        board, facts = self.view.board, self.query_one("#scores-plot", Facts)
        labels = [f"v{row.version}" for row in board.rows]
        title: Line = ((f" {curve.name or 'Score over all Cases'}", "strong"), ("  p: back to the table", "dim"))
        target = board.target if not curve.name else None
        drawn = plot(curve, labels, max(0, facts.size.width - 2), max(0, facts.size.height - 1), target=target)
        facts.show([title, *drawn])

    def _detail(self) -> None:
        text, rule = self.query_one("#scores-detail", WrappedText), self.query_one("#scores-rule", Rule)
        key = self.opened or self.query_one("#scores-list", RowList).key
        entry = self._entry(key)
        marked = self._entry(self.marked)
        if self.is_comparing and isinstance(marked, BoardRow) and isinstance(entry, BoardRow):
            rule.show(((f"v{marked.version} against v{entry.version}", "strong"), ("  d ends it", "dim")))
            text.show(compared_lines(compare(marked, entry)), (marked.key, entry.key))
        elif isinstance(entry, BoardRow):
            time = f"  {local(entry.time)}" if entry.time else ""
            rule.show(((f"v{entry.version} {entry.what}" if entry.version else entry.what, "strong"), (time, "dim")))
            text.show(row_lines(entry), key)
        elif isinstance(entry, BoardEvent):
            rule.show(((entry.action.replace("_", " "), "strong"),))
            text.show(event_lines(entry), key)
        else:
            rule.show(())
            text.show(plain(["Scores come with a benchmark's first evaluation."], "dim"), "empty")

    # Keys

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if not own_screen(self).stands:
            return
        if event.rows.id == "scores-series" and self.is_plotting:
            self._plot()
        elif not self.is_plotting:
            self._detail()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        if event.rows.id == "scores-list":
            self._open(event.key)
        elif event.rows.id == "scores-cases":
            self._trace(event.key)

    def _open(self, key: str) -> None:
        """List the Cases of a version."""
        entry = self._entry(key)
        if not isinstance(entry, BoardRow) or not entry.cases:
            self.post_message(Said("Nothing is known of its Cases."))
            return
        self.opened = key
        self.draw()
        self.query_one("#scores-cases", RowList).focus()

    def go_back(self) -> bool:
        """Leave the plot, the Cases of a version, the comparison, the mark: one at a time."""
        if self.is_plotting:
            self.is_plotting = False
        elif self.opened:
            self.opened = ""
        elif self.is_comparing:
            self.is_comparing = False
        elif self.marked:
            self.marked = ""
        else:
            return False
        self.draw()
        own_screen(self).restore_focus()
        return True

    def do_scores_plot(self) -> None:
        if not self.view.board.rows:
            self.post_message(Said("There is no score to draw yet."))
            return
        self.is_plotting = not self.is_plotting
        self.draw()
        own_screen(self).restore_focus()
        self.call_after_refresh(self._draw_plot)

    def _draw_plot(self) -> None:
        if own_screen(self).stands and self.is_plotting:
            self._plot()

    def do_scores_candidates(self) -> None:
        self.has_candidates = not self.has_candidates
        self.draw()

    def do_scores_mark(self) -> None:
        row = self.selected
        if row is None or self.is_plotting:
            return
        self.marked = "" if self.marked == row.key else row.key
        self.draw()
        if self.marked:
            self.post_message(Said(f"v{row.version} is marked: go to another row, d compares the two."))

    def do_scores_compare(self) -> None:
        """Compare with the marked row; without one, show what a version changed."""
        row = self.selected
        if self.is_comparing:
            self.is_comparing = False
            self.draw()
        elif row is None:
            return
        elif self.marked and self.marked != row.key:
            self.is_comparing = True
            self.draw()
        elif row.run_id and row.version:
            agent = self.view.board.agent_id
            tried = Side("candidate", agent, row.version, row.run_id)
            self.post_message(DiffWanted(Side("reference", agent, row.version, row.run_id), tried))
        else:
            self.post_message(Said("m marks a row; d on another compares the two, and on a Candidate shows its files."))

    def do_scores_trace(self) -> None:
        rows = self.query_one("#scores-cases", RowList)
        if self.opened:
            self._trace(rows.key)
        elif (row := self.selected) is not None:
            self.post_message(TraceWanted(row.session_id, f"First Target of v{row.version} ({row.what})"))

    def _trace(self, case_id: str) -> None:
        row = self.selected
        case = next((case for case in row.cases if case.case_id == case_id), None) if row is not None else None
        if row is not None and case is not None:
            session = case.sessions[0] if case.sessions else ""
            self.post_message(TraceWanted(session, f"Target of {case_id} run 1, v{row.version}"))

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        row = self.selected
        if whole:
            text = self.reading()
            return (text, "what is shown") if text else None
        return (row.session_id or f"v{row.version}", f"the first session of v{row.version}") if row else None

    def reading(self) -> str:
        if not self.entries:
            return ""
        lines = [
            "".join(text for text, _ in line).rstrip() for row in table(self.entries, "", 200) for line in row.lines
        ]
        row = self.selected
        if row is not None:
            lines += ["", f"v{row.version} {row.what}"]
            lines += ["".join(text for text, _ in line).rstrip() for line in row_lines(row)]
        return "\n".join(lines) + "\n"


def _notes(board: BoardView) -> list[Row]:
    return [Row(f"note:{note}", (((note, "warn"),),), selectable=False) for note in board.notes]
