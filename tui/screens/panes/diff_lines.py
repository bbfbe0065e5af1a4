"""What the Diff pane says around the text, as pure functions of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.palette import DECISIONS, score_tone
from tui.screens.panes.base import local, points, signed
from tui.stores.board_rows import told as note_words
from tui.stores.diff import Comparison, Side, Why
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, joined, middle, plain, short, width_of

if TYPE_CHECKING:
    from core.state.statediff import FileDiff

WHY = "why"
"""Key of the row that leads to the reasons."""
_STATUS = {"added": ("added", "good"), "removed": ("removed", "bad"), "changed": ("changed", "plain")}


def side_words(side: Side, present: int | None) -> str:
    """Return a side as the title says it."""
    if side.kind == "current":
        return f"now (v{present})" if present else "now"
    if side.kind == "snapshot" and side.version == present and not side.content:
        return f"v{side.version} as it was kept"
    if side.kind == "archive":
        return f"v{side.version} of {side.words}"
    return side.words


def title_of(comparison: Comparison) -> str:
    """Return what is compared with what; a Candidate's Reference by its version, where that is on record."""
    if comparison.left.kind == "reference" and comparison.whys and comparison.whys[0].reference:
        right = side_words(comparison.right, comparison.present)
        return f"v{comparison.whys[0].reference} (its Reference) -> {right}"
    return f"{side_words(comparison.left, comparison.present)} -> {side_words(comparison.right, comparison.present)}"


def counts(comparison: Comparison) -> Line:
    """Return how many files and lines differ."""
    if comparison.trouble:
        return ()
    files = len(comparison.files)
    if not files:
        return (("no difference ", "dim"),)
    return (
        (f"{files} file{'s' * (files != 1)} ", "plain"),
        (f"+{comparison.added} ", "added"),
        (f"-{comparison.removed} ", "removed"),
    )


def headline(comparison: Comparison, width: int) -> Line:
    """Return the one line below the title: what to decide, what went wrong, or why it differs."""
    if comparison.trouble:
        return ((f" {comparison.trouble}", "bad"), (f"  {comparison.hint}", "dim"))
    if comparison.right.kind == "archive" and comparison.files:
        return ((" Not imported yet: ", "mark"), ("I imports what is on the right, Esc leaves it", "plain"))
    if comparison.left.kind == "frozen" and comparison.right.kind == "benchmark":
        void = f" {len(comparison.files)} files differ from what was frozen, so the benchmark is void"
        return ((void, "bad"),) if comparison.files else ((" every byte is as it was frozen", "good"),)
    if not comparison.whys:
        edited = comparison.left.kind == "snapshot" and comparison.left.version == comparison.present
        if edited and comparison.right.kind == "current" and comparison.files:
            return ((" edited since it was kept", "warn"), ("; nobody has measured it", "dim"))
        return ((" h and l choose what is compared", "dim"),)
    first, more = comparison.whys[0], len(comparison.whys) - 1
    mark, tone = DECISIONS.get(first.decision, ("?", "warn"))
    told = f" {mark} v{first.version} {first.decision}"
    also = f"  and {more} before" if more else ""
    room = max(8, width - len(told) - len(also) - 6)
    return ((told, tone), (also, "dim"), (f"  {short(first.hypothesis, room)}", "plain"))


def rows_of(comparison: Comparison | None, doing: str, width: int) -> Sequence[Row]:
    """Return the files that differ, after the row that leads to the reasons."""
    if comparison is None:
        return [Row("none", (((doing, "dim"),),), selectable=False)]
    rows: list[Row] = []
    if comparison.whys:
        rows.append(Row(WHY, (_why_row(comparison.whys, width),), find="why"))
    longest = max((width_of(file.path) for file in comparison.files), default=0)
    room = width - 24 - len("  hidden values") * any(file.hidden for file in comparison.files)
    name = max(16, min(56, longest, room))
    rows += [
        Row(f"file {file.path}", (_file_row(file, comparison, name, width),), find=file.path)
        for file in comparison.files
    ]
    if not comparison.files:
        text = "Nothing to compare." if comparison.trouble else "The two sides are the same, byte for byte."
        rows.append(Row("none", (((text, "dim"),),), selectable=False))
    return rows


def _why_row(whys: Sequence[Why], width: int) -> Line:
    versions = ", ".join(f"v{why.version}" for why in whys[:8]) + (" ..." if len(whys) > 8 else "")
    told = "hypothesis, prediction and what came of it"
    return ((fit("why", 9), "accent"), (short(f"{versions}: {told}", max(8, width - 9)), "dim"))


