"""The Sessions of a Project as a list: a tree, or in groups; filtered; each with how it stands and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tui.palette import score_tone
from tui.stores.trace_filter import SessionFilter
from tui.stores.trace_rows import Listing, SessionRow, cost_of
from tui.stores.trace_words import count, duration, usd, when
from tui.widgets.line_list import LineList
from tui.widgets.spans import Line, Span, fit, plain

STATES: dict[str, tuple[str, str]] = {
    "running": ("~", "warn"),
    "done": (" ", "dim"),
    "failed": ("x", "bad"),
    "cut": ("!", "warn"),
    "missing": ("?", "bad"),
}
"""Mark and tone of each state of a Session."""
ROLE_TONES = {"builder": "accent", "optimizer": "accent", "evaluator": "call", "target": "strong"}
GROUPS: tuple[str, ...] = ("tree", "run", "agent", "role", "status")
_LONG_FROM = 96
_ROLE = 14


@dataclass(frozen=True, slots=True)
class Heading:
    """A row above a group."""

    text: str
    told: str


Item = SessionRow | Heading


def grouped(rows: tuple[SessionRow, ...], group: str) -> list[Item]:
    """Return rows under the headings of a group; in a tree there are none."""
    if group == "tree":
        return list(rows)
    groups: dict[str, list[SessionRow]] = {}
    name: Callable[[SessionRow], str] = {
        "run": lambda row: row.run_id or "no run",
        "agent": lambda row: row.agent_id,
        "role": lambda row: row.role,
        "status": lambda row: row.state,
    }[group]
    ordered = rows if group == "run" else sorted(rows, key=lambda row: (row.first_ts, row.session_id), reverse=True)
    for row in ordered:
        groups.setdefault(name(row), []).append(row)
    items: list[Item] = []
    for title, members in groups.items():
        items.append(Heading(title, _told(tuple(members))))
        items.extend(members)
    return items


def _told(rows: tuple[SessionRow, ...]) -> str:
    cost = cost_of(rows)
    failed = sum(row.state == "failed" for row in rows)
    parts = [
        f"{len(rows)} Session{'s' if len(rows) != 1 else ''}",
        f"{failed} failed" if failed else "",
        f"{count(sum(row.tokens or 0 for row in rows))} tokens",
        usd(cost.known_usd, cost.unknown_requests),
    ]
    return "  ".join(part for part in parts if part)


class SessionRows(LineList):
    """Invariant: `_items` are the rows of `listing` that the filter lets through and no closed row hides."""

    trails = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.listing = Listing()
        self.wanted = SessionFilter()
        self.group = "tree"
        self._collapsed: set[str] = set()
        self._items: list[Item] = []
        self._is_placed = False

    def select(self, index: int, *, tell: bool = True) -> None:
        self._is_placed = self._is_placed or index != self.cursor
        super().select(index, tell=tell)

    def show(self, listing: Listing) -> None:
        """Show a newer listing; the cursor stays on its Session, and only rows that differ are painted."""
        self.listing = listing
        self._remake()

    def filter_by(self, wanted: SessionFilter) -> None:
        """Show only Sessions that a filter wants."""
        self.wanted = wanted
        self._remake()

    def group_by(self, group: str) -> None:
        """Show the Sessions in other groups."""
        self.group = group
        self._remake()

    def collapse(self, closed: bool) -> bool:
        """Hide what the Session under the cursor started, or show it; tell whether that changed anything."""
        row = self.row
        if row is None or self.group not in ("tree", "run"):
            return False
        if closed and (row.session_id in self._collapsed or len(self.listing.below(row.session_id)) < 2):
            if row.parent:
                self.go_to(row.parent)  # as in a file tree: once more goes up
                return True
            return False
        before = set(self._collapsed)
        (self._collapsed.add if closed else self._collapsed.discard)(row.session_id)
        if before != self._collapsed:
            self._remake()
        return before != self._collapsed

    def _remake(self) -> None:
        rows = self.listing.rows
        if self.wanted:
            rows = tuple(row for row in rows if self.wanted.lets(row.fields, row.text))
        elif self._collapsed:
            rows = tuple(self._open_rows())
        old, key = self._items, self.row_key(self.cursor) if self._items else ""
        if not self._is_placed:
            key = ""  # nobody has chosen a row yet: the first one, whatever comes in above it
        self._items = grouped(rows, self.group)
        self.resized()
        keys = {self.row_key(index): index for index in range(len(self._items))}
        at = keys.get(key, min(self.cursor, max(0, len(self._items) - 1))) if key else 0
        self.cursor = self._nearest(at, 1)
        if len(old) == len(self._items) and all(_same(a, b) for a, b in zip(old, self._items, strict=True)):
            for index, (before, after) in enumerate(zip(old, self._items, strict=True)):
                if before != after:
                    self.paint_row(index)
        else:
            self.refresh()
            self.call_after_refresh(lambda: self.select(self.cursor))
        self.post_message(self.Highlighted(self, self.row_key(self.cursor) if self._items else ""))

    def _open_rows(self) -> list[SessionRow]:
        found: list[SessionRow] = []
        hidden_below: int | None = None
        for row in self.listing.rows:
            if hidden_below is not None and row.depth > hidden_below:
                continue
            hidden_below = row.depth if row.session_id in self._collapsed else None
            found.append(row)
        return found

    @property
    def row(self) -> SessionRow | None:
        """The Session under the cursor."""
        item = self._items[self.cursor] if self.cursor < len(self._items) else None
        return item if isinstance(item, SessionRow) else None

    @property
    def sessions(self) -> int:
        """How many Sessions there are rows for."""
        return sum(isinstance(item, SessionRow) for item in self._items)

    def go_to(self, session_id: str) -> None:
        """Put the cursor on a Session, if it has a row."""
        for index, item in enumerate(self._items):
            if isinstance(item, SessionRow) and item.session_id == session_id:
                self.select(index)
                return

    def next_failed(self, step: int) -> bool:
        """Go to the next Session that failed, or was cut; tell whether there is one."""
        index = self.cursor + step
        while 0 <= index < len(self._items):
            item = self._items[index]
            if isinstance(item, SessionRow) and item.state in ("failed", "cut", "missing"):
                self.select(index)
                return True
            index += step
        return False

    def row_count(self) -> int:
        return len(self._items)

    def row_key(self, index: int) -> str:
        item = self._items[index]
        return item.session_id if isinstance(item, SessionRow) else f" {item.text}"

    def is_selectable(self, index: int) -> bool:
        return isinstance(self._items[index], SessionRow)

    def row_lines(self, index: int, width: int) -> tuple[Line, ...]:
        item = self._items[index]
        if isinstance(item, Heading):
            return (((f"{item.text}  ", "title"), (item.told, "dim")),)
        indent = 0 if self.wanted or self.group not in ("tree", "run") else item.depth
        more = "+" if item.session_id in self._collapsed and not self.wanted else " "
        return (session_line(item, width, indent, more),)


def _same(one: Item, other: Item) -> bool:
    if isinstance(one, SessionRow) and isinstance(other, SessionRow):
        return one.session_id == other.session_id
    return isinstance(one, Heading) and isinstance(other, Heading)


def session_line(row: SessionRow, width: int, indent: int = 0, more: str = " ") -> Line:
    """Return a Session in one row."""
    mark, tone = STATES.get(row.state, (" ", "dim"))
    is_long = width >= _LONG_FROM
    name = f"{'  ' * min(indent, 4)}{row.role.capitalize()}{more}"
    left: list[Span] = [
        (f"{mark} ", tone),
        (fit(name, _ROLE), ROLE_TONES.get(row.role, "plain")),
    ]
    right: list[Span] = []
    if is_long:
        right.append((fit(row.state, 9), tone if row.state != "done" else "dim"))
    right += [
        (fit(when(row.first_ts, long=is_long), 12 if is_long else 6), "dim"),
        (fit(duration(row.ms), 7, right=True), "plain"),
        (fit(count(row.tokens), 6, right=True), "accent"),
        (fit(usd(row.cost, row.unknown) if row.cost is not None else "", 10, right=True), "plain"),
        (fit("" if row.score is None else f"{row.score:.2f}", 7, right=True), score_tone(row.score)),
    ]
    taken = 2 + _ROLE + sum(len(text) for text, _ in right)
    left.append((fit(what_in(row, max(1, width - taken - 1)), max(1, width - taken - 1)) + " ", "plain"))
    return (*left, *right)


def what_in(row: SessionRow, width: int) -> str:
    """Return what a Session was for in a width: of a long Case its number, run and version, then as much as fits."""
    if not row.case_id:
        return row.title or row.reason
    if len(row.what) <= width:
        return row.what
    return f"{row.brief} {'-'.join(row.case_id.split('-')[2:])}"


def heading(width: int) -> Line:
    """Return the names of the columns."""
    is_long = width >= _LONG_FROM
    right = (fit("status", 9) if is_long else "") + fit("began", 12 if is_long else 6)
    right += "".join(
        fit(word, size, right=True) for word, size in (("took", 7), ("tokens", 7), ("cost", 9), ("score", 7))
    )
    return ((f"    {fit('role', _ROLE)}{fit('what', max(1, width - 2 - _ROLE - len(right)))}{right}", "dim"),)


def told(row: SessionRow, below: tuple[SessionRow, ...]) -> list[Line]:
    """Return all that is known of a Session, for reading."""
    _, tone = STATES.get(row.state, (" ", "dim"))
    lines: list[Line] = [
        ((row.state, tone), (f"  {row.reason}" if row.reason else "", tone)),
        (("session  ", "dim"), (row.session_id, "plain")),
        (("agent    ", "dim"), (row.agent_id, "plain"), ("  model ", "dim"), (row.model or "not told", "plain")),
    ]
    if row.run_id:
        stage = f"  {row.stage} v{row.version}" if row.stage else ""
        lines.append((("run      ", "dim"), (row.run_id, "plain"), (stage, "dim")))
    spent = f"{duration(row.ms) or 'time unknown'}  {count(row.tokens) or 'unknown'} tokens  "
    lines.append((("spent    ", "dim"), (spent, "plain"), (cost_words(row), "plain")))
    if len(below) > 1:
        cost = cost_of(below)
        tokens = count(sum(one.tokens or 0 for one in below))
        number = f"{len(below) - 1} Session{'s' if len(below) > 2 else ''} below"
        words = f"{number}: {tokens} tokens  {usd(cost.known_usd, cost.unknown_requests)}"
        lines.append((("with all ", "dim"), (words, "plain")))
    if row.workspace:
        lines.append((("worked in ", "dim"), (row.workspace, "dim")))
    if row.prompt:
        lines += [(("asked", "dim"),), *plain(row.prompt.split("\n"))]
    return lines


def cost_words(row: SessionRow) -> str:
    """Return what a Session cost in words: known, unknown, or not reckoned."""
    if row.cost is None and row.is_counted:
        return "no request is told of"
    if row.cost is None:
        return "cost not counted: it is large; w counts it" if row.size > 16 << 20 else "cost is being counted"
    if not row.unknown:
        return usd(row.cost)
    known = f"{usd(row.cost)} and " if row.cost else ""
    return f"{known}{row.unknown} request{'s' if row.unknown != 1 else ''} of unknown cost"
