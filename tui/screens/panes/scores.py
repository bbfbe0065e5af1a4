"""Pane 4: every version that was measured or tried, and what was expected of it against what came."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from tui.actions import bindings
from tui.palette import DECISIONS, bar, score_tone, sparkline
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, TraceWanted, local, points, signed
from tui.stores.board import BoardRow, BoardView
from tui.widgets.bars import Bar, Rule
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, fit, joined, plain, short
from tui.widgets.wrapped_text import WrappedText


class ScoresPane(Pane):
    """Evaluations and Candidates in order of time, newest last; the cursor starts on the present version."""

    pane_id = "scores"
    BINDINGS = bindings("scores")

    def __init__(self) -> None:
        super().__init__()
        self._placed = ""

    def parts(self) -> ComposeResult:
        yield Bar(id="scores-head")
        yield RowList(id="scores-list")
        yield Rule(id="scores-rule")
        yield WrappedText(id="scores-detail")

    def draw(self) -> None:
        board = self.view.board
        self.title(board.title or board.benchmark_id, ((freeze_word(board), "dim"), (" ", "plain")))
        self.query_one("#scores-head", Bar).show(headline(board))
        rows = self.query_one("#scores-list", RowList)
        rows.show(self._rows)
        subject = f"{board.agent_id}/{board.benchmark_id}"
        if self._placed != subject and board.rows:
            self._placed = subject
            present = [row for row in board.rows if row.version == self.view.versions.present]
            rows.go_to((present or board.rows)[-1].key)
        self._detail()

    @property
    def selected(self) -> BoardRow | None:
        """Return the row under the cursor."""
        key = self.query_one("#scores-list", RowList).key
        return next((row for row in self.view.board.rows if row.key == key), None)

    def version_in_sight(self) -> int | None:
        row = self.selected
        return row.version if row is not None else None

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands:
            self._detail()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        row = self.selected
        if row is not None:
            self.post_message(TraceWanted(row.session_id, f"First Target of v{row.version} ({row.what})"))

    def _rows(self, width: int) -> Sequence[Row]:
        board = self.view.board
        if not board.rows:
            return [
                Row("empty", ((("No score yet. A Builder's frozen benchmark brings the first one.", "dim"),),), False)
            ]
        heading = "    " + fit("version", 8) + fit("outcome", 12) + fit("score", 7, right=True)
        heading += fit("change", 8, right=True) + "  " + fit("prediction", 10) + "  what was tried"
        rows = [Row("heading", (((heading[2:], "dim"),),), selectable=False)]
        rows += [_row(row, width) for row in board.rows]
        rows += [Row(f"note:{note}", (((note, "warn"),),), selectable=False) for note in board.notes]
        return rows

    def _detail(self) -> None:
        row, text = self.selected, self.query_one("#scores-detail", WrappedText)
        rule = self.query_one("#scores-rule", Rule)
        if row is None:
            rule.show(())
            text.show((), "empty")
            return
        rule.show(((f"v{row.version} {row.what}", "strong"), (f"  {local(row.time)}" if row.time else "", "dim")))
        text.show(row_lines(row), row.key)


def _row(row: BoardRow, width: int) -> Row:
    mark, tone = DECISIONS.get(row.what, ("?", "warn"))
    held = "" if row.held is None else "held" if row.held else "missed"
    delta = row.delta
    rest = row.hypothesis or row.note.partition("\n")[0]
    line: Line = (
        (f"{mark} ", tone),
        (fit(f"v{row.version}", 8), "strong"),
        (fit(row.what, 12), tone),
        (fit(points(row.score), 7, right=True), score_tone(row.score)),
        (fit(signed(delta), 8, right=True), "dim" if not delta else "good" if delta > 0 else "bad"),
        ("  ", "plain"),
        (fit(held, 10), "good" if row.held else "warn"),
        ("  ", "plain"),
        (short(rest, max(8, width - 51)), "plain"),
    )
    return Row(row.key, (line,), find=f"v{row.version} {row.what} {row.proposer} {rest}")


def row_lines(row: BoardRow) -> list[Line]:
    """Return everything known of a row, to read."""
    lines: list[Line] = []
    if row.hypothesis:
        lines.append((("Hypothesis  ", "dim"), (row.hypothesis, "plain")))
    if row.proposer:
        held = "" if row.held is None else "prediction held" if row.held else "prediction missed"
        backed = (
            "" if row.supported is None else "hypothesis supported" if row.supported else "hypothesis not supported"
        )
        lines.append(
            joined([(f"by the {row.proposer}", "dim"), (held, "good" if row.held else "warn"), (backed, "plain")])
        )
    if row.edits:
        lines.append((("Changes     ", "dim"), (", ".join(row.edits), "plain")))
    if row.reference is not None:
        change = signed(row.delta)
        lines.append(
            (("Score       ", "dim"), (points(row.score), score_tone(row.score)), (f"  {change} against ", "dim"),
             (points(row.reference), "plain"))
        )  # fmt: skip
    if row.cases:
        lines.append(((f"{'Case':<34}{'expected':>9}{'came':>9}{'before':>9}", "dim"),))
        lines += [
            (
                (fit(case.case_id, 34), "plain"),
                (fit(points(case.expected), 9, right=True), "dim"),
                (fit(points(case.observed), 9, right=True), score_tone(case.observed)),
                (fit(points(case.reference), 9, right=True), "dim"),
            )
            for case in row.cases
        ]
    if row.note:
        lines += [(), *plain(row.note.split("\n"))]
    if row.runtime:
        lines.append(((row.runtime, "dim"),))
    return lines


def headline(board: BoardView) -> Line:
    """Return score, curve and held-out result on one line."""
    if board.latest is None:
        return ((" ", "plain"),)
    first = board.curve[0][1]
    line: Line = (
        (" score ", "dim"),
        (points(board.latest), score_tone(board.latest)),
        ("  ", "plain"),
        (sparkline([score for _, score in board.curve], 24), "accent"),
    )
    if len(board.curve) > 1:
        line = (*line, (f"  {signed(round(board.latest - first, 2))} since the baseline {points(first)}", "dim"))
    held = {stage: score for stage, _, score in board.heldout}
    if held:
        told = " to ".join(points(held[stage]) for stage in ("baseline", "final") if stage in held)
        line = (*line, (f"   held out {told}", "dim"))
    if board.is_example:
        line = (*line, ("   example numbers, nothing was measured", "warn"))
    return line


def freeze_word(board: BoardView) -> str:
    """Return whether the benchmark is frozen, and whether its bytes still are what was frozen."""
    if board.freeze == "void":
        return f"VOID: {len(board.changed)} frozen files changed"
    return {"frozen": "frozen", "unfrozen": "not frozen"}.get(board.freeze, "")


class Summary(Pane):
    """The scores in small, beside the other panes where there is room: a bar each version."""

    pane_id = "summary"
    early = True

    def parts(self) -> ComposeResult:
        yield RowList(id="summary-list")

    def title(self, context: str, right: Line = ()) -> None:
        self.query_one("#summary-title", Bar).show(
            (("   ", "plain"), ("Score", "title"), (f"  {context}", "plain")), right
        )

    def draw(self) -> None:
        rows = self.query_one("#summary-list", RowList)
        rows.can_focus = False
        self.title(self.view.board.benchmark_id)
        rows.show(self._rows)

    def _rows(self, width: int) -> Sequence[Row]:
        board = self.view.board
        if not board.rows:
            return [Row("empty", ((("No score yet.", "dim"),),), selectable=False)]
        room = max(4, width - 16)
        made: list[Row] = []
        for row in board.rows[-60:]:
            mark, tone = DECISIONS.get(row.what, ("?", "warn"))
            length = bar(row.score, room) if row.score is not None else ""
            made.append(
                Row(
                    row.key,
                    (((f"{mark} ", tone), (fit(f"v{row.version}", 5), "plain"),
                      (fit(points(row.score), 6, right=True), score_tone(row.score)), (" ", "plain"),
                      (length, tone)),),
                    selectable=False,
                )
            )  # fmt: skip
        visible = max(1, self.query_one("#summary-list", RowList).size.height)
        return made[-visible:]
