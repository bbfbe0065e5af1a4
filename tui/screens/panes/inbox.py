"""Pane 6: what waits for a person. A freeze is one page: pilots, Cases, findings, and each Case's two texts."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tui.actions import bindings
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, local, points
from tui.stores.inbox import CaseRow, DecidedLine, Finding, FreezeView, PilotRow
from tui.widgets.bars import Rule
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, fit, plain, reflow, short, wrap
from tui.widgets.wrapped_text import WrappedText


class InboxPane(Pane):
    """One question at a time, the oldest first; the Case under the cursor shows its statement beside its rubric."""

    pane_id = "inbox"
    BINDINGS = bindings("inbox")

    def __init__(self) -> None:
        super().__init__()
        self._at = ""

    def parts(self) -> ComposeResult:
        yield RowList(id="inbox-list")
        with Horizontal(id="inbox-texts"):
            with Vertical(classes="text"):
                yield Rule(id="inbox-statement-rule")
                yield WrappedText(id="inbox-statement")
            with Vertical(classes="text"):
                yield Rule(id="inbox-rubric-rule")
                yield WrappedText(id="inbox-rubric")

    @property
    def freeze(self) -> FreezeView | None:
        """Return the question in sight."""
        pending = self.view.inbox.pending
        return next((freeze for freeze in pending if freeze.id == self._at), pending[0] if pending else None)

    def draw(self) -> None:
        pending, freeze = self.view.inbox.pending, self.freeze
        if freeze is None:
            self.title("nothing waits for you")
        else:
            place = f"{pending.index(freeze) + 1}/{len(pending)} "
            self.title(f"freeze {freeze.benchmark_id} for {freeze.agent_id}?", ((place, "dim"),))
        self.query_one("#inbox-texts").display = freeze is not None
        self.query_one("#inbox-list", RowList).show(self._rows)
        self._texts()

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands:
            self._texts()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.query_one("#inbox-statement", WrappedText).focus()

    def do_freeze_older(self) -> None:
        self._flip(-1)

    def do_freeze_newer(self) -> None:
        self._flip(1)

    def _flip(self, step: int) -> None:
        pending, freeze = self.view.inbox.pending, self.freeze
        if freeze is not None:
            self._at = pending[max(0, min(len(pending) - 1, pending.index(freeze) + step))].id
            self.draw()

    def _case(self) -> CaseRow | None:
        freeze, key = self.freeze, self.query_one("#inbox-list", RowList).key
        if freeze is None:
            return None
        return next((case for case in freeze.cases if f"case:{case.case_id}" == key), None)

    def _texts(self) -> None:
        case = self._case()
        statement, rubric = (
            self.query_one("#inbox-statement", WrappedText),
            self.query_one("#inbox-rubric", WrappedText),
        )
        if case is None:
            return
        self.query_one("#inbox-statement-rule", Rule).show((("Statement: what the agent sees", "strong"),))
        self.query_one("#inbox-rubric-rule", Rule).show((("Rubric: what only the Evaluator sees", "strong"),))
        statement.show(plain(reflow(case.statement)), ("statement", case.case_id))
        rubric.show(plain(reflow(case.rubric)), ("rubric", case.case_id))

    def _rows(self, width: int) -> Sequence[Row]:
        freeze = self.freeze
        rows = [_text(f"damaged:{text}", ((text, "bad"),)) for text in self.view.inbox.damaged]
        if freeze is None:
            rows.append(_text("none", (("When a Builder asks to freeze a benchmark, you decide here.", "dim"),)))
            if self.view.inbox.decided:
                rows += [_text("gap", ()), _text("decided", (("Decided lately", "title"),))]
                rows += [_decided(line, width) for line in self.view.inbox.decided]
            return rows
        return [*rows, *_freeze_rows(freeze, width)]


def _text(key: str, line: Line) -> Row:
    return Row(key, (line,), selectable=False)


def _freeze_rows(freeze: FreezeView, width: int) -> list[Row]:
    rows = [
        _text(f"reason:{number}", line)
        for number, line in enumerate(
            wrap((("The Builder asks: ", "dim"), (freeze.reason or freeze.title, "plain")), width)[:3]
        )
    ]
    asked = (
        f"asked {local(freeze.created)} by {freeze.run_id}; {freeze.files} files, config {_hash(freeze.config_sha256)}"
    )
    rows.append(_text("asked", ((asked, "dim"),)))
    wanted = (
        ""
        if freeze.wanted is None
        else f" (at most {freeze.wanted:g} is wanted; predicted and observed: the Cases it changed)"
    )
    rows += [_text("pilots", (("Pilots", "title"), (wanted, "dim")))]
    rows += [_pilot_row(pilot, freeze.wanted, width) for pilot in freeze.pilots]
    name = _name_width(width)
    heading = fit("score", 9, right=True) + fit("idle", 7, right=True) + f"  {'statement':<10} {'rubric':<10} standard"
    rows.append(_text("cases", (("Cases", "title"), (" " * (name - 5) + heading, "dim"))))
    rows += [_case_row(case, freeze, width) for case in freeze.cases]
    count = len(freeze.findings)
    rows.append(_text("findings", (("Findings", "title"), ("  none" if not count else f"  {count}", "dim"))))
    for number, finding in enumerate(freeze.findings):
        rows += [
            _text(f"finding:{number}:{part}", line)
            for part, line in enumerate(wrap(_finding(finding), max(20, width - 2), 4))
        ]
    return rows


def _pilot_row(pilot: PilotRow, wanted: float | None, width: int) -> Row:
    met = wanted is not None and pilot.score is not None and pilot.score <= wanted
    tone = "good" if met else "plain"
    observed = pilot.observed if pilot.observed is not None else pilot.score
    line: Line = (
        (f"  {pilot.i}  ", "strong"),
        ("score ", "dim"),
        (fit(points(pilot.score), 7), tone),
        ("predicted ", "dim"),
        (fit(points(pilot.predicted), 7), "plain"),
        ("observed ", "dim"),
        (fit(points(observed), 7), "plain"),
        ("missed " if pilot.missed else "", "warn"),
        ("" if pilot.valid else "void ", "bad"),
        ("<- would be frozen " if pilot.chosen else "", "mark"),
        (short(pilot.note, max(0, width - 72)) if width > 90 else "", "dim"),
    )
    return _text(f"pilot:{pilot.i}", line)


def _name_width(width: int) -> int:
    return max(12, min(52, width - 49))


def _case_row(case: CaseRow, freeze: FreezeView, width: int) -> Row:
    name = _name_width(width)
    high = case.floor is not None and freeze.floor_limit is not None and case.floor > freeze.floor_limit
    score = "held out" if case.held_out and case.score is None else points(case.score)
    line: Line = (
        (fit(f"{case.case_id}  {case.title}" if name > 40 else case.case_id, name), "plain"),
        (fit(score, 9, right=True), "plain"),
        (fit(points(case.floor), 7, right=True), "bad" if high else "dim"),
        (f"  {_hash(case.statement_sha256):<10} {_hash(case.rubric_sha256):<10} {_hash(case.standard_sha256)}", "dim"),
    )
    return Row(f"case:{case.case_id}", (line,), find=f"{case.case_id} {case.title}")


def _hash(sha256: str) -> str:
    return sha256.removeprefix("sha256:")[:8]


def _finding(finding: Finding) -> Line:
    waived = f"  waived: {finding.waived}" if finding.waived else ""
    where = f"{finding.case_id} " if finding.case_id else ""
    return ((f"  {where}{finding.kind.replace('_', ' ')}: ", "warn"), (finding.text, "plain"), (waived, "dim"))


def _decided(line: DecidedLine, width: int) -> Row:
    tone = "good" if line.verdict == "approve" else "bad"
    text = f"{local(line.time)}  {line.id}  {line.by}  {line.reason}"
    return _text(f"decided:{line.id}", ((f"{line.verdict:<8}", tone), (short(text, width - 8), "plain")))
