"""The records of the open trace, one row each; only those in sight are read."""

from __future__ import annotations

import re

from tui.stores.trace import OpenTrace
from tui.stores.trace_facts import Facts
from tui.stores.trace_search import Finding
from tui.stores.trace_words import count, duration, usd
from tui.widgets.line_list import LineList
from tui.widgets.spans import Line, Span, clean, fit, width_of

KIND_TONES = {"model": "strong", "calls": "call", "gap": "bad", "abort": "bad"}
_NUMBERS_FROM = 58  # cells from which times and tokens have room
_ALL_FROM = 106
_PATH = re.compile(r"/\S{24,}")
_LEAST_OF_PATH = 20


class TraceLines(LineList):
    """Rows are entries: all of them, or with `folded` those that are more than bookkeeping.

    Invariant: `_shown` is how many rows there are; it follows the trace unless the list is held.
    """

    trails = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.trace: OpenTrace | None = None
        self.folded = True
        self.held = False
        self.finding: Finding | None = None
        self._shown = 0
        self._from_end = False

    def open(self, trace: OpenTrace | None, *, at_end: bool = False) -> None:
        """Show another trace from its start, or `at_end` from its end, which is followed while it is still read."""
        self.trace, self.held, self.finding = trace, False, None
        self._from_end = at_end
        self.cursor = 0
        self._shown = self._rows_there()
        self.resized()
        self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()
        if at_end:
            self.select(self._shown - 1)

    def grown(self) -> None:
        """Show what was appended, unless it is held; a cursor on the last record stays on the last."""
        if self.trace is None or self.held:
            return
        before, self._shown = self._shown, self._rows_there()
        at_end = self.cursor >= before - 1 and before > 0
        if self._shown < before:
            self.cursor = max(0, min(self.cursor, self._shown - 1))
        self.resized()
        bottom = int(self.scroll_offset.y) + self.scrollable_content_region.height
        if before < bottom or self._shown < before or len(str(before)) != len(str(self._shown)):
            self.refresh()  # else nothing in sight is another
        if at_end and (self.trace.is_whole or self._from_end):
            self.call_after_refresh(self.select, self._shown - 1)

    @property
    def new(self) -> int:
        """Rows that came while the list was held."""
        return self._rows_there() - self._shown

    def hold(self, held: bool) -> None:
        """Show nothing new until the list goes on."""
        self.held = held
        self.grown()

    def fold(self, folded: bool) -> None:
        """Fold the bookkeeping away, or show it; the cursor stays on its entry, or goes to the next that is there."""
        number = self.number
        self.folded = folded
        self._shown = self._rows_there()
        self.resized()
        self.refresh()
        self.go_to(number)

    def _rows_there(self) -> int:
        if self.trace is None:
            return 0
        return len(self.trace.unfolded) if self.folded else len(self.trace)

    # Numbers of entries and rows

    @property
    def number(self) -> int:
        """Number of the entry under the cursor, 0 where there is none."""
        return self.number_at(self.cursor)

    def number_at(self, row: int) -> int:
        """Return the number of the entry in a row."""
        if self.trace is None or not 0 <= row < self._shown:
            return 0
        return self.trace.unfolded[row] if self.folded else row

    def go_to(self, number: int) -> None:
        """Put the cursor on an entry; where it is folded away, on the next row."""
        if self.trace is not None:
            self.select(self.trace.row_of(number) if self.folded else number)

    def row_count(self) -> int:
        return self._shown

    def row_key(self, index: int) -> str:
        return str(self.number_at(index))

    # Drawing

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        assert self.trace is not None
        number = self.number_at(index)
        line = self.trace.line(number)
        tone = "plain" if line.tone == "call" else line.tone
        found = self.finding is not None and self.finding.holds(number)
        digits = len(str(len(self.trace)))
        spans: list[Span] = [
            (fit(str(number), digits, right=True), "found" if found else "dim"),
            (f" {line.time} ", "dim"),
            (fit(line.kind, 9), KIND_TONES.get(line.kind, line.tone)),
        ]
        if width >= _NUMBERS_FROM:
            spans += numbers_of(self.trace.facts(number), width)
        words = line.text
        if line.kind == "calls":
            words = with_end_of_path(words, width - sum(width_of(part) for part, _ in spans))
        text: Line = ((words, tone),)
        pattern = self.finding.query.pattern if found and self.finding is not None else None
        return ((*spans, *(marked(text, pattern) if pattern else text)),)


def numbers_of(facts: Facts, width: int) -> list[Span]:
    """Return the columns of times, tokens and cost that a width has room for."""
    spans: list[Span] = [(fit(duration(facts.ms), 7, right=True), "plain")]
    request = facts.request
    tokens = request.tokens if request is not None else None
    unknown = request is not None and request.is_unknown
    total = count(tokens.total) if tokens is not None else "?" if unknown else ""
    if width < _ALL_FROM:
        return [*spans, (f"{fit(total, 6, right=True)}  ", "accent")]
    if tokens is None:
        parts = (total, "", "")
    else:
        parts = (count(tokens.cache_write), count(tokens.cache_read), count(tokens.output))
    spans += [(fit(part, 6, right=True), tone) for part, tone in zip(parts, ("accent", "dim", "plain"), strict=True)]
    cost = usd(request.cost) if request is not None and request.cost is not None else "?" if tokens or unknown else ""
    return [*spans, (f"{fit(cost, 9, right=True)}  ", "dim")]


def with_end_of_path(text: str, room: int) -> str:
    """Return a text with the start of its first long path left out, as far as `room` cells need it: its end tells."""
    path = _PATH.search(text)
    over = len(text) - room
    if over <= 0 or path is None or path.start() >= room:
        return text
    kept = path[0][-max(_LEAST_OF_PATH, len(path[0]) - over - 1) :]
    slash = kept.find("/", 0, len(kept) - _LEAST_OF_PATH // 2)
    return f"{text[: path.start()]}…{kept[max(0, slash) :]}{text[path.end() :]}"


def heading(digits: int, width: int) -> Line:
    """Return the names of the columns."""
    words = f"  {fit('#', digits, right=True)} {fit('time', 9)}{fit('what', 9)}"
    if width >= _ALL_FROM:
        words += "".join(
            fit(word, size, right=True) for word, size in (("took", 7), ("in", 6), ("cached", 7), ("out", 5))
        )
        words += f"{fit('cost', 9, right=True)}  "
    elif width >= _NUMBERS_FROM:
        words += f"{fit('took', 7, right=True)}{fit('tokens', 6 + 1, right=True)} "
    return ((words, "dim"),)


def marked(line: Line, pattern: re.Pattern[str], tone: str = "found") -> Line:
    """Return a line with every place that a pattern finds in another tone."""
    spans: list[Span] = []
    for text, own in line:
        text = clean(text)
        at = 0
        for match in pattern.finditer(text):
            if match.start() > at:
                spans.append((text[at : match.start()], own))
            spans.append((match[0], tone))
            at = match.end()
        if at < len(text) or not text:
            spans.append((text[at:], own))
    return tuple(spans)
