"""What the scoreboard says in words: of a row, of two rows, of a decision. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tui.palette import score_tone, sparkline
from tui.screens.panes.base import local, points, signed, span_of
from tui.stores.board_rows import BoardEvent, Compared, is_other_runtime, told
from tui.stores.views import BoardRow, BoardView
from tui.widgets.spans import Line, Span, fit, joined, plain, width_of

CHANGE = {True: "good", False: "bad"}


def change_tone(delta: float | None) -> str:
    """Return the tone of a difference."""
    return "dim" if not delta else "good" if delta > 0 else "bad"


def verdict(row: BoardRow) -> str:
    """Return in one sentence what was decided of a row, and why."""
    reference = f"v{row.reference_version}'s" if row.reference_version else "the one before,"
    than = f"the Reference {reference} {points(row.reference)}" if row.reference is not None else "its Reference"
    match row.what:
        case "baseline":
            return "The Formal Baseline: later versions are measured against it."
        case "accepted" if row.score is not None and row.reference is not None:
            return f"Accepted: {points(row.score)} is above {than}."
        case "rejected" if row.score is not None and row.reference is not None:
            return f"Rejected: {points(row.score)} is not above {than}."
        case "unevaluable":
            lacking = f"{row.planned - row.measured} of {row.planned} cells have" if row.planned else "A cell has"
            return f"Unevaluable: {lacking} no score, and what has none is never compared."
        case "measuring":
            return (
                f"Being measured: {row.measured} of {row.planned} cells have a score." if row.planned else "Proposed."
            )
        case "dropped":
            return "It counts for nothing: the format does not accept it, though a lenient reader may show it."
    return row.what.capitalize() + "."


def noise_words(row: BoardRow) -> str:
    """Return what is known of whether a change is real, "" where there is no change to speak of."""
    if not row.delta:
        return ""
    if row.noise is None:
        few = [case for case in row.cases if len(case.scores) < 2]
        return (
            "One Run a Case: nothing tells how far it is noise."
            if few or not row.cases
            else ("The Reference has one Run a Case: nothing tells how far it is noise.")
        )
    if row.noise:
        return f"{signed(row.delta)} lies within noise: Runs of one Case differ by as much. The rule stays strict."
    return f"{signed(row.delta)} is more than the Runs of one Case differ by."


def runs_words(row: BoardRow) -> str:
    """Return how often each Case was run: `1 Run a Case`, `1 to 2 Runs a Case`; "" where nobody knows."""
    counts = sorted({len(case.scores) for case in row.cases if case.scores})
    if not counts:
        return ""
    often = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{often} {'Run' if counts[-1] == 1 else 'Runs'} a Case"


def row_lines(row: BoardRow) -> list[Line]:
    """Return everything known of a row, to read; the table of its Cases stands last."""
    tone = {"accepted": "good", "rejected": "bad", "unevaluable": "warn", "dropped": "bad"}.get(row.what, "plain")
    runs = runs_words(row)
    lines: list[Line] = [((verdict(row), tone), (f"  {runs}" if runs else "", "dim"))]
    if noise := noise_words(row):
        lines.append(((noise, "warn" if row.noise or row.noise is None else "dim"),))
    if row.recomputed is not None:
        again = f"Its Cases give {points(row.recomputed)}; the stored {points(row.score)} counts in every view."
        lines.append((("! ", "mark"), (again, "warn")))
    if row.what == "dropped":
        lines.append((("Why         ", "dim"), (row.note, "plain")))
        return [*lines, (), *plain(row.raw.split("\n"), "dim")]
    if row.hypothesis:
        lines.append((("Hypothesis  ", "dim"), (row.hypothesis, "plain")))
    held = "" if row.held is None else "prediction held" if row.held else "prediction missed"
    backed = "" if row.supported is None else "hypothesis supported" if row.supported else "hypothesis not supported"
    by = f"by the {row.proposer}" if row.proposer else ""
    if by or held or backed:
        lines.append(
            joined(
                [(by, "plain"), (held, "good" if row.held else "warn"), (backed, "good" if row.supported else "warn")]
            )
        )
    if row.edits:
        lines.append((("Changes     ", "dim"), (", ".join(row.edits), "plain")))
    lines += [(("Note        " if not at else " " * 12, "dim"), (text, "plain"))
              for at, text in enumerate(told(row.note, row.hypothesis))]  # fmt: skip
    ran = [(text, "plain") for text in (row.provider, row.model_id, row.thinking) if text]
    if ran:
        known = "" if row.what in ("rejected", "unevaluable", "measuring") else _spent(row)
        lines.append((("Ran on      ", "dim"), *joined(ran), (f"   {known}", "dim")))
    return [*lines, *case_lines(row)]


def _spent(row: BoardRow) -> str:
    cost = "cost unknown" if row.cost is None else f"${row.cost:.4f} a Case"
    return f"{span_of(row.duration_ms)} and {cost}" if row.duration_ms is not None else cost


def case_lines(row: BoardRow) -> list[Line]:
    """Return the table of a row's Cases: what was expected, what came, what was before."""
    if not row.cases:
        return []
    any_expected = any(case.expected is not None for case in row.cases)
    heading = fit("Case", 32) + (fit("expected", 9, right=True) if any_expected else "")
    heading += fit("came", 9, right=True) + fit("before", 9, right=True) + fit("change", 9, right=True)
    lines: list[Line] = [(), ((heading, "dim"),)]
    for case in row.cases:
        delta = None if case.observed is None or case.reference is None else case.observed - case.reference
        line: list[Span] = [(fit(case.case_id, 32), "plain")]
        if any_expected:
            line.append((fit(points(case.expected), 9, right=True), "dim"))
        line += [
            (fit(points(case.observed), 9, right=True), score_tone(case.observed)),
            (fit(points(case.reference), 9, right=True), "dim"),
            (fit(signed(delta), 9, right=True), change_tone(delta)),
        ]
        if case.recomputed is not None:
            line.append((f"  ! its Runs give {points(case.recomputed)}", "warn"))
        lines.append(tuple(line))
    return lines


