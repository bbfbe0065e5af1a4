"""The scoreboard as a table: which columns fit a width, and what each says of a row. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui.palette import DECISIONS, score_tone
from tui.screens.panes.base import local, points, signed, span_of
from tui.screens.panes.scores_words import change_tone, event_words
from tui.stores.board_rows import BoardEvent
from tui.stores.views import BoardRow
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, short, width_of

LEAST, LEAST_NARROW = 16, 26
"""Cells that the last column, what was tried, has at least; more where there is little to have beside it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, its width, and what it says."""

    name: str
    width: int
    says: Callable[[BoardRow], Span]
    right: bool = False


def _change(row: BoardRow) -> Span:
    noise = "~" if row.noise and row.delta else " "
    return (signed(row.delta) + noise, change_tone(row.delta))


def _score(row: BoardRow) -> Span:
    return (points(row.score) + ("!" if row.recomputed is not None else " "), score_tone(row.score))


def _held(row: BoardRow) -> Span:
    return ("" if row.held is None else "held" if row.held else "missed", "good" if row.held else "warn")


ALWAYS = (
    Column("version", 8, lambda row: (f"v{row.version}" if row.version else "?", "strong")),
    Column("outcome", 12, lambda row: (row.what, _mark(row)[1])),
    Column("score", 8, _score, right=True),
    Column("change", 9, _change, right=True),
    Column("predicted", 10, _held),
)
_RUNTIME: tuple[tuple[str, Callable[[BoardRow], str]], ...] = (
    ("provider", lambda row: row.provider),
    ("model", lambda row: row.model_id),
    ("thinking", lambda row: row.thinking),
)
_WIDEST = 20
_TOGETHER = Column("ran on", 18, lambda row: (f"{row.model_id} {row.thinking}".strip(), "warn"))
_MORE = (
    (Column("by", 10, lambda row: (row.proposer, "plain")),),
    (Column("when", 13, lambda row: (local(row.time) if row.time else "", "dim")),),
    (
        Column("cost", 10, lambda row: (_cost(row), "dim"), right=True),
        Column("time", 8, lambda row: ("" if row.duration_ms is None else span_of(row.duration_ms), "dim"), right=True),
    ),
)


def _cost(row: BoardRow) -> str:
    if row.what in ("rejected", "unevaluable", "measuring", "dropped"):
        return ""
    return "unknown" if row.cost is None else f"${row.cost:.4f}"


def columns(width: int, rows: Sequence[BoardRow]) -> tuple[Column, ...]:
    """Return the columns that fit: what it ran on comes first, as numbers of two models are never one series.

    Where several models stand in one table and there is too little room, one column names them.
    """
    chosen = list(ALWAYS)
    room = width - 2 - sum(column.width for column in chosen) - (LEAST if width >= 88 else LEAST_NARROW)
    runtime = tuple(_runtime(name, says, rows) for name, says in _RUNTIME)
    if (
        sum(column.width for column in runtime) > room
        and len({(r.provider, r.model_id) for r in rows if r.model_id}) > 1
    ):
        runtime = (_TOGETHER,)
        room += LEAST_NARROW - 8
    for group in (runtime, *_MORE):
        needed = sum(column.width for column in group)
        if needed <= room:
            chosen += group
            room -= needed
    return tuple(chosen)


def _runtime(name: str, says: Callable[[BoardRow], str], rows: Sequence[BoardRow]) -> Column:
    """Return a column as wide as what stands in it."""
    widest = max((width_of(says(row)) for row in rows), default=0)
    return Column(name, 1 + min(_WIDEST, max(len(name), widest)), lambda row: (says(row), "plain"))


def _mark(row: BoardRow) -> tuple[str, str]:
    return ("-", "bad") if row.what == "dropped" else DECISIONS.get(row.what, ("?", "warn"))


def table(entries: Sequence[BoardRow | BoardEvent], marked: str, width: int) -> list[Row]:
    """Return the heading and a row each entry."""
    chosen = columns(width, [entry for entry in entries if isinstance(entry, BoardRow)])
    heading = "  " + "".join(_fitted(column.name, column) for column in chosen) + "what was tried"
    rows = [Row("heading", (((short(heading, width), "dim"),),), selectable=False)]
    rows += [
        _event(entry, width) if isinstance(entry, BoardEvent) else _row(entry, chosen, marked, width)
        for entry in entries
    ]
    return rows


def _fitted(text: str, column: Column) -> str:
    """Return `text` in the column, with a gap behind it: a number's is taken from the next column's start."""
    if column.right:
        gap = 2 if column.name == "change" else 1
        return fit(text, column.width - gap, right=True) + " " * gap
    return fit(text, column.width - 1) + " "


def _row(row: BoardRow, chosen: Sequence[Column], marked: str, width: int) -> Row:
    mark, tone = ("m", "mark") if row.key == marked else _mark(row)
    if row.what == "dropped":  # it has no numbers; the reason gets their room
        head = f"{mark} {fit(f'v{row.version}' if row.version else '?', 8)}{fit('dropped', 12)}"
        whole: Line = ((head, "bad"), (short(row.note, max(8, width - 22)), "plain"))
        return Row(row.key, (whole,), find=f"dropped {row.note}")
    line: list[Span] = [(f"{mark} ", tone)]
    used = 2
    for column in chosen:
        text, colour = column.says(row)
        line.append((_fitted(text, column), colour))
        used += column.width
    rest = row.hypothesis or row.note.partition("\n")[0]
    line.append((short(rest, max(4, width - used)), "plain"))
    find = f"v{row.version} {row.what} {row.proposer} {row.provider} {row.model_id} {rest}"
    return Row(row.key, (tuple(line),), find=find)


def _event(event: BoardEvent, width: int) -> Row:
    text = f"{event_words(event)}, by {event.actor}, {local(event.time)}"
    line: Line = (("< ", "accent"), (short(text, width - 2), "accent"))
    return Row(event.key, (line,), find=text)
