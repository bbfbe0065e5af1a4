"""A text to read: wrapped to the width it has, scrolled by line, drawn only where visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tui.actions import bindings
from tui.screens.base import own_screen
from tui.widgets.ground import Grounded
from tui.widgets.spans import Line, strip_of, wrap


class WrappedText(ScrollView, Grounded, can_focus=True, inherit_bindings=False):
    """Invariant: `_wrapped` are `_lines` broken for the width at hand."""

    DEFAULT_CSS = """
    WrappedText { height: 1fr; scrollbar-size-vertical: 1; overflow: hidden scroll; scrollbar-color: ansi_bright_black;
                  scrollbar-color-hover: ansi_white; scrollbar-color-active: ansi_white;
                  scrollbar-background: ansi_default; scrollbar-background-hover: ansi_default;
                  scrollbar-background-active: ansi_default; }
    """
    BINDINGS = bindings("list", to="")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()
        self._wrapped: list[Line] = []
        self._key: object = None

    def show(self, lines: Sequence[Line], key: object = None) -> None:
        """Show a text; another `key` means another text, which is shown from its start."""
        if tuple(lines) == self._lines and key == self._key:
            return
        self._lines = tuple(lines)
        before, top = self._wrapped, self.scroll_offset.y
        self._wrap()
        if key != self._key:
            self._key = key
            self.scroll_to(y=0, animate=False, immediate=True)
        if self.scroll_offset.y == top:
            self._paint_changed(before)
        else:
            self.refresh()

    def _paint_changed(self, before: Sequence[Line]) -> None:
        """Paint the lines in sight that are others than `before`."""
        top, width, now = int(self.scroll_offset.y), self.size.width, self._wrapped
        for y in range(self.size.height):
            at = top + y
            if before[at : at + 1] != now[at : at + 1]:
                self.refresh(Region(0, y, width, 1))

    def bring(self, is_wanted: Callable[[str], bool]) -> None:
        """Scroll to the first line whose text is wanted, where there is one; what is wanted may be broken over two."""
        texts = ["".join(text for text, _ in line) for line in self._wrapped]
        at = next((index for index, text in enumerate(texts) if is_wanted(text)), None)
        if at is None:
            pairs = ((one.rstrip(), next_one.lstrip()) for one, next_one in pairwise(texts))
            at = next(
                (index for index, (one, two) in enumerate(pairs) if is_wanted(f"{one} {two}") or is_wanted(one + two)),
                None,
            )
        if at is not None:
            self.scroll_to(y=max(0, at - 2), animate=False, immediate=True)

    def _wrap(self) -> None:
        width = max(1, self.scrollable_content_region.width - 1)
        self._wrapped = [piece for line in self._lines for piece in wrap(line, width, _indent(line))]
        # The column of the scroll bar is always there, so nothing else moves where the height changes; without this
        # Textual would lay the whole screen out again for each text.
        size = Size(1, max(len(self._wrapped), self.scrollable_content_region.height))
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)

    def on_resize(self) -> None:
        self._wrap()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        index = y + int(self.scroll_offset.y)
        line = self._wrapped[index] if 0 <= index < len(self._wrapped) else ()
        gutter = "▏" if self.has_focus else " "
        return strip_of(((gutter, "accent"), *line), self.scrollable_content_region.width, self.rich_style)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

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
            "nav.end": len(self._wrapped),
        }
        if action_id in moves:
            last = max(0, len(self._wrapped) - self.scrollable_content_region.height)
            self.scroll_to(y=max(0, min(last, moves[action_id])), animate=False, immediate=True)
        elif action_id not in ("open", "filter"):
            own_screen(self).run_action_by_id(action_id)


def _indent(line: Line) -> int:
    """Return how far continuation lines are indented: behind a label, else as far as the line itself."""
    text = line[0][0] if line else ""
    if len(line) > 1 and text.endswith(" ") and len(text) <= 14:
        return len(text)
    return min(12, len(text) - len(text.lstrip(" ")))
