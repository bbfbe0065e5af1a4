"""The rows of the Versions pane, as pure functions of what is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.palette import DECISIONS, score_tone
from tui.screens.panes.base import local, points
from tui.stores.versions import VersionRow
from tui.stores.views import VersionsView
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, joined, plain, short

if TYPE_CHECKING:
    from core.state.timeline import Change

_CHANGES: dict[str, tuple[str, str]] = {
    "made": ("o", "accent"),
    "accepted": ("+", "good"),
    "rolled back": ("<", "warn"),
    "undone": (">", "accent"),
    "imported": ("^", "warn"),
    "kept": ("o", "dim"),
    "edited": ("~", "warn"),
}
"""Mark and tone of each kind of change."""


def headline(view: VersionsView, back: str = "R") -> Line:
    """Return which version it is now, whether it was edited, and what the key `back` would do ("": it does nothing)."""
    way = f"{back} goes back to the selected version" if back and view.target else ""
    if view.trouble:
        return ((f" {view.trouble}", "bad"), (f"  {way}" if way else "", "dim"))
    if view.present is None:
        return ((" ", "plain"),)
    target = way if view.target else "no version to go back to yet"
    return joined(
        [
            (f" now v{view.present}", "strong"),
            (_drift(view), "warn" if view.drift == "edited" else "dim"),
            (target, "dim"),
            (view.pending, "bad"),
        ]
    )


def _drift(view: VersionsView) -> str:
    edited = f"{len(view.edited)} file{'s' * (len(view.edited) != 1)}"
    return {
        "same": "as kept",
        "edited": f"edited since it was kept ({edited})" + ", kept beside" * view.preserved,
        "no snapshot": "not kept as a snapshot yet",
        "blocked": "holds what no snapshot may",
    }.get(view.drift, "")


def version_rows(view: VersionsView, marked: int | None, width: int) -> Sequence[Row]:
    """Return a row each version under a heading."""
    if not view.rows:
        text = "There is no agent here yet." if not view.agent_id else "This agent has no readable state yet."
        return [Row("empty", (((text, "dim"),),), selectable=False)]
    heading = "  " + fit("version", 9) + fit("score", 7, right=True) + "  " + fit("outcome", 12)
    heading += fit("kept", 13) + fit("state", 13) + fit("by", 11) * (width > 110) + "hypothesis"
    return [
        Row("heading", (((heading, "dim"),),), selectable=False),
        *(_row(row, view, marked, width) for row in view.rows),
    ]


def _row(row: VersionRow, view: VersionsView, marked: int | None, width: int) -> Row:
    mark, tone = DECISIONS.get(row.what, (" ", "dim"))
    state = _state(row, view, marked)
    used = sum(len(text) for text, _ in state)
    kept = "damaged" if row.damage else local(row.time) if row.kept else "not kept"
    by: tuple[Span, ...] = ((fit(row.proposer, 11), "dim"),) if width > 110 else ()
    rest = max(4, width - 58 - 11 * len(by))
    line: Line = (
        (f"{mark} ", tone),
        (fit(f"v{row.version}", 9), "strong"),
        (fit(points(row.score), 7, right=True), score_tone(row.score)),
        ("  ", "plain"),
        (fit(row.what, 12), tone),
        (fit(kept, 13), "dim" if row.kept else "warn"),
        *state,
        (" " * max(1, 13 - used), "plain"),
        *by,
        (short(row.note or row.hypothesis, rest), "plain"),
    )
    find = f"v{row.version} {row.what} {row.note} {row.hypothesis} {row.proposer}"
    return Row(f"v{row.version}", (line,), find=find)


def _state(row: VersionRow, view: VersionsView, marked: int | None) -> Line:
    spans: list[Span] = []
    if row.version == marked:
        spans.append(("marked", "mark"))
    elif row.present:
        spans += [("now", "good"), (" edited" if row.drift == "edited" else "", "warn")]
    elif row.version == view.target:
        spans.append(("previous", "accent"))
    if row.beside:
        spans.append((f" +{row.beside}", "warn"))
    return tuple(spans)


def row_lines(row: VersionRow, view: VersionsView, back: str = "", undo: str = "u", diff: str = "d") -> list[Line]:
    """Return everything known of a version, to read; `back`, `undo` and `diff` are keys ("" is said nothing of)."""
    lines: list[Line] = []
    if row.note:
        lines.append((("Note        ", "dim"), (row.note, "plain")))
    if row.hypothesis:
        lines.append((("Hypothesis  ", "dim"), (row.hypothesis, "plain")))
    if row.proposer:
        lines.append((("Proposer    ", "dim"), (row.proposer, "plain")))
    if row.content:
        beside = f"  and {row.beside} more under this number, kept beside: h and l in Diff (7) show them"
        lines.append((("Content     ", "dim"), (f"sha256:{row.content}", "plain"), (beside * bool(row.beside), "warn")))
    if row.damage:
        lines.append((("Damaged     ", "bad"), (row.damage, "plain")))
    if row.present and view.edited:
        lines.append((("Edited      ", "warn"), (", ".join(view.edited[:20]), "plain")))
    if not row.kept and not row.damage:
        tried = f" {diff} shows what it tried." if row.proposer and diff else ""
        lines += plain([f"Its state is not kept, so nothing can go back to it.{tried}"], "dim")
    elif not row.present and back:
        undone = f", and {undo} undoes it" if undo else ""
        lines += plain([f"{back} rolls the agent back to this version. What is there now is kept{undone}."], "dim")
    return lines


def timeline_rows(view: VersionsView, width: int) -> Sequence[Row]:
    """Return a row each change, the newest first; an edit that is not kept yet stands above them all."""
    rows: list[Row] = []
    if view.drift == "edited":
        files = ", ".join(view.edited[:6])
        rows.append(_change_row("now", "now", "edited", f"v{view.present}", "", f"since it was kept: {files}", width))
    for number, change in reversed(list(enumerate(view.changes))):
        rows.append(_of_change(number, change, width))
    if not rows:
        return [Row("none", ((("No change is on record yet.", "dim"),),), selectable=False)]
    return rows


def _of_change(number: int, change: Change, width: int) -> Row:
    versions = f"v{change.before} to v{change.version}" if change.before != change.version else f"v{change.version}"
    if not change.version:
        versions = ""
    by = " ".join(part for part in (change.who, change.signature) if part)
    return _change_row(f"change {number}", local(change.time), change.what, versions, by, change.text, width)


def _change_row(key: str, time: str, what: str, versions: str, by: str, text: str, width: int) -> Row:
    mark, tone = _CHANGES.get(what, ("o", "plain"))
    who = 12 if width < 100 else 30
    line: Line = (
        (fit(time, 12), "dim"),
        (f"{mark} ", tone),
        (fit(what, 14), tone),
        (fit(versions, 12), "strong"),
        (fit(by, who), "dim"),
        ("  ", "plain"),
        (short(text, max(4, width - who - 42)), "plain"),
    )
    return Row(key, (line,), find=f"{what} {versions} {by} {text}")


def change_lines(change: Change) -> list[Line]:
    """Return everything known of a change, to read."""
    lines: list[Line] = [
        (("When        ", "dim"), (local(change.time), "plain")),
        (("Who         ", "dim"), (change.who or "not on record", "plain"), (f"  {change.signature}", "dim")),
    ]
    if change.text:
        lines.append((("Why         ", "dim"), (change.text, "plain")))
    return lines
