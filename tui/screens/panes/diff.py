"""Pane 7: two states of an agent, or a benchmark then and now, file by file; and why they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.message import Message

from core.evolution.side import OF_BENCHMARK, Kind
from core.state.paths import ProjectPaths
from tui.actions import bindings
from tui.messages import ReadWanted, Said
from tui.screens.base import own_screen
from tui.screens.deeds_versions import export_patch, import_shown
from tui.screens.panes.base import Pane, local
from tui.screens.panes.diff_lines import (
    WHY,
    counts,
    file_rule,
    headline,
    own_lines,
    rows_of,
    side_words,
    title_of,
    why_lines,
)
from tui.screens.picker import Choice, PickerScreen
from tui.stores.console import ConsoleView
from tui.stores.diff import Choosable, Comparison, Side, choices, load, usual
from tui.widgets.bars import Bar, Rule
from tui.widgets.difftext import DiffText
from tui.widgets.line_list import LineList, RowList
from tui.widgets.spans import plain
from tui.widgets.wrapped_text import WrappedText

if TYPE_CHECKING:
    from core.state.statediff import FileDiff

_LIVELY = frozenset({"current", "benchmark", "archive"})
"""Kinds of sides that may be other tomorrow, so that they are read again when something changed on disk."""


class _Compared(Message):
    """Two sides were compared."""

    def __init__(self, comparison: Comparison, number: int) -> None:
        self.comparison, self.number = comparison, number
        super().__init__()


class _Found(Message):
    """What there is to compare."""

    def __init__(self, listed: tuple[Choosable, ...], *, right: bool) -> None:
        self.listed, self.right = listed, right
        super().__init__()


class DiffPane(Pane):
    """Shows what differs from `left` to `right`.

    Invariant: `comparison` belongs to the sides in `wanted`, or is None until it is made. Sides that the operator
    did not choose (`_asked` False) follow the agent: the version before against now.
    """

    pane_id = "diff"
    BINDINGS = bindings("diff")
    DEFAULT_CSS = """
    DiffPane #diff-files { height: 5; }
    DiffPane #diff-why { display: none; height: 1fr; }
    DiffPane.-why #diff-why { display: block; }
    DiffPane.-why #diff-text { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.wanted: tuple[Side, Side] | None = None
        self.comparison: Comparison | None = None
        self._asked = False
        self._number = 0
        self._place = ""
        self._stale = self._following = False

    def parts(self) -> ComposeResult:
        yield Bar(id="diff-head")
        yield RowList(id="diff-files")
        yield Rule(id="diff-rule")
        yield DiffText(id="diff-text")
        yield WrappedText(id="diff-why")

    # What is compared

    def compare(self, left: Side, right: Side, file: str = "") -> None:
        """Compare two sides; `file` is shown first."""
        self._asked = True
        self._want(left, right, file)

    def _want(self, left: Side, right: Side, file: str = "") -> None:
        if self.wanted != (left, right):
            self.comparison = None
            self._place = "" if self._place == WHY else self._place
        self.wanted, self._stale = (left, right), False
        if file:
            self._place = f"file {file}"
        self._number += 1
        number = self._number

        def read(project: ProjectPaths) -> Message:
            return _Compared(load(project, left, right), number)

        self.post_message(ReadWanted(read, self, f"comparing {left.words} with {right.words}"))
        self._late = True
        self.catch_up()

    def on__compared(self, event: _Compared) -> None:
        event.stop()
        if event.number != self._number:
            return
        self.comparison = event.comparison
        self._late = True
        self.catch_up()

    def show(self, view: ConsoleView) -> None:
        old, self.view = self.view, view
        facts = (view.versions, view.board.changed, view.board.freeze)
        if facts != (old.versions, old.board.changed, old.board.freeze):
            self._stale = True
        super().show(view)

    def _follow(self) -> None:
        """Compare anew what may have changed, or what is compared unasked."""
        agent_id = self.view.versions.agent_id
        if self.wanted is None or not self._asked or (agent_id and self.wanted[1].agent_id != agent_id):
            self._asked = False
            sides = usual(self.view.versions)
            if sides is None:
                self.wanted = self.comparison = None
            elif sides != self.wanted or self._stale:
                self._want(*sides)
        elif self._stale and any(side.kind in _LIVELY for side in self.wanted):
            self._want(*self.wanted)
        self._stale = False

    # Drawing

    def draw(self) -> None:
        self._follow_once()
        wanted, comparison = self.wanted, self.comparison
        rows = self.query_one("#diff-files", RowList)
        if wanted is None:
            self.title("nothing to compare yet")
            self.query_one("#diff-head", Bar).show(())
            rows.show(lambda width: rows_of(None, "h and l choose two sides; or press d on a version in 5.", width))
        elif comparison is None:
            present = self.view.versions.present
            self.title(
                f"{side_words(wanted[0], present)} -> {side_words(wanted[1], present)}", (("comparing ", "dim"),)
            )
            self.query_one("#diff-head", Bar).show(())
            rows.show(lambda width: rows_of(None, "comparing...", width))
        else:
            self.title(title_of(comparison), counts(comparison))
            self.query_one("#diff-head", Bar).show(headline(comparison, self.size.width))
            rows.show(lambda width: rows_of(comparison, "", width))
            self._go_to_place(rows)
            most = 10 if self.size.height > 28 else 5
            height = min(most, max(1, len(comparison.files) + bool(comparison.whys)))
            if rows.styles.height is None or rows.styles.height.value != height:
                rows.styles.height = height
        self._text()

    def _follow_once(self) -> None:
        # Comparing draws again; what is wanted then is settled.
        if self._following:
            return
        self._following = True
        try:
            self._follow()
        finally:
            self._following = False

    def _go_to_place(self, rows: RowList) -> None:
        """Keep the cursor on the file it was on, also where that was the same on both sides for a while."""
        files = self.comparison.files if self.comparison else ()
        keys = [f"file {file.path}" for file in files]
        if files and self._place != WHY:
            rows.go_to(self._place if self._place in keys else keys[0])

    def _text(self) -> None:
        comparison = self.comparison
        rule, text = self.query_one("#diff-rule", Rule), self.query_one("#diff-text", DiffText)
        key = self.query_one("#diff-files", RowList).key
        reasons = key == WHY and comparison is not None
        if self.has_class("-why") != reasons:
            focused = self.screen.focused in (text, self.query_one("#diff-why"))
            self.set_class(reasons, "-why")
            if focused:
                self.query_one("#diff-why" if reasons else "#diff-text").focus()
        if comparison is not None and key == WHY:
            rule.show((("why", "strong"), ("  what was believed, predicted, and what came of it", "dim")))
            self.query_one("#diff-why", WrappedText).show(why_lines(comparison.whys), self.wanted)
            return
        file = self.file
        if comparison is None or file is None:
            rule.show(())
            text.show((), "none", plain(_EMPTY, "dim") if self.wanted is None else ())
            return
        reason = comparison.reasons.get(file.path, "")
        text.show(file.hunks, (self.wanted, file.path), own_lines(file, reason))
        rule.show(file_rule(file, text.place))

    @property
    def file(self) -> FileDiff | None:
        """Return the file under the cursor."""
        path = self._selected_path()
        return next((file for file in (self.comparison.files if self.comparison else ()) if file.path == path), None)

    def _selected_path(self) -> str:
        return self.query_one("#diff-files", RowList).key.removeprefix("file ")

    def on_line_list_highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        if own_screen(self).stands and self.comparison is not None and self.comparison.files:
            self._place = self.query_one("#diff-files", RowList).key
            self._text()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.query_one("#diff-why" if event.key == WHY else "#diff-text").focus()

    def on_diff_text_moved(self, event: DiffText.Moved) -> None:
        event.stop()
        file = self.file
        if own_screen(self).stands and file is not None and not self.has_class("-why"):
            self.query_one("#diff-rule", Rule).show(file_rule(file, self.query_one("#diff-text", DiffText).place))

    # Actions

    def do_diff_left(self) -> None:
        self._choose(right=False)

    def do_diff_right(self) -> None:
        self._choose(right=True)

    def _choose(self, *, right: bool) -> None:
        subject = self.view.subject
        if subject is None or not subject.agent_id:
            self.post_message(Said("There is no agent here to compare.", "warn", "o looks at another"))
            return
        agent_id, benchmark_id = subject.agent_id, subject.benchmark_id
        self.post_message(
            ReadWanted(lambda project: _Found(choices(project, agent_id, benchmark_id), right=right), self, "listing")
        )

    def on__found(self, event: _Found) -> None:
        event.stop()
        listed, right = event.listed, event.right
        now = self.wanted[right] if self.wanted else None

        def chosen(key: str) -> None:
            self._take(listed[int(key)].side, right=right)

        at = next((str(place) for place, entry in enumerate(listed) if entry.side == now), "")
        found = [Choice(str(place), entry.name, _about(entry), entry.what[:9]) for place, entry in enumerate(listed)]
        side = "right side: what it became" if right else "left side: what it was"
        self.app.push_screen(PickerScreen(f"Compare: the {side}", found, chosen, at=at))

    def _take(self, side: Side, *, right: bool) -> None:
        """Take a chosen side; the other one follows where it is of another kind."""
        other = self.wanted[not right] if self.wanted else None
        of_benchmark = side.kind in OF_BENCHMARK
        if other is None or (other.kind in OF_BENCHMARK) != of_benchmark or other.kind == "archive":
            kind: Kind = "benchmark" if of_benchmark else "current"
            other = Side(kind, side.agent_id, benchmark_id=side.benchmark_id)
        self.compare(*((other, side) if right else (side, other)))

    def do_diff_swap(self) -> None:
        if self.wanted is not None:
            self.compare(self.wanted[1], self.wanted[0])

    def do_hunk_next(self) -> None:
        self._hunk(1)

    def do_hunk_previous(self) -> None:
        self._hunk(-1)

    def _hunk(self, step: int) -> None:
        """Go on to the next hunk, past the end of a file into the next one."""
        text = self.query_one("#diff-text", DiffText)
        if not self.has_class("-why") and text.step(step):
            return
        if self._file(step):
            text.go_to(0 if step > 0 else 1 << 30)
        else:
            self.post_message(Said(f"There is no hunk {'after' if step > 0 else 'before'} this one."))

    def do_file_next(self) -> None:
        if not self._file(1):
            self.post_message(Said("This is the last file."))

    def do_file_previous(self) -> None:
        if not self._file(-1):
            self.post_message(Said("This is the first file."))

    def _file(self, step: int) -> bool:
        rows = self.query_one("#diff-files", RowList)
        before = rows.key
        rows.select(rows.cursor + step)
        if rows.key == before:
            return False
        self._text()
        return True

    def do_diff_beside(self) -> None:
        self.query_one("#diff-text", DiffText).flip()

    def do_diff_wrap(self) -> None:
        self.query_one("#diff-text", DiffText).wrap_lines()

    def do_scroll_left(self) -> None:
        self.query_one("#diff-text", DiffText).sideways(-1)

    def do_scroll_right(self) -> None:
        self.query_one("#diff-text", DiffText).sideways(1)

    def do_diff_export(self) -> None:
        if self.comparison is None or not self.comparison.files:
            self.post_message(Said("There is no difference to export."))
        else:
            export_patch(self, self.comparison)

    def do_import_shown(self) -> None:
        import_shown(self, self.view, self.comparison)

    # What others ask of a pane

    def copied(self, *, whole: bool) -> tuple[str, str] | None:
        file = self.file
        if file is None:
            return None
        if not whole:
            return file.path, "the path"
        hunk = self.query_one("#diff-text", DiffText).focused_hunk
        return (hunk.text(), "the hunk") if hunk else (f"{file.before_hash} {file.after_hash}", "the hashes")

    def reading(self) -> str:
        from core.state.statediff import patch

        if self.comparison is None:
            return ""
        if self.has_class("-why"):
            return "\n".join("".join(text for text, _ in line) for line in why_lines(self.comparison.whys))
        return patch(self.comparison.files)

    def go_back(self) -> bool:
        if self.comparison is None or self.comparison.right.kind != "archive":
            return False
        self._asked, self.wanted = False, None
        self.redraw()
        self.post_message(Said("Not imported; nothing was changed."))
        return True

    def version_in_sight(self) -> int | None:
        sides = {side.kind: side.version for side in self.wanted or ()}
        return sides.get("snapshot") if "current" in sides else None


def _about(entry: Choosable) -> str:
    return "  ".join(part for part in (local(entry.time) if entry.time else "", entry.about) if part)


_EMPTY = (  # lines of at most 74 cells: here they are not wrapped
    "A comparison shows what differs between two states of an agent: the",
    "present one, a version that is kept, a Candidate that was tried; or a",
    "benchmark as it was frozen and as it is now.",
    "",
    "Nothing is kept of this agent yet. A version is kept when it is measured,",
    "or with n in Versions (5).",
)
