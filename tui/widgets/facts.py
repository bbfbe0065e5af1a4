"""A few rows of text that follow a cursor: only the part of a row that changed is painted."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Region
from textual.strip import Strip

from tui.widgets.ground import Grounded
from tui.widgets.spans import Line, strip_of, width_of


class Facts(Grounded):
    """Rows that are cut at the right, not wrapped."""

    DEFAULT_CSS = "Facts { height: auto; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show rows, painting of each what differs from what was there."""
        old, self._lines = self._lines, tuple(lines)
        for y in range(max(len(old), len(self._lines))):
            before, after = (rows[y] if y < len(rows) else () for rows in (old, self._lines))
            if before != after:
                start = _shared(before, after)
                end = max(_width(before), _width(after))
                self.refresh(Region(start, y, max(1, end - start + 1), 1))

    def render_line(self, y: int) -> Strip:
        return strip_of(self._lines[y] if y < len(self._lines) else (), self.size.width, self.rich_style)


def _width(line: Line) -> int:
    return sum(width_of(text) for text, _ in line)


def _shared(before: Line, after: Line) -> int:
    """Return the cells that two lines begin with alike."""
    cells = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        cells += width_of(one[0])
    return cells
