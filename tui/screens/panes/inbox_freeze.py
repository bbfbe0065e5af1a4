"""A freeze as rows: why it is asked, pilots predicted against observed, Cases with their hashes, findings."""

from __future__ import annotations

from tui.screens.panes.base import local, points
from tui.stores.freeze_page import CaseRow, Finding, FreezeView, PilotRow, RejectedRow
from tui.widgets.grid_cells import number as number_of
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, fit, short, wrap

_CHOSEN = {"": "<- would be frozen ", "approve": "<- frozen ", "reject": "<- was rejected "}
"""What is said of the pilot that was asked about, by what was decided."""


def freeze_rows(freeze: FreezeView, came: Line, width: int, verdict: str = "") -> list[Row]:
    """Return the page's rows; `came` says what was decided of it, if anything was, `verdict` in a word."""
    rows = [_text(f"came:{number}", line) for number, line in enumerate(wrap(came, width)[:2] if came else ())]
    rows += [
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
    for pilot in freeze.pilots:
        before = [one for one in freeze.rejected if one.pilot.i == pilot.i]
        rows += [_rejected_row(one, number, width) for number, one in enumerate(before)]
        rows.append(_pilot_row(pilot, freeze.wanted, width, verdict, again=bool(before)))
    if freeze.rejected:
        rows += [_text(f"since:{at}", line) for at, line in enumerate(wrap(_since(freeze.rejected[-1]), width, 2))]
    name = _name_width(width)
    heading = fit("score", 9, right=True) + fit("idle", 7, right=True) + f"  {'statement':<10} {'rubric':<10} standard"
    rows.append(_text("cases", (("Cases", "title"), (" " * (name - 5) + heading, "dim"))))
    rows += [_case_row(case, freeze, width) for case in freeze.cases]
    rows.append(_text("idle", (("  idle: what an agent scores that does nothing", "dim"),)))
    count = len(freeze.findings)
    rows.append(_text("findings", (("Findings", "title"), ("  none" if not count else f"  {count}", "dim"))))
    for number, finding in enumerate(freeze.findings):
        rows += [
            _text(f"finding:{number}:{part}", line)
            for part, line in enumerate(wrap(_finding(finding), max(20, width - 2), 4))
        ]
    return rows


def _rejected_row(one: RejectedRow, number: int, width: int) -> Row:
    """Return a pilot as it was when its freeze was rejected: its number was used again for what replaced it."""
    line: Line = (
        (f"  {one.pilot.i}  ", "strong"),
        ("score ", "dim"),
        (fit(points(one.pilot.score), 7), "plain"),
        ("rejected: ", "bad"),
        (short(one.reason, max(8, width - 28)), "plain"),
    )
    return _text(f"rejected:{one.pilot.i}:{number}", line)


def _since(last: RejectedRow) -> Line:
    """Return what is new since the operator last said no."""
    changed = ", ".join(number_of(name) for name in last.changed)
    told = f"{changed} changed" if changed else "no Case changed"
    return ((f"  Since your rejection ({last.reason}): ", "dim"), (told, "mark" if changed else "bad"))


def _pilot_row(pilot: PilotRow, wanted: float | None, width: int, verdict: str, *, again: bool = False) -> Row:
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
        ("again " if again else "", "strong"),
        ("" if pilot.valid else "void ", "bad"),
        (_CHOSEN.get(verdict, "") if pilot.chosen else "", "dim" if verdict else "mark"),
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


def _text(key: str, line: Line) -> Row:
    return Row(key, (line,))  # all can be gone to, so that all can be scrolled to
