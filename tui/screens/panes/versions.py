"""Pane 5: every version of the agent, what it scored, and the way back to it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from tui.actions import bindings
from tui.palette import DECISIONS, score_tone
from tui.screens.base import own_screen
from tui.screens.panes.base import Pane, local, points
from tui.stores.versions import VersionRow, VersionsView
from tui.widgets.bars import Bar, Rule
from tui.widgets.line_list import LineList, Row, RowList
from tui.widgets.spans import Line, fit, joined, plain, short
from tui.widgets.wrapped_text import WrappedText


class VersionsPane(Pane):
    """Newest first; `R` goes to the version under the cursor, from the present one to the one before."""

    pane_id = "versions"
    BINDINGS = bindings("versions")

    def __init__(self) -> None:
        super().__init__()
        self._placed: tuple[str, int | None] = ("", None)

    def parts(self) -> ComposeResult:
        yield Bar(id="versions-head")
        yield RowList(id="versions-list")
        yield Rule(id="versions-rule")
        yield WrappedText(id="versions-detail")

    def draw(self) -> None:
        view = self.view.versions
        self.title(view.agent_id, (((f"undo: {view.undo} ", "dim"),) if view.undo else ()))
        self.query_one("#versions-head", Bar).show(_headline(view))
        rows = self.query_one("#versions-list", RowList)
        rows.show(self._rows)
        if self._placed != (view.agent_id, view.present) and view.rows:
            # On the present version, from where R goes to the one before; also after a rollback.
            self._placed = (view.agent_id, view.present)
            rows.go_to(f"v{view.present}")
        self._detail()

    @property
    def selected(self) -> VersionRow | None:
        """Return the row under the cursor."""
        key = self.query_one("#versions-list", RowList).key
        return next((row for row in self.view.versions.rows if f"v{row.version}" == key), None)

    def version_in_sight(self) -> int | None:
        row = self.selected
        return None if row is None or row.present else row.version

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands:
            self._detail()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.query_one("#versions-detail", WrappedText).focus()

    def _rows(self, width: int) -> Sequence[Row]:
        view = self.view.versions
        if not view.rows:
            text = "There is no agent here yet." if not view.agent_id else "This agent has no readable state yet."
            return [Row("empty", (((text, "dim"),),), selectable=False)]
        heading = "  " + fit("version", 9) + fit("score", 7, right=True) + "  " + fit("outcome", 12)
        heading += fit("kept", 13) + fit("state", 13) + "hypothesis"
        return [
            Row("heading", (((heading, "dim"),),), selectable=False),
            *(_row(row, view, width) for row in view.rows),
        ]

    def _detail(self) -> None:
        view, row = self.view.versions, self.selected
        rule, text = self.query_one("#versions-rule", Rule), self.query_one("#versions-detail", WrappedText)
        if row is None:
            rule.show(())
            text.show((), "empty")
            return
        rule.show(((f"v{row.version}", "strong"),))
        text.show(_row_lines(row, view), row.version)


def _headline(view: VersionsView) -> Line:
    if view.trouble:
        return ((f" {view.trouble}", "bad"),)
    if view.present is None:
        return ((" ", "plain"),)
    target = "R goes back to the selected version" if view.target else "no version to go back to yet"
    return joined(
        [
            (f" now v{view.present}", "strong"),
            (_drift(view.drift, len(view.edited)), "warn" if view.drift == "edited" else "dim"),
            (target, "dim"),
            (view.pending, "bad"),
        ]
    )


def _drift(drift: str, edited: int) -> str:
    return {
        "same": "as kept",
        "edited": f"edited since it was kept ({edited} files)",
        "no snapshot": "not kept as a snapshot yet",
        "blocked": "holds what no snapshot may",
    }.get(drift, "")


def _row(row: VersionRow, view: VersionsView, width: int) -> Row:
    mark, tone = DECISIONS.get(row.what, (" ", "dim"))
    if row.present:
        state: Line = (("now", "good"), (" edited" if row.drift == "edited" else "", "warn"))
    elif row.version == view.target:
        state = (("previous", "accent"),)
    else:
        state = ()
    used = sum(len(text) for text, _ in state)
    kept = "damaged" if row.damage else local(row.time) if row.kept else "not kept"
    line: Line = (
        (f"{mark} ", tone),
        (fit(f"v{row.version}", 9), "strong"),
        (fit(points(row.score), 7, right=True), score_tone(row.score)),
        ("  ", "plain"),
        (fit(row.what, 12), tone),
        (fit(kept, 13), "dim" if row.kept else "warn"),
        *state,
        (" " * max(1, 13 - used), "plain"),
        (short(row.hypothesis, max(4, width - 58)), "plain"),
    )
    return Row(f"v{row.version}", (line,), find=f"v{row.version} {row.what} {row.hypothesis} {row.proposer}")


def _row_lines(row: VersionRow, view: VersionsView) -> list[Line]:
    lines: list[Line] = []
    if row.hypothesis:
        lines.append((("Hypothesis  ", "dim"), (row.hypothesis, "plain")))
    if row.proposer:
        lines.append((("Proposer    ", "dim"), (row.proposer, "plain")))
    if row.content:
        beside = f"  and {row.beside} more under this number" if row.beside else ""
        lines.append((("Content     ", "dim"), (f"sha256:{row.content}", "plain"), (beside, "warn")))
    if row.damage:
        lines.append((("Damaged     ", "bad"), (row.damage, "plain")))
    if row.present and view.edited:
        lines.append((("Edited      ", "warn"), (", ".join(view.edited[:20]), "plain")))
    if not row.kept and not row.damage:
        lines += plain(["Its state is not kept, so nothing can go back to it."], "dim")
    elif not row.present:
        lines += plain(["R rolls the agent back to this version. What is there now is kept, and u undoes it."], "dim")
    return lines
