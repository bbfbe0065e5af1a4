"""A Session, or everything that it started, over time: lanes of marks, for drawing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.foundation.errors import NotFoundError
from core.state.paths import ProjectPaths
from core.traces.cost import Prices
from core.traces.lanes import RequestLine, Stretch, Timeline, timeline
from core.traces.parsing import Entry
from core.traces.session_trace import SessionTrace
from tui.stores.trace_rows import SessionRow
from tui.stores.trace_words import count, duration, usd

MOST_RECORDS = 40_000
"""Records that are analysed at once; of a longer Session, those around the cursor."""

_TONES = {"thinking": "dim", "text": "plain"}
_NAMES = {"model": "model", "tool": "tools", "approval": "approvals", "connect": "connecting", "idle": "idle"}
_LANE_TONES = {"model": "accent", "tool": "call", "approval": "warn", "connect": "dim", "idle": "dim"}

Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something on a lane, from `start` to `end` in milliseconds; `number` is the entry that tells of it."""

    start: int
    end: int
    tone: str
    what: str
    session_id: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A lane: its marks in order of their start, and what it took altogether. `base` is drawn under all of them."""

    name: str
    tone: str
    marks: tuple[Mark, ...]
    total: str
    base: tuple[int, int] | None = None
    session_id: str = ""

    def at(self, moment: float) -> int:
        """Return the mark nearest to a moment, by its start."""
        place = bisect_left(self.marks, moment, key=lambda mark: mark.start)
        return max(0, min(place, len(self.marks) - 1))


@dataclass(frozen=True, slots=True)
class LanesView:
    """What the timeline shows. `told` says what of it is there, `summary` what it came to."""

    session_id: str
    of_tree: bool
    begin: int
    end: int
    rows: tuple[LaneRow, ...]
    requests: tuple[RequestLine, ...] = ()
    told: str = ""
    summary: str = ""


def session_lanes(
    project: ProjectPaths, agent_id: str, session_id: str, around: int, prices: Prices, report: Report
) -> LanesView:
    """Return the lanes of one Session; of a long one, those of MOST_RECORDS records around entry `around`."""
    with SessionTrace(project.agent(agent_id), session_id) as trace:
        total = len(trace)
        first = max(0, min(around - MOST_RECORDS // 2, total - MOST_RECORDS))
        last = min(total, first + MOST_RECORDS)
        told = timeline(_entries(trace, first, last, report), prices)
    part = f"records {first} to {last - 1} of {total}" if last - first < total else f"{total} records"
    return _view(session_id, told, part)


def _entries(trace: SessionTrace, first: int, last: int, report: Report) -> Iterator[tuple[int, Entry]]:
    for number in range(first, last):
        if not number % 256:
            report(number - first, last - first)
        yield number, trace.entry(number)


def _view(session_id: str, told: Timeline, part: str) -> LanesView:
    rows = tuple(
        LaneRow(
            _NAMES[lane],
            _LANE_TONES[lane],
            tuple(_mark(one, lane, session_id) for one in stretches),
            duration(told.totals[lane]),
            session_id=session_id,
        )
        for lane, stretches in told.stretches.items()
        if stretches or lane in ("model", "tool", "idle")
    )
    tokens = told.tokens
    words = [
        f"{len(told.requests)} requests",
        f"{count(tokens.cache_write)} in + {count(tokens.cache_read)} cached + {count(tokens.output)} out",
        f"{usd(told.cost, told.uncosted)}" if told.requests else "",
    ]
    if told.totals.get("model") and tokens.output:
        words.append(f"{tokens.output * 1000 / told.totals['model']:.0f} tokens/s")
    if told.unknown:
        words.append(f"{told.unknown} not counted")
    return LanesView(session_id, False, told.begin, told.end, rows, told.requests, part, "  ".join(filter(None, words)))


def _mark(one: Stretch, lane: str, session_id: str) -> Mark:
    what = f"{_NAMES[lane]}: {one.kind}" if lane in ("model", "tool", "approval") else _NAMES[lane]
    tone = (
        "bad" if one.is_failure else _TONES.get(one.kind, _LANE_TONES[lane]) if lane == "model" else _LANE_TONES[lane]
    )
    return Mark(one.start, one.end, tone, what, session_id, one.number)


def tree_lanes(project: ProjectPaths, rows: tuple[SessionRow, ...], prices: Prices, report: Report) -> LanesView:
    """Return a lane for a Session and each that it started, with what model and tools took."""
    lanes: list[LaneRow] = []
    total = sum(row.size for row in rows)
    done = busy = 0
    for row in rows:
        report(done, total)
        done += row.size
        name = f"{' ' * (row.depth - rows[0].depth)}{row.role} {row.brief}"
        try:
            with SessionTrace(project.agent(row.agent_id), row.session_id) as trace:
                first = max(0, len(trace) - MOST_RECORDS)
                told = timeline(_entries(trace, first, len(trace), lambda done, total: None), prices)
        except NotFoundError:
            lanes.append(LaneRow(name, "dim", (), "missing", session_id=row.session_id))
            continue
        marks = tuple(
            sorted(
                (
                    _mark(one, lane, row.session_id)
                    for lane in ("model", "tool")
                    for one in told.stretches.get(lane, ())
                ),
                key=lambda mark: mark.start,
            )
        )
        busy += told.totals.get("model", 0)
        base = (told.begin, told.end) if told.end else None
        tone = "bad" if row.state == "failed" else "plain"
        lanes.append(LaneRow(name, tone, marks, duration(told.end - told.begin), base, row.session_id))
    bases = [lane.base for lane in lanes if lane.base is not None]
    begin, end = min((base[0] for base in bases), default=0), max((base[1] for base in bases), default=0)
    root = rows[0].session_id if rows else ""
    summary = f"{duration(end - begin)} from first to last; models took {duration(busy)}"
    return LanesView(root, True, begin, end, tuple(lanes), (), f"{len(lanes)} Sessions", summary)


def cells(row: LaneRow, begin: float, end: float, width: int) -> list[tuple[float, str]]:
    """Return for each of `width` cells how much of its time the lane was busy, from 0 to 1, and the tone of what took
    most of it; busy is negative where only the lane's base is there. Something of no length still shows.
    """
    found = [(0.0, "dim")] * width
    if end <= begin or width <= 0:
        return found
    step = (end - begin) / width
    if row.base is not None:
        for cell in _range(row.base[0], row.base[1], begin, step, width):
            found[cell] = (-1.0, "dim")
    most = [0.0] * width
    for mark in row.marks:
        for cell in _range(mark.start, mark.end, begin, step, width):
            left, right = begin + cell * step, begin + (cell + 1) * step
            share = max((min(mark.end, right) - max(mark.start, left)) / step, 0.02)
            busy = max(0.0, found[cell][0]) + share
            tone = mark.tone if share >= most[cell] or mark.tone == "bad" else found[cell][1]
            most[cell] = max(most[cell], share)
            found[cell] = (min(1.0, busy), tone)
    return found


def _range(start: float, end: float, begin: float, step: float, width: int) -> range:
    """Return the cells that [start, end] touches."""
    first = max(0, int((start - begin) // step))
    last = min(width - 1, int((max(start, end - 0.001) - begin) // step))
    return range(first, last + 1) if first < width and last >= 0 else range(0)
