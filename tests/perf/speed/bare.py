"""The yardstick: the least that a Textual program can be that shows a list of 500 rows, drawn line by line.

python -P tests/perf/speed/bare.py
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

ROWS = 500
_HERE = Style(reverse=True)
_PLAIN = Style()


class Rows(ScrollView, can_focus=True):
    """A list with a cursor; half a page at once where it leaves the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)"),
        Binding("up", "move(-1)"),
        Binding("pagedown", "move(30)"),
        Binding("pageup", "move(-30)"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.cursor = 0
        self.virtual_size = Size(100, ROWS)

    def render_line(self, y: int) -> Strip:
        row = y + int(self.scroll_offset.y)
        style = _HERE if row == self.cursor else _PLAIN
        text = f"row {row:04d}  case-{row % 200:03d}  run {row % 10}  score {row * 37 % 100:5.1f}  some words of it"
        return Strip([Segment(text.ljust(self.size.width)[: self.size.width], style)], self.size.width)

    def action_move(self, step: int) -> None:
        """Go up or down."""
        old, self.cursor = self.cursor, max(0, min(ROWS - 1, self.cursor + step))
        top, height = int(self.scroll_offset.y), self.size.height
        if not top <= self.cursor < top + height:
            self.scroll_to(y=max(0, self.cursor - height // 2), animate=False, immediate=True)
        for row in (old, self.cursor):
            self.refresh(Region(0, row - int(self.scroll_offset.y), self.size.width, 1))


class Bare(App[None]):
    """Nothing but the list."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "quit")]

    def compose(self) -> ComposeResult:
        yield Rows()


if __name__ == "__main__":
    Bare().run(mouse=False)
