"""What the matrix says in words: of a page, of a cell, of a failure and what happens next. Pure."""

from __future__ import annotations

from tui.palette import MARKS, bar, score_tone
from tui.screens.panes.base import points, span_of
from tui.stores.matrix_facts import counted, difference
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.widgets.grid_cells import number
from tui.widgets.spans import Line, Span, joined

STATES = {
    "planned": "planned; not run yet",
    "queued": "waits for its turn",
    "running": "running now",
    "scored": "scored",
    "reused": "unchanged since an earlier pilot: its score counts on, nothing was run",
    "failed": "failed: no score, which is not a zero",
    "interrupted": "interrupted with its engine; it runs once more when the run is resumed",
    "repairing": "being repaired: its Evaluator was lost, another takes over",
}

FAILURES = {
    "invalid_request": (
        "What was asked of the Evaluator does not fit together: no such Case, Run, agent or model.",
        "It is a fault of the run, not of the agent's work. Look at the Evaluator's trace.",
    ),
    "benchmark_invalid": (
        "The Case itself can't be used: its statement, its rubric or one of its checks is broken.",
        "The Builder must mend the Case; a frozen benchmark has to be made anew.",
    ),
    "version_changed": (
        "The agent was not the version to be measured: something changed its files meanwhile.",
        "See Versions (5) for what changed; then let the run measure again.",
    ),
    "evaluation_failed": (
        "No result came about: the Target's engine, its model or the Evaluator failed. The work was not judged.",
        "Look at both traces; the cell can be run again.",
    ),
}
"""Each failure code of the protocol: what it means and what to do (EVOLUTION 3.4 no. 54)."""

_NEXT_LIVE = "The run is live: its role decides whether to repair the cell and run it again."
_NEXT_ENDED = "The run has ended; the cell stays without a score until a run measures it again."
_ORDERS = {
    "mean": "lowest mean first",
    "delta": "most lost first",
    "spread": "widest spread first",
    "failures": "failures first",
}


def head(page: MatrixPage) -> tuple[Line, Line]:
    """Return the two sides of a page's first line: its name, and its mean with what it is held against."""
    left: list[Span] = [(f" {page.title}", "strong")]
    if _is_beside_title(page):
        left += [("  ", "plain"), (page.note, note_tone(page))]
    right: list[Span] = [("mean ", "dim"), (points(page.mean), score_tone(page.mean))]
    if not page.complete:
        right.append((" so far", "dim"))
    if page.not_comparable:
        right.append((f"  not comparable: {page.against} was {page.not_comparable}", "warn"))
    elif page.delta is not None:
        right.append((f"  {page.delta:+.2f}", "dim" if not page.delta else "good" if page.delta > 0 else "bad"))
        right.append((f" against {page.against}", "dim"))
        if page.noise and page.delta:
            right.append((", within noise", "warn"))
        if page.common != len(page.rows):
            right.append((f" ({page.common} Cases)", "dim"))
    right.append((" ", "plain"))
    return tuple(left), tuple(right)


def _is_beside_title(page: MatrixPage) -> bool:
    """Tell whether the note stands beside the title; below it where the line has a mean and a difference to tell."""
    return len(page.note) <= (30 if page.live or not page.against else 14)


def note_tone(page: MatrixPage) -> str:
    """Return the tone of what came of a page."""
    return "warn" if page.live else "bad" if page.note.startswith(("rejected", "reason: ")) else "plain"


def state(page: MatrixPage, shown: int, order: str, wanted: str) -> tuple[Line, Line]:
    """Return the second line: how many cells are where and how long the rest takes; order and filter."""
    states = page.states
    left: list[Span] = [(f" {counted(states)}", "bad" if "failed" in states else "plain")]
    if page.live and states:
        done = sum(1 for state in states if state in ("scored", "reused", "failed"))
        length = bar(done / len(states) * 100, 12)
        left += [("  ", "plain"), (length + "·" * (12 - len(length)), "accent")]
        if page.left_ms is not None:
            left.append((f"  {left_words(page.left_ms)}", "dim"))
    elif not _is_beside_title(page):
        left += [("  ", "plain"), (page.note, note_tone(page))]
    right: list[Span] = []
    if wanted:
        right.append((f"filter {wanted}: {shown} of {len(page.rows)} Cases", "mark"))
    if order in _ORDERS:
        right.append((("  " if right else "") + _ORDERS[order], "accent"))
    elif not right and page.columns == 1 and page.delta is not None and not page.note.startswith("reason: "):
        right.append(("one Run each: noise unknown", "dim"))
    right.append((" ", "plain"))
    return tuple(left), tuple(right)


