"""Lanes over time, drawn line by line: a name, blocks as high as the lane was busy, and what it took altogether."""

from __future__ import annotations

from datetime import datetime

from textual.message import Message
from textual.strip import Strip

from tui.palette import STEPS
from tui.screens.base import hand_up
from tui.stores.trace_lanes import LaneRow, LanesView, Mark, cells
from tui.stores.trace_words import duration
from tui.widgets.line_list import GUTTER, LineList
from tui.widgets.spans import Line, Span, fit, strip_of

_TOTAL = 9
_CLOSEST_MS = 10


class Lanes(LineList):
    """The cursor is on a mark of a lane: up and down change the lane, `step` goes along it.

    Invariant: `mark` is a place in the marks of the lane at the cursor, or 0 where it has none; `_from` and `_to` are
    the part of the time that is drawn, within that of the view.
    """

    class Moved(Message):
        """The cursor stands on another mark."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.view: LanesView | None = None
        self.mark = 0
        self._from = self._to = 0.0
        self._cells: dict[tuple[int, int], list[tuple[float, str]]] = {}

    def show(self, view: LanesView | None) -> None:
        """Show lanes from the first mark of the first lane; the same ones again stay where they are."""
        old, self.view = self.view, view
        same = old is not None and view is not None and (old.session_id, old.of_tree) == (view.session_id, view.of_tree)
        if not same:
            self.cursor, self.mark = 1, 0
            self.scroll_to(y=0, animate=False, immediate=True)
        if view is not None and (
            not same or (self._from, self._to) == (old.begin if old else 0, old.end if old else 0)
        ):
            self._from, self._to = float(view.begin), float(max(view.end, view.begin + 1))
        self._cells.clear()
        self.resized()
        self.refresh()
        self.post_message(self.Moved())

    # What it holds

    def row_count(self) -> int:
        return len(self.view.rows) + 1 if self.view is not None else 0

    def is_selectable(self, index: int) -> bool:
        return index > 0

    @property
    def lane(self) -> LaneRow | None:
        """The lane at the cursor."""
        rows = self.view.rows if self.view is not None else ()
        return rows[self.cursor - 1] if 0 < self.cursor <= len(rows) else None

    @property
    def selected(self) -> Mark | None:
        """The mark at the cursor."""
        lane = self.lane
        return lane.marks[self.mark] if lane is not None and self.mark < len(lane.marks) else None

    # Drawing

    def _name_width(self, width: int) -> int:
        return max(12, min(44, width * 2 // 5)) if self.view is not None and self.view.of_tree else 12

    def _track(self, width: int) -> int:
        return max(4, width - self._name_width(width) - _TOTAL - 1)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        index = y + int(self.scroll_offset.y)
        if self.view is None or not 0 <= index < self.row_count():
            return strip_of((), width, self.rich_style)
        inner = max(1, width - GUTTER)
        if index == 0:
            return strip_of((("  ", "plain"), *self._axis(inner)), width, self.rich_style)
        here = index == self.cursor
        gutter: Span = ("> " if here else "  ", "strong")
        return strip_of((gutter, *self._lane_line(index - 1, inner, here=here)), width, self.rich_style)

    def _lane_line(self, place: int, width: int, *, here: bool) -> Line:
        assert self.view is not None
        lane, track = self.view.rows[place], self._track(width)
        line: list[Span] = [(fit(lane.name, self._name_width(width)), "strong" if here else lane.tone)]
        mark = self.selected if here else None
        chosen = self._cells_of(mark, track) if mark is not None else range(0)
        for at, (busy, tone) in enumerate(self._drawn(place, track)):
            sign = STEPS[0] if busy < 0 else " " if not busy else STEPS[max(0, min(7, int(busy * 8)))]
            if at in chosen:
                line.append((sign, "bar" if self.has_focus else "mark"))
            elif len(line) > 1 and line[-1][1] == tone:
                line[-1] = (line[-1][0] + sign, tone)
            else:
                line.append((sign, tone))
        line.append((fit(lane.total, _TOTAL, right=True), "plain"))
        return tuple(line)

    def _drawn(self, place: int, track: int) -> list[tuple[float, str]]:
        assert self.view is not None
        key = (place, track)
        if key not in self._cells:
            if len(self._cells) > 400:
                self._cells.clear()
            self._cells[key] = cells(self.view.rows[place], self._from, self._to, track)
        return self._cells[key]

    def _cells_of(self, mark: Mark, track: int) -> range:
        step = (self._to - self._from) / track
        first = int((mark.start - self._from) // step)
        last = max(first, int((mark.end - 0.001 - self._from) // step))
        return range(max(0, first), min(track, last + 1))

    def _axis(self, width: int) -> Line:
        """Return the moment at the left edge and how far it is from there to each tick."""
        assert self.view is not None
        track, name = self._track(width), self._name_width(width)
        began = datetime.fromtimestamp(self._from / 1000).astimezone().strftime("%H:%M:%S") if self._from else ""
        text = ""
        step = max(12, track // 5)
        for cell in range(0, track - 8, step):
            label = f"|{duration((self._to - self._from) / track * cell)}" if cell else "|0"
            text = fit(text, cell) + label
        return ((fit(began, name), "dim"), (fit(text, track), "dim"), (fit("took", _TOTAL, right=True), "dim"))

    # Moving

    def select(self, index: int, *, tell: bool = True) -> None:
        """Go to another lane, to its mark nearest in time."""
        before, moment = self.cursor, self.selected.start if self.selected is not None else self._from
        super().select(index, tell=False)
        if self.cursor != before and self.lane is not None:
            self.mark = self.lane.at(moment)
            self._tell()

    def step(self, step: int) -> None:
        """Go along the lane, and draw the part of the time where the mark is."""
        lane = self.lane
        if lane is None or not lane.marks:
            return
        self.mark = max(0, min(len(lane.marks) - 1, self.mark + step))
        mark = lane.marks[self.mark]
        if not self._from <= mark.start <= self._to:
            half = (self._to - self._from) / 2
            self._look(mark.start - half, mark.start + half)
        self._tell()

    def step_to_failure(self, step: int) -> bool:
        """Go along the lane to the next mark that failed; tell whether there is one."""
        lane = self.lane
        at = self.mark + step
        while lane is not None and 0 <= at < len(lane.marks):
            if lane.marks[at].tone == "bad":
                self.step(at - self.mark)
                return True
            at += step
        return False

    def zoom(self, factor: float) -> None:
        """Draw a part of the time `factor` as long, around the mark at the cursor."""
        mark = self.selected
        middle = (mark.start + mark.end) / 2 if mark is not None else (self._from + self._to) / 2
        half = max(_CLOSEST_MS, (self._to - self._from) * factor) / 2
        self._look(middle - half, middle + half)

    def _look(self, begin: float, end: float) -> None:
        if self.view is None:
            return
        length = min(end - begin, max(1.0, float(self.view.end - self.view.begin)))
        begin = max(float(self.view.begin), min(begin, self.view.end - length))
        self._from, self._to = begin, begin + length
        self._cells.clear()
        self.refresh()

    def _tell(self) -> None:
        self.paint_row(self.cursor)
        hand_up(self, self.Moved())

    def on_resize(self) -> None:
        self._cells.clear()
