"""A file's differences to read: unified or side by side, only the lines in sight made, words marked in one hunk.

The focused hunk is the one that `n` and `N` went to, or the first in sight once that is scrolled away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.actions import bindings
from tui.screens.base import own_screen
from tui.widgets.ground import Grounded
from tui.widgets.spans import ELLIPSIS, Line, Span, strip_of, width_of, wrap

if TYPE_CHECKING:
    from core.state.hunks import DiffLine, Hunk
    from core.state.words import Spans

BESIDE_FROM = 150
"""Cells of width from which both sides stand beside each other unasked."""
SIDEWAYS = 20
"""Cells that a long line moves by."""
_NO_NEWLINE = "  (no newline at the end)"
_TONES = {"+": ("added", "added.word"), "-": ("removed", "removed.word"), " ": ("plain", "plain")}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row: a text of our own, the head of a hunk (no lines), or a line with what stands beside it."""

    hunk: int
    left: DiffLine | None = None
    right: DiffLine | None = None
    own: Line = ()


class DiffText(ScrollView, Grounded, can_focus=True, inherit_bindings=False):
    """Invariant: `_index` holds each screen line as a row and the piece of it; `hunk` is a hunk of `_hunks`, or 0."""

    DEFAULT_CSS = """
    DiffText { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; scrollbar-color: ansi_bright_black;
               scrollbar-color-hover: ansi_white; scrollbar-color-active: ansi_white;
               scrollbar-background: ansi_default; scrollbar-background-hover: ansi_default;
               scrollbar-background-active: ansi_default; }
    """
    BINDINGS = bindings("list", to="")

    class Moved(Message):
        """Another hunk is focused, or the way it is shown changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.hunk = 0
        self.wraps = False
        self.shift = 0
        self._chosen: bool | None = None
        self._hunks: tuple[Hunk, ...] = ()
        self._own: tuple[Line, ...] = ()
        self._rows: tuple[_Row, ...] = ()
        self._index: list[tuple[int, int]] = []
        self._partners: dict[DiffLine, DiffLine] | None = None
        self._marked: dict[DiffLine, Spans] = {}
        self._digits = 1
        self._key: object = None

    # What is shown

    def show(self, hunks: Sequence[Hunk], key: object, own: Sequence[Line] = ()) -> None:
        """Show a file; `own` lines stand above. Another `key` is another file, shown from its first hunk."""
        if (tuple(hunks), key, tuple(own)) == (self._hunks, self._key, self._own):
            return
        fresh = key != self._key
        self._hunks, self._key, self._own = tuple(hunks), key, tuple(own)
        if fresh:
            self.hunk = self.shift = 0
        self.hunk = min(self.hunk, max(0, len(self._hunks) - 1))
        self._remake()
        if fresh:
            self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()

    @property
    def beside(self) -> bool:
        """Whether both sides stand beside each other."""
        return self.scrollable_content_region.width >= BESIDE_FROM if self._chosen is None else self._chosen

    @property
    def focused_hunk(self) -> Hunk | None:
        """Return the hunk whose words are marked."""
        return self._hunks[self.hunk] if self._hunks else None

    @property
    def place(self) -> str:
        """Return which hunk of how many is focused, and how it is shown."""
        if not self._hunks:
            return ""
        wide = "side by side" if self.beside else "unified"
        return f"hunk {self.hunk + 1} of {len(self._hunks)}, {wide}" + (", wrapped" if self.wraps else "")

    def flip(self) -> None:
        """Show unified what stood side by side, or the other way round; the focused hunk stays in sight."""
        self._chosen = not self.beside
        self.shift = 0
        self._remake()
        self.go_to(self.hunk)

    def wrap_lines(self) -> None:
        """Wrap long lines, or cut them again."""
        self.wraps = not self.wraps
        self.shift = 0
        self._remake()
        self.go_to(self.hunk)

    def sideways(self, step: int) -> None:
        """Move long lines to the left or right."""
        if self.wraps:
            return
        shift = max(0, self.shift + step * SIDEWAYS)
        if shift != self.shift and (step < 0 or shift < self._longest()):
            self.shift = shift
            self.refresh()

    def _longest(self) -> int:
        """Return how many cells the longest line in sight has."""
        top = int(self.scroll_offset.y)
        rows = {row for row, _ in self._index[top : top + self.size.height]}
        lines = [line for row in rows for line in (self._rows[row].left, self._rows[row].right) if line is not None]
        return max((width_of(line.text) for line in lines), default=0)

    def step(self, step: int) -> bool:
        """Go to the next or the hunk before; tell whether there was one."""
        if not 0 <= self.hunk + step < len(self._hunks):
            return False
        self.go_to(self.hunk + step)
        return True

    def go_to(self, number: int) -> None:
        """Focus a hunk and bring its beginning to the top."""
        if not self._hunks:
            self.refresh()
            return
        self._focus_hunk(max(0, min(len(self._hunks) - 1, number)))
        at = next((y for y, (row, _) in enumerate(self._index) if self._rows[row].hunk == self.hunk), 0)
        last = max(0, len(self._index) - self.scrollable_content_region.height)
        self.scroll_to(y=min(last, at), animate=False, immediate=True)
        self.refresh()

    def _focus_hunk(self, number: int) -> None:
        self.hunk = number
        self._partners = None
        self._marked = {}
        self.post_message(self.Moved())

    def _remake(self) -> None:
        from core.state.hunks import paired

        rows = [_Row(-1, own=line) for line in self._own]
        for number, hunk in enumerate(self._hunks):
            if rows:
                rows.append(_Row(-1))
            rows.append(_Row(number))
            if self.beside:
                rows += [_Row(number, left, right) for left, right in paired(hunk)]
            else:
                rows += [
                    _Row(number, line if line.sign != "+" else None, line if line.sign != "-" else None)
                    for line in hunk.lines
                ]
        self._rows = tuple(rows)
        last = [line for hunk in self._hunks[-1:] for line in hunk.lines]
        self._digits = len(str(max((line.old or line.new or 0 for line in last), default=0) + 1))
        self._digits = max(self._digits, len(str(max((line.new or 0 for line in last), default=0))))
        room = self._room()
        self._index = [
            (number, piece)
            for number, row in enumerate(rows)
            for piece in range(self._height(row, room) if self.wraps or row.own else 1)
        ]
        self.virtual_size = Size(1, len(self._index))
        self._focus_hunk(self.hunk)

    # Drawing

    def _room(self) -> int:
        """Return the cells for the text of a line: of one side, where both stand beside each other."""
        width = self.scrollable_content_region.width - 1
        if self.beside:
            return max(4, (width - 1) // 2 - self._digits - 3)
        return max(4, width - 2 * self._digits - 4)

    def _height(self, row: _Row, room: int) -> int:
        if row.own:
            return len(wrap(row.own, max(4, self.scrollable_content_region.width - 2), 2))
        lines = [line for line in (row.left, row.right) if line is not None]
        return max((self._pieces(line, room) for line in lines), default=1)

    def _pieces(self, line: DiffLine, room: int) -> int:
        if len(line.text) <= room and line.ended and line.text.isascii() and line.text.isprintable():
            return 1  # as most lines are; wrapping thousands would be felt
        return len(wrap(self._text(line), room))

    def _text(self, line: DiffLine, marked: Spans = ()) -> Line:
        tone, word = _TONES[line.sign]
        spans: list[Span] = []
        at = 0
        for start, end in marked:
            spans += [(line.text[at:start], tone), (line.text[start:end], word)]
            at = end
        spans.append((line.text[at:], tone))
        if not line.ended:
            spans.append((_NO_NEWLINE, "warn"))
        return tuple(span for span in spans if span[0])

    def _words(self, line: DiffLine) -> Spans:
        """Return the changed words of a line of the focused hunk; found when it is drawn first."""
        from core.state.hunks import marks, partners

        if self._partners is None:
            self._partners = partners(self._hunks[self.hunk])
        found = self._marked.get(line)
        if found is None:
            partner = self._partners.get(line)
            found = self._marked[line] = () if partner is None else marks(line, partner)
        return found

    def _cell(self, line: DiffLine, hunk: int, piece: int, room: int) -> Strip:
        """Return a line's text in exactly `room` cells: one piece of it, or moved sideways and cut with a mark."""
        base = self.rich_style
        text = self._text(line, self._words(line) if hunk == self.hunk else ())
        if self.wraps:
            pieces = wrap(text, room)
            return strip_of(pieces[piece] if piece < len(pieces) else (), room, base)
        text = _start_of(text, self.shift + room)
        total = sum(width_of(part) for part, _ in text)
        if total <= room and not self.shift:
            return strip_of(text, room, base)
        strip = strip_of(text, max(total, self.shift + room), base).crop(self.shift, self.shift + room)
        dim = strip_of(((ELLIPSIS, "dim"),), 1, base)
        if self.shift and total:
            strip = Strip.join([dim, strip.crop(1, room)])
        if total > self.shift + room:
            strip = Strip.join([strip.crop(0, room - 1), dim])
        return strip

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        at = y + int(self.scroll_offset.y)
        base = self.rich_style
        if not 0 <= at < len(self._index):
            return strip_of((), width, base)
        number, piece = self._index[at]
        row = self._rows[number]
        gutter: Span = (" ", "plain")
        if row.hunk == self.hunk:
            gutter = ("▌" if self.has_focus else "▏", "accent")
        if row.own:
            pieces = wrap(row.own, max(4, width - 2), 2)
            return strip_of((gutter, *pieces[min(piece, len(pieces) - 1)]), width, base)
        if row.left is None and row.right is None:
            return strip_of((gutter, *self._head(row)), width, base)
        return self._pair(row, gutter, piece, width) if self.beside else self._one(row, gutter, piece, width)

    def _head(self, row: _Row) -> Line:
        if row.hunk < 0:
            return ()
        hunk = self._hunks[row.hunk]
        counts = f"  +{hunk.counted('+')} -{hunk.counted('-')}"
        return ((hunk.head, "accent"), (counts, "dim"))

    def _one(self, row: _Row, gutter: Span, piece: int, width: int) -> Strip:
        line = row.left or row.right
        assert line is not None
        digits = self._digits
        numbers = f"{line.old or '':>{digits}} {line.new or '':>{digits}} " if not piece else " " * (2 * digits + 2)
        head: Line = (gutter, (numbers, "dim"), (f"{line.sign} ", _TONES[line.sign][0]))
        text = self._cell(line, row.hunk, piece, self._room())
        return _filled([strip_of(head, 2 * digits + 5, self.rich_style), text], width, self.rich_style)

    def _pair(self, row: _Row, gutter: Span, piece: int, width: int) -> Strip:
        base, room, digits = self.rich_style, self._room(), self._digits
        half = room + digits + 3
        parts = [strip_of((gutter,), 1, base)]
        for side, line in enumerate((row.left, row.right)):
            if side:
                parts.append(strip_of((("│", "dim"),), 1, base))
            if line is None:
                parts.append(strip_of((), half, base))
                continue
            count = line.new if side else line.old
            number = f"{count or '':>{digits}} " if not piece else " " * (digits + 1)
            parts.append(strip_of(((number, "dim"), (f"{line.sign} ", _TONES[line.sign][0])), digits + 3, base))
            parts.append(self._cell(line, row.hunk, piece, room))
        return _filled(parts, width, base)

    # Moving

    def on_resize(self) -> None:
        self._remake()
        self.refresh()

    def on_focus(self) -> None:
        self._paint_gutter()

    def on_blur(self) -> None:
        self._paint_gutter()

    def _paint_gutter(self) -> None:
        self.refresh(Region(0, 0, 1, self.size.height))

    def action_do(self, action_id: str) -> None:
        """Scroll; anything else goes to the screen."""
        page = max(1, self.scrollable_content_region.height - 1)
        top = int(self.scroll_offset.y)
        moves = {
            "nav.up": top - 1,
            "nav.down": top + 1,
            "nav.page_up": top - page,
            "nav.page_down": top + page,
            "nav.home": 0,
            "nav.end": len(self._index),
        }
        if action_id in moves:
            last = max(0, len(self._index) - self.scrollable_content_region.height)
            self.scroll_to(y=max(0, min(last, moves[action_id])), animate=False, immediate=True)
            self._follow()
        elif action_id not in ("open", "filter"):
            own_screen(self).run_action_by_id(action_id)

    def _follow(self) -> None:
        """Focus the first hunk in sight, where the focused one is not."""
        top = int(self.scroll_offset.y)
        seen = self._index[top : top + self.scrollable_content_region.height]
        hunks = [self._rows[row].hunk for row, _ in seen if self._rows[row].hunk >= 0]
        if hunks and self.hunk not in hunks:
            self._focus_hunk(hunks[0])
            self.refresh()


def _start_of(line: Line, cells: int) -> Line:
    """Return as much of a line as can matter for its first `cells`: a line of megabytes costs no more than a screen."""
    most = 4 * cells + 64
    if sum(len(text) for text, _ in line) <= most:
        return line
    kept: list[Span] = []
    for text, tone in line:
        kept.append((text[:most], tone))
        most -= len(text)
        if most <= 0:
            break
    return tuple(kept)


def _filled(parts: list[Strip], width: int, base: Style) -> Strip:
    strip = Strip.join(parts)
    return strip.crop_extend(0, width, base)