def _file_row(file: FileDiff, comparison: Comparison, name: int, width: int) -> Line:
    word, tone = _STATUS[file.status]
    note = "  hidden values" if file.hidden else ""
    if file.unread:
        told: tuple[Span, ...] = ((fit(file.unread, 14), "warn"),)
    else:
        told = ((fit(f"+{file.added}", 7, right=True), "added"), (fit(f"-{file.removed}", 7, right=True), "removed"))
    reason = comparison.reasons.get(file.path, "") or file.note
    rest = max(0, width - 23 - name - len(note) - 2)
    return (
        (fit(word, 9), tone),
        (fit(middle(file.path, name), name), "plain"),
        *told,
        (note, "warn"),
        (f"  {short(reason, rest)}" if reason and rest > 8 else "", "dim"),
    )


def file_rule(file: FileDiff, place: str) -> tuple[Span, ...]:
    """Return the words on the rule above a file's text."""
    return ((file.path, "strong"), (f"  {place}" if place else f"  {file.status}", "dim"))


def own_lines(file: FileDiff, reason: str) -> list[Line]:
    """Return what is said of a file above its hunks: why it changed, and what can't be told by line."""
    lines: list[Line] = []
    if reason:
        lines.append((("why  ", "dim"), (reason, "plain")))
    if file.note:
        lines.append(((f"{file.note.capitalize()}: a Candidate raises it with whatever it changes.", "dim"),))
    if file.hidden:
        lines.append(
            (("Values that look secret are hidden; where one changed, its line is shown as changed.", "warn"),)
        )
    if not file.unread:
        return lines if file.hunks else [*lines, (("An empty file.", "dim"),)]
    told = {
        "binary": "This is no text, so it is compared as a whole.",
        "too large": "This is too large to be compared by line.",
        "not kept": "A freeze keeps hashes, and this content is kept nowhere else, so only they can be compared.",
    }[file.unread]
    lines += plain([told], "dim")
    for name, digest, size in (
        ("left ", file.before_hash, file.before_size),
        ("right", file.after_hash, file.after_size),
    ):
        if digest is None:
            lines.append(((f"{name}  ", "dim"), ("no such file", "plain")))
        else:
            amount = "size unknown" if size is None else f"{size:,} bytes"
            lines.append(((f"{name}  ", "dim"), (f"{amount}  sha256 {digest}", "plain")))
    return lines


def why_lines(whys: Sequence[Why]) -> list[Line]:
    """Return what each Candidate was for, what was expected of it, what came, and what was decided."""
    lines: list[Line] = []
    for why in whys:
        mark, tone = DECISIONS.get(why.decision, ("?", "warn"))
        if lines:
            lines.append(())
        lines.append(
            joined(
                [
                    (f"{mark} v{why.version} {why.decision}", tone),
                    (f"proposed by the {why.proposer}" if why.proposer else "", "dim"),
                    (local(why.time), "dim"),
                    (why.run_id, "dim"),
                ]
            )
        )
        lines.append((("Hypothesis  ", "dim"), (why.hypothesis or "none was given", "plain")))
        lines.append(_came(why))
        if why.cases:
            lines.append(((f"{'Case':<34}{'predicted':>10}{'came':>9}{'before':>9}{'change':>9}", "dim"),))
            lines += [_case_line(case.case_id, case.predicted, case.came, case.before) for case in why.cases]
        if said := note_words(why.note, why.hypothesis)[:40]:
            lines += [
                (("Decision    " if not at else " " * 12, "dim"), (line, "plain")) for at, line in enumerate(said)
            ]
    return lines


def _came(why: Why) -> Line:
    delta = None if why.score is None or why.reference_score is None else why.score - why.reference_score
    held = "" if why.held is None else "prediction held" if why.held else "prediction missed"
    backed = "" if why.supported is None else "hypothesis supported" if why.supported else "hypothesis not supported"
    return joined(
        [
            (f"Predicted   {why.predicted or 'nothing'}", "dim"),
            (f"came {points(why.score)}", score_tone(why.score)),
            (f"against {points(why.reference_score)} of v{why.reference}" if why.reference else "", "dim"),
            (signed(delta), "good" if (delta or 0) > 0 else "bad"),
            (held, "good" if why.held else "warn"),
            (backed, "good" if why.supported else "warn"),
        ]
    )


def _case_line(case_id: str, predicted: float | None, came: float | None, before: float | None) -> Line:
    change = None if came is None or before is None else came - before
    return (
        (fit(case_id, 34), "plain"),
        (fit(points(predicted), 10, right=True), "dim"),
        (fit(points(came), 9, right=True), score_tone(came)),
        (fit(points(before), 9, right=True), "dim"),
        (fit(signed(change), 9, right=True), "dim" if not change else "good" if change > 0 else "bad"),
    )