def event_lines(event: BoardEvent) -> list[Line]:
    """Return what the operator did."""
    return [
        ((f"{event_words(event)}, by {event.actor} at {local(event.time)}.", "plain"),),
        (("What was there before is kept; see Versions (5).", "dim"),),
    ]


def event_words(event: BoardEvent) -> str:
    """Return an event in a few words: `Rolled back from v3 to v2`."""
    known = {"roll_back": "Rolled back", "undo": "Undone: back", "import": "Imported: went"}
    return (
        f"{known.get(event.action, event.action.replace('_', ' '))} from v{event.from_version} to v{event.to_version}"
    )


def compared_lines(found: Compared) -> list[Line]:
    """Return two rows against each other, Case by Case."""
    old, new = f"v{found.old.version}", f"v{found.new.version}"
    lines: list[Line] = []
    if found.why_not:
        lines.append((("! ", "mark"), (found.why_not, "warn")))
    whole: list[Span] = [
        (f"{new} {points(found.new.score)}", score_tone(found.new.score)),
        (f"  against {old} ", "dim"),
        (points(found.old.score), score_tone(found.old.score)),
    ]
    if found.delta is not None:
        whole += [("  ", "plain"), (signed(found.delta), change_tone(found.delta))]
    lines.append(tuple(whole))
    lines += [
        ((fit("Case", 34) + fit(old, 9, right=True) + fit(new, 9, right=True) + fit("change", 9, right=True), "dim"),)
    ]
    lines += [
        (
            (fit(case.case_id, 34), "plain"),
            (fit(points(case.old), 9, right=True), score_tone(case.old)),
            (fit(points(case.new), 9, right=True), score_tone(case.new)),
            (fit(signed(case.delta), 9, right=True), change_tone(case.delta)),
        )
        for case in found.cases
    ]
    return lines


_CURVE = 24
"""Cells of the curve in the headline at most; less where the words need the room."""


def headline(board: BoardView, width: int = 200) -> Line:
    """Return whose score it is, the curve, the gain and the held-out result: what fits, warnings before all.

    Every number names its version, as those of the whole and of the held-out Cases may be of different ones.
    """
    if board.latest is None:
        return ((" ", "plain"),)
    stored = [row for row in board.rows if row.is_stored]
    first = next((row for row in stored if not is_other_runtime(row, stored[-1])), None)
    head: Line = (
        (f" score v{board.curve[-1][0]} ", "dim"),
        (points(board.latest), score_tone(board.latest)),
    )
    told: list[Span] = []
    room = width - 1 - _width(head)
    if board.is_example:
        told.append(("  example numbers, not measured", "warn"))
    if first is not None and first is not stored[0]:
        told.append(("  older scores are of another model", "warn"))
    room -= _width(told)
    since: list[Span] = []
    if first is not None and first is not stored[-1] and first.score is not None:
        since = [
            (f"  {signed(round(board.latest - first.score, 2))} since v{first.version} {points(first.score)}", "dim")
        ]
    held: list[Span] = [(f"   held out {words}", "dim")] if (words := held_out_words(board)) else []
    for more, place in ((since, 0), (held, len(told) + 1)):
        if more and _width(more) <= room:
            told[place:place] = more
            room -= _width(more)
    curve = sparkline([score for _, score in board.curve], min(_CURVE, room - 2)) if room >= 6 else ""
    return (*head, (f"  {curve}" if curve else "", "accent"), *told)


def held_out_words(board: BoardView) -> str:
    """Return the first and the newest score of the held-out Cases, each with its version: `v1 34.00, v11 92.00`."""
    known = [(version, score) for _, version, score in board.heldout if score is not None]
    ends = dict.fromkeys(known[:1] + known[-1:])
    return ", ".join(f"v{version} {points(score)}" for version, score in ends)


def _width(spans: Sequence[Span]) -> int:
    return sum(width_of(text) for text, _ in spans)


def freeze_word(board: BoardView) -> str:
    """Return whether the benchmark is frozen, and whether its bytes still are what was frozen."""
    if board.freeze == "void":
        return f"VOID: {len(board.changed)} frozen files changed"
    return {"frozen": "frozen", "unfrozen": "not frozen"}.get(board.freeze, "")