def left_words(milliseconds: int) -> str:
    """Return a time left as people say it: `about 40 s left`, `about 3 min left`."""
    seconds = milliseconds / 1000
    if seconds < 10:
        return "a few seconds left"
    if seconds < 90:
        return f"about {round(seconds / 5) * 5} s left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.1f} h left"


def strip(pages: tuple[MatrixPage, ...], at: int, width: int) -> Line:
    """Return the names of the pages around the one in sight, as many as fit."""
    names = [f" {page.short or page.title} " for page in pages]
    first = last = at
    used = len(names[at]) + 4
    while True:
        if last + 1 < len(names) and used + len(names[last + 1]) <= width:
            last += 1
            used += len(names[last])
        elif first > 0 and used + len(names[first - 1]) <= width:
            first -= 1
            used += len(names[first])
        else:
            break
    line: list[Span] = [("<" if first else " ", "dim")]
    line += [(names[place], "bar" if place == at else "dim") for place in range(first, last + 1)]
    line.append((">" if last + 1 < len(names) else " ", "dim"))
    return tuple(line)


def alarm(page: MatrixPage) -> Line:
    """Return the warning of a page that is no result."""
    return ((f" ! {page.alarm[:1].upper()}{page.alarm[1:]}: an alarm, not a result. ", "mark"),
            ("e opens an Evaluator's trace.", "dim"))  # fmt: skip


def facts(cell: Cell, row: MatrixRow, page: MatrixPage) -> list[Line]:
    """Return what the rows below the matrix say of the cell under the cursor."""
    mark, tone = MARKS.get(cell.state, ("?", "warn"))
    title = "" if row.title == row.case_id else f" {row.title}"
    verdict: list[Span] = [(f"{mark} {points(cell.score)}", score_tone(cell.score))] if cell.score is not None else []
    if cell.state != "scored":
        verdict.append((STATES.get(cell.state, cell.state), tone if cell.score is None else "plain"))
    # The gap belongs to what follows it, which saves the terminal a change of colours.
    first: Line = ((f" {number(cell.case_id)}{title} run {cell.run}", "strong"),)
    first += tuple((f"  {text}", tone) for text, tone in (*verdict, *_against(cell, page)))
    if cell.failure:
        second = joined([(f" {cell.failure.replace('_', ' ')}", "bad"), (cell.reason, "plain")])
    elif cell.reason:
        second = ((f" {cell.reason}", "warn"),)
    else:
        known = [text for text, _ in measured(cell) if not text.startswith("Target")]
        second = ((" " + "  ".join(known), "dim"),)
    return [first, second, ((" Enter opens the cell: items, checks, the Evaluator's answer, files", "dim"),)]


def measured(cell: Cell) -> list[Span]:
    """Return time, cost and tries of a cell, as far as they are known."""
    told: list[Span] = []
    if cell.score is not None or cell.duration_ms is not None:
        told.append((span_of(cell.duration_ms), "dim"))
        told.append(("cost unknown" if cell.cost is None else f"${cell.cost:.4f}", "dim"))
    if cell.attempt > 1:
        told.append((f"Evaluator {cell.attempt}", "warn"))
    if cell.session_id:
        told.append((f"Target {cell.session_id}", "dim"))
    return told


def _against(cell: Cell, page: MatrixPage) -> list[Span]:
    delta = difference(cell.score, cell.before)
    if delta is None:
        return []
    tone = "dim" if not delta else "good" if delta > 0 else "bad"
    return [(f"{delta:+.2f}", tone), (f"({page.against.partition(',')[0]}: {points(cell.before)})", "dim")]


def next_step(cell: Cell, *, live: bool) -> str:
    """Return what happens next with a cell that failed."""
    return _NEXT_LIVE if live else _NEXT_ENDED
