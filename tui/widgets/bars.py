"""One-row widgets: the status row, titles of panes, tabs, the footer."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from tui.widgets.ground import Grounded
from tui.widgets.spans import Line, strip_of, two_sided


class Bar(Grounded):
    """A row of text with two sides; painted only when it changes."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None, reverse: bool = False) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._left: Line = ()
        self._right: Line = ()
        self._reverse = reverse

    def show(self, left: Line, right: Line = ()) -> None:
        """Show `left` and `right`, which keeps its place where there is too little."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def is_reverse(self) -> bool:
        """Tell whether the row is drawn in reverse."""
        return self._reverse

    def render_line(self, y: int) -> Strip:
        if y:
            return strip_of((), self.size.width, self.rich_style)
        line = two_sided(self._left, self._right, self.size.width) if self._right else self._left
        over = Style(reverse=True) if self.is_reverse() else None
        return strip_of(line, self.size.width, self.rich_style, over)


class PaneTitle(Bar):
    """The title of a pane: its name is in reverse while the focus is in it."""

    def render_line(self, y: int) -> Strip:
        if self._left and self.parent is not None and self.parent.has_pseudo_class("focus-within"):
            name = self._left[0][0]
            line = two_sided(((name, "bar"), *self._left[1:]), self._right, self.size.width)
            return strip_of(line, self.size.width, self.rich_style)
        return super().render_line(y)


class Rule(Bar):
    """A thin line with a word in it, between two parts of a pane."""

    def render_line(self, y: int) -> Strip:
        used = sum(len(text) for text, _ in self._left)
        fill = max(0, self.size.width - used - 4)
        head: Line = (("── ", "dim"), *self._left, (" " + "─" * fill, "dim")) if self._left else (("─" * 999, "dim"),)
        return strip_of(head, self.size.width, self.rich_style)
