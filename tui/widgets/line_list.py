"""A list drawn line by line: only what is visible is made, only what changed is painted (TERMINAL 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from tui.actions import bindings
from tui.screens.base import hand_up, own_screen
from tui.widgets.ground import Grounded
from tui.widgets.spans import Line, strip_of

GUTTER = 2
HELD_S, RESTED_S = 0.05, 0.07
"""A key that comes again sooner than HELD_S is held; a cursor rests where no key came for RESTED_S."""
TRAIL_S = 0.15
"""After so long a rest a list that `trails` tells where its cursor stands, also for single moves."""
_CURSOR = Style(reverse=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its key keeps the cursor on it while rows come and go; `find` is the text that a filter looks in."""

    key: str
    lines: tuple[Line, ...]
    selectable: bool = True
    find: str = ""


def is_wanted(text: str, wanted: str) -> bool:
    """Tell whether a filter lets `text` through: it holds each word of `wanted` in any case, those after a `!` not."""
    text = text.casefold()
    words = wanted.casefold().split()
    return all((word.removeprefix("!") in text) != word.startswith("!") for word in words if word != "!")


class LineList(ScrollView, Grounded, can_focus=True, inherit_bindings=False):
    """A list of rows of equal height. Subclasses say how many there are and what each looks like.

    While a key is held only the cursor moves; what others show of its row (`Highlighted`) follows once it rests, or
    once another key is pressed. A list that `trails` has much shown beside it: there it follows single moves after
    TRAIL_S too, so that passing over rows costs a slow link only the cursor.

    Invariant: `cursor` is a selectable row, or 0 where there is none.
    """

    DEFAULT_CSS = """
    LineList { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; scrollbar-color: ansi_bright_black;
               scrollbar-color-hover: ansi_white; scrollbar-color-active: ansi_white;
               scrollbar-background: ansi_default; scrollbar-background-hover: ansi_default;
               scrollbar-background-active: ansi_default; }
    """
    BINDINGS = bindings("list", to="")
    row_height = 1
    trails = False

    class Highlighted(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: LineList, key: str) -> None:
            self.rows, self.key = rows, key
            super().__init__()

        @property
        def control(self) -> LineList:
            return self.rows

    class Opened(Highlighted):
        """Enter on a row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.cursor = 0
        self._pressed: tuple[str, float, int] = ("", 0.0, 0)  # the key, when, and how often it came again at once
        self._rest: Timer | None = None
        self._is_moving = False

    # What subclasses say

    def row_count(self) -> int:
        """Return the number of rows."""
        raise NotImplementedError

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        """Return the lines of a row, at most `row_height`, for `width` cells."""
        raise NotImplementedError

    def row_key(self, index: int) -> str:
        """Return the key of a row."""
        return str(index)

    def is_selectable(self, index: int) -> bool:
        """Tell whether the cursor may stand on a row."""
        return True

    # Drawing

    @property
    def inner_width(self) -> int:
        """Cells that a row has for itself, beside the cursor's gutter."""
        return max(1, self.scrollable_content_region.width - GUTTER)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        index, part = divmod(y + int(self.scroll_offset.y), self.row_height)
        base = self.rich_style
        if not 0 <= index < self.row_count():
            return strip_of((), width, base)
        lines = self.row_lines(index, max(1, width - GUTTER))
        line = lines[part] if part < len(lines) else ()
        here = index == self.cursor and self.is_selectable(index)
        gutter = ("> " if part == 0 else "  ") if here else "  "
        over = _CURSOR if here and self.has_focus else None
        return strip_of(((gutter, "strong"), *line), width, base, over)

    def resized(self) -> None:
        """Tell the scroll bars how many lines there are now."""
        height = self.row_count() * self.row_height
        if self.virtual_size.height != height:
            self.virtual_size = Size(1, height)

    def paint_row(self, index: int) -> None:
        """Paint one row anew, where it is visible."""
        top = index * self.row_height - int(self.scroll_offset.y)
        self.refresh(Region(0, top, self.size.width, self.row_height))

    def on_resize(self) -> None:
        """Keep the row under the cursor in sight, or bring it there where it was chosen before there was any room.

        Textual calls it after a subclass's own.
        """
        if self.cursor < self.row_count() and self.is_selectable(self.cursor):
            self.select(self.cursor)

    def on_focus(self) -> None:
        self.paint_row(self.cursor)

    def on_blur(self) -> None:
        self.paint_row(self.cursor)

    # Moving

    def select(self, index: int, *, tell: bool = True) -> None:
        """Put the cursor on a row, or the nearest that it may stand on; jump half a page where it is out of sight."""
        count = self.row_count()
        if not count:
            self.cursor = 0
            return
        index = self._nearest(max(0, min(count - 1, index)), 1 if index >= self.cursor else -1)
        old, self.cursor = self.cursor, index
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height
        first, last = index * self.row_height, (index + 1) * self.row_height - 1
        if height > 0 and not (top <= first and last < top + height):
            # Half a page at once, so that a held key repaints the list once for many rows.
            self.scroll_to(y=max(0, first - height // 2), animate=False, immediate=True)
        if old != index:
            self.paint_row(old)
            self.paint_row(index)
            if tell:
                self._tell()

    def on_key(self, event: events.Key) -> None:
        """Notice a key that is held, and tell what is still to be told before another one does anything."""
        key, moment, often = self._pressed
        again = event.key == key and event.time - moment < HELD_S
        self._pressed = (event.key, event.time, often + 1 if again else 0)
        if self._rest is not None and not again and not (self.trails and self._is_move(event.key)):
            self._rested()

    def _is_move(self, key: str) -> bool:
        found = self._bindings.key_to_bindings.get(key, ())
        return any((binding.id or "").startswith("nav.") for binding in found)

    def _tell(self) -> None:
        """Tell on which row the cursor stands: at once, or once it rests where a key is held or the list trails."""
        trails = self.trails and self._is_moving
        if self._pressed[2] < 2 and not trails:
            self._rested()
        elif self._rest is None:
            self._rest = self.set_timer(TRAIL_S if trails else RESTED_S, self._rested)
        else:
            self._rest.reset()

    def _rested(self) -> None:
        rest, self._rest = self._rest, None
        if rest is not None:
            rest.stop()
        if self.cursor < self.row_count():
            hand_up(self, self.Highlighted(self, self.row_key(self.cursor)))

    def _nearest(self, index: int, step: int) -> int:
        for direction in (step, -step):
            at = index
            while 0 <= at < self.row_count():
                if self.is_selectable(at):
                    return at
                at += direction
        return index

    def action_do(self, action_id: str) -> None:
        """Do an action of the list's own scope; what a list does not know goes to the screen."""
        page = max(1, self.scrollable_content_region.height // self.row_height - 1)
        moves: dict[str, int] = {
            "nav.up": self.cursor - 1,
            "nav.down": self.cursor + 1,
            "nav.page_up": self.cursor - page,
            "nav.page_down": self.cursor + page,
            "nav.home": 0,
            "nav.end": self.row_count() - 1,
        }
        if action_id in moves:
            self._is_moving = True
            self.select(moves[action_id])
            self._is_moving = False
        elif action_id == "open":
            if self.row_count() and self.is_selectable(self.cursor):
                self.post_message(self.Opened(self, self.row_key(self.cursor)))
        else:
            own_screen(self).run_action_by_id(action_id)


class RowList(LineList):
    """A list whose rows are all made at once, for the width it has; made anew when either changes."""

    def __init__(self, *, height: int = 1, trails: bool = False, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.row_height = height
        self.trails = trails
        self.filter = ""
        self._make: Callable[[int], Sequence[Row]] | None = None
        self._rows: tuple[Row, ...] = ()
        self._width = -1

    def show(self, make: Callable[[int], Sequence[Row]]) -> None:
        """Show what `make` gives for a width. The cursor stays on its row; rows that look the same aren't painted."""
        self._make = make
        self._remake()

    @property
    def key(self) -> str:
        """Key of the row under the cursor, "" where there is none."""
        return self._rows[self.cursor].key if self.cursor < len(self._rows) else ""

    def go_to(self, key: str) -> None:
        """Put the cursor on the row with `key`, if there is one."""
        index = next((index for index, row in enumerate(self._rows) if row.key == key), None)
        if index is not None:
            self.select(index)

    def set_filter(self, text: str) -> None:
        """Show only rows that hold `text` (with `!` in front: that don't), in any case; headings stay."""
        self.filter = text
        self._remake()

    def _remake(self) -> None:
        if self._make is None:
            return
        new = self._made()
        old, key = self._rows, self.key
        self._rows = new
        self.resized()
        at = next((index for index, row in enumerate(new) if row.key == key), None)
        moved = at is None
        self.cursor = self._nearest(min(self.cursor, max(0, len(new) - 1)) if at is None else at, 1)
        if [row.key for row in old] == [row.key for row in new]:
            for index, (before, after) in enumerate(zip(old, new, strict=True)):
                if before != after:
                    self.paint_row(index)
        else:
            self.refresh()
            self.call_after_refresh(lambda: self.select(self.cursor))
        if moved and new:
            self.post_message(self.Highlighted(self, self.key))

    def _made(self) -> tuple[Row, ...]:
        assert self._make is not None
        self._width = self.inner_width
        return tuple(row for row in self._make(self._width) if not row.selectable or is_wanted(row.find, self.filter))

    def on_resize(self) -> None:
        if self._width != self.inner_width:
            self._remake()

    def render_line(self, y: int) -> Strip:
        if self._make is not None and self._width != self.inner_width:
            # Drawn at a new width before anyone was told of it: the first picture of a screen already fits.
            made = self._made()
            if [row.key for row in made] == [row.key for row in self._rows]:
                self._rows = made
            # A scroll bar that came or went tells nobody of the new width, and this may be the only line that is drawn.
            self.call_after_refresh(self._settle)
        return super().render_line(y)

    def _settle(self) -> None:
        """Make and draw all rows for the width that a line was drawn at."""
        self._remake()
        self.refresh()

    def row_count(self) -> int:
        return len(self._rows)

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        return self._rows[index].lines

    def row_key(self, index: int) -> str:
        return self._rows[index].key

    def is_selectable(self, index: int) -> bool:
        return self._rows[index].selectable
