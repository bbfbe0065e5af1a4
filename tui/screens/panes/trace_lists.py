"""The smaller lists of the Trace pane: results of a search over all traces, and the requests of a timeline."""

from __future__ import annotations

from textual.message import Message

from core.traces.lanes import RequestLine
from core.traces.search_all import Hit
from tui.palette import BLOCKS
from tui.stores.trace_rows import Listing
from tui.stores.trace_search import FoundEverywhere
from tui.stores.trace_words import count, duration, usd, when
from tui.widgets.line_list import LineList
from tui.widgets.spans import Line, Span, fit, middle

_WHO_LEAST, _WHO_MOST = 25, 44
_BAR = 10


class Resized(Message):
    """A list has another width, so the names of its columns stand elsewhere."""


class FoundRows(LineList):
    """Rows are the entries that hold a text, those of one Session together."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.found: FoundEverywhere | None = None
        self.listing = Listing()
        self._names: dict[str, str] = {}
        self._shown = 0

    def show(self, found: FoundEverywhere | None, listing: Listing) -> None:
        """Show what was found so far; another search begins at its start."""
        if found is not self.found:
            self.cursor = 0
            self.scroll_to(y=0, animate=False, immediate=True)
        self.found, self.listing = found, listing
        self._names = {row.session_id: f"{row.role.capitalize()} {row.brief}" for row in listing.rows}
        self._shown = len(found.hits) if found is not None else 0
        self.resized()
        self.refresh()
        self.post_message(self.Highlighted(self, str(self.cursor)))

    @property
    def hit(self) -> Hit | None:
        """The result under the cursor."""
        return self.found.hits[self.cursor] if self.found is not None and self.cursor < self._shown else None

    def row_count(self) -> int:
        return self._shown

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        assert self.found is not None
        hit = self.found.hits[index]
        again = index > 0 and self.found.hits[index - 1].session_id == hit.session_id
        who = max(_WHO_LEAST, min(_WHO_MOST, width // 3))
        name = self._names.get(hit.session_id) or middle(hit.session_id, who - 1)
        spans: list[Span] = [
            (fit("" if again else name, who), "plain"),
            (f"{fit(when(hit.match.moment, long=False), 6)}", "dim"),
            (f"{fit(str(hit.number), 6, right=True)}  ", "dim"),
        ]
        room = max(0, (width - who - 14 - len(hit.match.hit)) // 2)
        before = hit.match.before[-room:] if room else ""
        return ((*spans, (before, "dim"), (hit.match.hit, "found"), (hit.match.after, "dim")),)


class RequestRows(LineList):
    """Rows are the requests to the model that a timeline holds."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.requests: tuple[RequestLine, ...] = ()

    def on_resize(self) -> None:
        self.post_message(Resized())

    def show(self, requests: tuple[RequestLine, ...]) -> None:
        """Show other requests."""
        self.requests = requests
        self.cursor = min(self.cursor, max(0, len(requests) - 1))
        self.resized()
        self.refresh()

    @property
    def request(self) -> RequestLine | None:
        """The request under the cursor."""
        return self.requests[self.cursor] if self.cursor < len(self.requests) else None

    def near(self, number: int) -> None:
        """Put the cursor on the request that entry `number` belongs to, without a word about it."""
        at = next((place for place, line in enumerate(self.requests) if line.number > number), len(self.requests))
        self.select(max(0, at - 1), tell=False)

    def row_count(self) -> int:
        return len(self.requests)

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        return (request_line(self.requests[index], width),)


def request_line(line: RequestLine, width: int) -> Line:
    """Return a request in one row: times, tokens, speed, how full the context was, cost."""
    tokens = line.tokens
    bad = line.status not in ("", "completed")
    spans: list[Span] = [
        (fit(str(line.index + 1), 4, right=True), "dim"),
        (fit(duration(line.ms), 8, right=True), "plain"),
    ]
    if width >= 90:
        spans.append((fit(duration(line.thinking_ms) if line.thinking_ms else "", 9, right=True), "dim"))
    if tokens is None:
        spans.append((fit("not counted" if line.is_unknown else "", 21, right=True), "warn"))
    else:
        parts = ((tokens.cache_write, "accent"), (tokens.cache_read, "dim"), (tokens.output, "plain"))
        spans += [(fit(count(part), 7, right=True), tone) for part, tone in parts]
    speed = f"{line.per_second:.0f}" if line.per_second is not None else ""
    spans.append((fit(speed, 7, right=True), "dim"))
    spans += _context(line)
    cost = usd(line.cost) if line.cost is not None else "?" if tokens is not None or line.is_unknown else ""
    spans.append((fit(cost, 9, right=True), "plain"))
    said = line.status if bad else "compaction" if line.is_compaction else ""
    return (*spans, (f"  {said}", "bad" if bad else "dim"))


def _context(line: RequestLine) -> list[Span]:
    if line.occupancy is None:
        return [(fit("", _BAR + 7), "dim")]
    eighths = round(line.occupancy * _BAR * 8)
    bar = BLOCKS[8] * (eighths // 8) + (BLOCKS[eighths % 8] if eighths % 8 else "")
    tone = "bad" if line.occupancy > 0.9 else "warn" if line.occupancy > 0.7 else "good"
    share = f"{line.occupancy:.0%}".replace("%", " %")
    return [("  ", "dim"), (fit(bar, _BAR), tone), (fit(share, 5, right=True), "dim")]


def request_heading(width: int) -> Line:
    """Return the names of the columns of requests."""
    words = f"  {fit('req', 4, right=True)}{fit('took', 8, right=True)}"
    words += fit("thinking", 9, right=True) if width >= 90 else ""
    words += "".join(fit(word, 7, right=True) for word in ("in", "cached", "out", "tok/s"))
    words += f"  {fit('context', _BAR + 5)}{fit('cost', 9, right=True)}"
    return ((words, "dim"),)
