"""Pane 5: every version of the agent, what it scored, how it came about, and the way back to it."""

from __future__ import annotations

from textual.app import ComposeResult

from tui.actions import bindings, by_id, shown_keys
from tui.messages import DiffWanted, Said
from tui.screens.base import own_screen
from tui.screens.deeds_versions import Offered, export_version, import_asked, keep_present
from tui.screens.panes.base import Pane
from tui.screens.panes.versions_lines import change_lines, headline, row_lines, timeline_rows, version_rows
from tui.stores.diff import Side, asked_for, usual
from tui.stores.versions import VersionRow
from tui.widgets.bars import Bar, Rule
from tui.widgets.line_list import LineList, RowList
from tui.widgets.wrapped_text import WrappedText

ROOMY = 30
"""Rows of height from which versions and timeline stand below each other."""


class VersionsPane(Pane):
    """Newest first; `R` goes to the version under the cursor, from the present one to the one before.

    Invariant: `marked` is a version of the agent in sight, or None.
    """

    pane_id = "versions"
    BINDINGS = bindings("versions")
    DEFAULT_CSS = """
    VersionsPane #versions-timeline { display: none; height: 1fr; }
    VersionsPane #versions-timeline-rule { display: none; }
    VersionsPane.-timeline #versions-list { display: none; }
    VersionsPane.-timeline #versions-timeline { display: block; }
    VersionsPane.-roomy #versions-list { display: block; }
    VersionsPane.-roomy #versions-timeline { display: block; }
    VersionsPane.-roomy #versions-timeline-rule { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._placed: tuple[str, int | None] = ("", None)
        self.marked: int | None = None
        self._of_timeline = False

    def parts(self) -> ComposeResult:
        yield Bar(id="versions-head")
        yield RowList(id="versions-list")
        yield Rule(id="versions-timeline-rule")
        yield RowList(id="versions-timeline")
        yield Rule(id="versions-rule")
        yield WrappedText(id="versions-detail")

    def draw(self) -> None:
        view = self.view.versions
        if self._placed[0] != view.agent_id or self.marked not in {row.version for row in view.rows}:
            self.marked = None
        alone = self.has_class("-timeline") and not self.has_class("-roomy")
        name = f"{view.agent_id}, every change, newest first" if alone else view.agent_id
        self.title(name, (((f"undo: {view.undo} ", "dim"),) if view.undo else ()))
        self.query_one("#versions-head", Bar).show(headline(view, self._key("rollback")))
        rows = self.query_one("#versions-list", RowList)
        rows.show(lambda width: version_rows(self.view.versions, self.marked, width))
        self._share()
        self.query_one("#versions-timeline-rule", Rule).show((("Timeline", "strong"), ("  newest first", "dim")))
        self.query_one("#versions-timeline", RowList).show(lambda width: timeline_rows(self.view.versions, width))
        if self._placed != (view.agent_id, view.present) and view.rows:
            # On the present version, from where R goes to the one before; also after a rollback.
            self._placed = (view.agent_id, view.present)
            rows.go_to(f"v{view.present or view.target}")
        self._detail()

    def on_resize(self) -> None:
        self.set_class(self.size.height >= ROOMY, "-roomy")
        self._share()

    def _share(self) -> None:
        """Give the versions the rows that they need, where the timeline stands below them."""
        rows = self.query_one("#versions-list", RowList)
        wanted = min(len(self.view.versions.rows) + 2, self.size.height // 2) if self.has_class("-roomy") else None
        if wanted != (
            None if rows.styles.height is None or rows.styles.height.is_fraction else rows.styles.height.value
        ):
            rows.styles.height = "1fr" if wanted is None else wanted

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
        if own_screen(self).stands and (event.rows.has_focus or not self._of_timeline):
            self._of_timeline = event.rows.id == "versions-timeline" and event.rows.has_focus
            self._detail()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.query_one("#versions-detail", WrappedText).focus()

    def on_descendant_focus(self) -> None:
        super().on_descendant_focus()
        if own_screen(self).stands and isinstance(self.screen.focused, RowList):
            self._of_timeline = self.screen.focused.id == "versions-timeline"
            self._detail()

    def _detail(self) -> None:
        rule, text = self.query_one("#versions-rule", Rule), self.query_one("#versions-detail", WrappedText)
        view, row = self.view.versions, self.selected
        if self._of_timeline:
            key = self.query_one("#versions-timeline", RowList).key
            number = key.removeprefix("change ")
            change = view.changes[int(number)] if number.isdecimal() and int(number) < len(view.changes) else None
            if change is not None:
                rule.show(((f"{change.what} v{change.version}" if change.version else change.what, "strong"),))
                text.show(change_lines(change), key)
                return
        if row is None:
            rule.show(())
            text.show((), "empty")
            return
        rule.show(((f"v{row.version}", "strong"),))
        keys = [self._key(action_id) for action_id in ("rollback", "undo", "version.diff")]
        text.show(row_lines(row, view, *keys), row.version)

    def _key(self, action_id: str) -> str:
        """Return the key in force for an action, "" where it has none or does nothing here."""
        loaded, read_only = getattr(self.screen, "loaded", None), bool(getattr(self.screen, "read_only", False))
        action = by_id(action_id)
        if read_only and action.dangerous:
            return ""
        return shown_keys(action, loaded.keys if loaded is not None else {}).partition(" ")[0]

    # Actions

    def do_version_diff(self) -> None:
        """Compare the selected version with the marked one; without a mark with now, older on the left."""
        row, view = self.selected, self.view.versions
        if row is None:
            self.post_message(Said("There is no version to compare."))
            return
        if self.marked is not None and self.marked != row.version:
            other = next(entry for entry in view.rows if entry.version == self.marked)
            first, second = sorted((row, other), key=lambda entry: entry.version)
            self.post_message(DiffWanted(self._side(first), self._side(second)))
        elif row.present:
            sides = usual(view)
            if sides is None:
                self.post_message(
                    Said("No other version is kept to compare it with.", "warn", "n keeps the present one")
                )
            else:
                self.post_message(DiffWanted(*sides))
        elif row.kept or not row.proposer:
            self.post_message(DiffWanted(self._side(row), Side("current", view.agent_id)))
        else:
            # A Candidate that was not kept: what it tried, against what it started from.
            tried = asked_for(row.version, view, kept=False)
            self.post_message(DiffWanted(Side("reference", view.agent_id, row.version), tried))

    def _side(self, row: VersionRow) -> Side:
        view = self.view.versions
        if row.present and row.drift != "same":
            return Side("current", view.agent_id)
        return asked_for(row.version, view, kept=row.kept)

    def do_version_mark(self) -> None:
        row = self.selected
        if row is None:
            return
        self.marked = None if self.marked == row.version else row.version
        self.draw()
        if self.marked is None:
            self.post_message(Said(f"v{row.version} is no longer marked."))
        else:
            self.post_message(Said(f"v{row.version} is marked.", "mark", "d on another version compares the two"))

    def do_version_timeline(self) -> None:
        rows = self.query_one("#versions-timeline", RowList)
        if not self.has_class("-roomy"):
            self.toggle_class("-timeline")
            there = self.has_class("-timeline")
        else:
            there = self.screen.focused is not rows
        self.query_one("#versions-timeline" if there else "#versions-list").focus()
        self.draw()

    def go_back(self) -> bool:
        if self.has_class("-timeline") and not self.has_class("-roomy"):
            self.do_version_timeline()
            return True
        return False

    def do_version_keep(self) -> None:
        keep_present(self, self.view)

    def do_version_export(self) -> None:
        export_version(self, self.view, self.selected)

    def do_version_import(self) -> None:
        import_asked(self, self.view)

    def on_offered(self, event: Offered) -> None:
        event.stop()
        self.post_message(DiffWanted(Side("current", event.side.agent_id), event.side))

    # What others ask of a pane

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        row = self.selected
        if row is None:
            return None
        if not whole:
            return f"v{row.version}", "the version"
        lines = row_lines(row, self.view.versions, diff="")
        return "\n".join("".join(text for text, _ in line) for line in lines) or f"v{row.version}", "all of it"

    def reading(self) -> str:
        whole = self.copied(whole=True)
        return whole[0] if whole else ""
