"""One open trace: lines by window over any size, followed while it grows. Reading is here, drawing elsewhere."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.foundation.errors import NotFoundError
from core.state.paths import AgentPaths, ProjectPaths
from core.traces.cost import Prices
from core.traces.exchange import Exchange, exchange_of
from core.traces.listing import read_head
from core.traces.parsing import Entry, TraceRecord
from core.traces.search import Match, Query, Scanned, search_file
from core.traces.session_trace import SessionTrace
from core.traces.shards import session_shards
from core.traces.survey import FAILED, LAST_FOLDED, Code, Survey
from tui.stores.prices import prices_of
from tui.stores.trace_facts import NOTHING, Facts, facts_of
from tui.stores.trace_lines import TraceLine, describe
from tui.stores.trace_whole import DETAIL_CHARACTERS, RAW_BYTES, bytes_shown, text_of, whole

FIRST_BYTES = 2 << 20
"""What is read before a trace is shown; the rest follows in the background."""
_BATCH = 512 << 10
_KEPT = 2000
_LONGEST_EXCHANGE = 400  # entries; a stranger request is told by its beginning


@dataclass(frozen=True, slots=True)
class TraceHead:
    """What is open: whose Session, what it was about, how many entries it holds now, how many of them failed.

    `share` is how much of its bytes was looked at, `is_gone` that its file was taken away meanwhile.
    """

    agent_id: str
    session_id: str
    about: str
    count: int
    failures: int = 0
    share: float = 1.0
    is_gone: bool = False


class OpenTrace:
    """A Session's trace, open for reading.

    Invariant: numbers of entries never change while it grows; where the file was replaced, everything kept is
    dropped. `begin` and `grow` may run in a worker thread while another reads what is there already.
    """

    def __init__(self, trace: SessionTrace, about: str, prices: Prices | None = None) -> None:
        self._trace = trace
        self._about = about
        self._prices: Prices = prices or {}
        self._lines: OrderedDict[int, TraceLine] = OrderedDict()
        self._exchanges: OrderedDict[int, Exchange] = OrderedDict()
        self._metas: dict[int, Mapping[str, object]] = {}
        self.is_closed = self.is_growing = False
        self.replacements = -1
        self._start_over()

    def _start_over(self) -> None:
        self._surveys: list[Survey] = []
        self._unfolded = array("I")  # numbers of entries that are more than bookkeeping
        self._failed = array("I")
        self._lines.clear()
        self._exchanges.clear()
        self._metas.clear()
        self._rest = self._growing()
        self._done, self._total = 0, 1
        self.is_whole = False
        self.is_gone = False
        self.replacements += 1  # times the file was another than before

    # Opening

    @classmethod
    def open(cls, project: ProjectPaths, session_id: str, about: str = "", agent_id: str = "") -> OpenTrace:
        """Find, open and index a Session's trace. Raises NotFoundError where no agent has it."""
        opened = cls.begin(project, session_id, about, agent_id)
        for _ in opened.grow():
            pass
        return opened

    @classmethod
    def begin(
        cls,
        project: ProjectPaths,
        session_id: str,
        about: str = "",
        agent_id: str = "",
        prices: Prices | None = None,
    ) -> OpenTrace:
        """Find and open a Session's trace and read its beginning; `grow` reads on. Raises NotFoundError."""
        agent, title = _found(project, session_id, agent_id, about)
        opened = cls(
            SessionTrace(agent, session_id, index=False), title, prices_of(project) if prices is None else prices
        )
        for done, _ in opened.grow():
            if done >= FIRST_BYTES:
                break
        return opened

    def grow(self) -> Iterator[tuple[int, int]]:
        """Read on, a batch a step; yield bytes done and bytes there are. Stop it by not going on; a later call does."""
        if self.is_closed:
            return
        self.is_growing = True
        try:
            for done, total in self._rest:
                self._done, self._total = done, max(1, total)
                yield done, total
                if self.is_closed:
                    return
            self.is_whole = True
        finally:
            self.is_growing = False
            if self.is_closed:
                self._trace.close()

    def _growing(self) -> Iterator[tuple[int, int]]:
        before = 0
        for place, file in enumerate(self._trace.files):
            self._surveys.append(Survey(file))
            for progress in file.index_batches(_BATCH):
                self._survey(place)
                rest = sum(later.size for later in self._trace.files[place + 1 :])
                yield before + progress.done, before + progress.total + rest
            self._survey(place)
            before += file.size

    def _survey(self, place: int) -> None:
        """Take in the entries that a shard has beyond those known."""
        survey = self._surveys[place]
        base = sum(len(earlier.codes) for earlier in self._surveys[:place])
        first = len(survey.codes)
        for _ in survey.grow():
            pass
        if first == len(survey.codes):
            return
        if any(len(later.codes) for later in self._surveys[place + 1 :]):
            self._recount()  # an earlier file grew: every later number is another
            return
        for number in range(first, len(survey.codes)):
            code = survey.codes[number]
            if code > LAST_FOLDED:
                self._unfolded.append(base + number)
                if code & FAILED:
                    self._failed.append(base + number)

    def _recount(self) -> None:
        self._unfolded, self._failed = array("I"), array("I")
        self._lines.clear()
        self._exchanges.clear()
        number = 0
        for survey in self._surveys:
            for code in survey.codes:
                if code > LAST_FOLDED:
                    self._unfolded.append(number)
                    if code & FAILED:
                        self._failed.append(number)
                number += 1

    # What there is

    @property
    def head(self) -> TraceHead:
        share = 1.0 if self.is_whole else min(1.0, self._done / self._total)
        return TraceHead(
            self.agent.id, self._trace.session_id, self._about, len(self), len(self._failed), share, self.is_gone
        )

    @property
    def agent(self) -> AgentPaths:
        """The agent in whose directory the trace lies."""
        return self._trace.agent

    def __len__(self) -> int:
        return sum(len(survey.codes) for survey in self._surveys)

    @property
    def unfolded(self) -> array[int]:
        """Numbers of the entries that are more than bookkeeping, in order."""
        return self._unfolded

    def row_of(self, number: int) -> int:
        """Return the place of an entry among the unfolded ones; where it is folded away, of the next one."""
        return min(bisect_left(self._unfolded, number), max(0, len(self._unfolded) - 1))

    def is_folded(self, number: int) -> bool:
        """Tell whether an entry is bookkeeping that a list folds away."""
        place = bisect_left(self._unfolded, number)
        return place == len(self._unfolded) or self._unfolded[place] != number

    @property
    def tail_gap(self) -> str:
        """Say what stands behind the last entry and is no record (yet), "" where nothing does."""
        gap = self._trace.tail if self.is_whole else None
        return f"bytes {gap.start} to {gap.end} are no whole record (yet)" if gap is not None else ""

    # Entries

    def line(self, number: int) -> TraceLine:
        """Return the line of an entry, from memory where it was shown before."""
        kept = self._lines.get(number)
        if kept is None:
            kept = self._lines[number] = describe(self._trace.entry(number), number)
            if len(self._lines) > _KEPT:
                self._lines.popitem(last=False)
        return kept

    def facts(self, number: int) -> Facts:
        """Return the times, tokens and cost that stand beside an entry."""
        exchange, begin = self._exchange(number)
        return facts_of(exchange, number, self._meta(begin), self._prices) if exchange is not None else NOTHING

    def detail(self, number: int, *, raw: bool = False, most: int = DETAIL_CHARACTERS) -> tuple[str, ...]:
        """Return an entry for reading; with `raw` the bytes as they are. One of over `most` characters is cut, and says
        so.
        """
        file, line = self._trace.locate(number)
        start, end = file.span(line)
        if raw:
            return bytes_shown(file.raw(line, RAW_BYTES), end - start)
        return whole(file.entry(line), file.raw(line, 4096), most)

    def reading(self, number: int, *, raw: bool = False) -> str:
        """Return all of an entry, to read at length or to copy."""
        file, line = self._trace.locate(number)
        entry = file.whole(line)
        if raw or not isinstance(entry, TraceRecord):
            return file.raw(line).decode("utf-8", "replace")
        return text_of(entry)

    def entry(self, number: int) -> Entry:
        """Return an entry as a list shows it."""
        return self._trace.entry(number)

    def next_problem(self, start: int, step: int) -> int | None:
        """Return the next entry from `start` (not included) that failed, None where there is none."""
        place = bisect_right(self._failed, start) if step > 0 else bisect_left(self._failed, start) - 1
        return self._failed[place] if 0 <= place < len(self._failed) else None

    def leads_to(self, number: int) -> str:
        """Return the Session that an entry leads to: a call that started one leads there by its answer; "" for none."""
        line = self.line(number)
        if line.leads_to or line.kind != "calls":
            return line.leads_to
        call = self._trace.entry(number)
        call_id = call.text("tool_call_id") if isinstance(call, TraceRecord) else ""
        started = ""
        for later in range(number + 1, min(len(self), number + _LONGEST_EXCHANGE)):
            told = self.line(later)
            if told.kind == "starts":
                started = started or told.leads_to
            elif told.kind == "answer":
                answer = self._trace.entry(later)
                if isinstance(answer, TraceRecord) and answer.text("tool_call_id") == call_id:
                    return told.leads_to or started
            elif told.kind == "asks":
                return ""
        return ""

    def tail(self, count: int) -> tuple[TraceLine, ...]:
        """Return the last `count` lines."""
        return tuple(self.line(number) for number in range(max(0, len(self) - count), len(self)))

    # Finding and following

    def search(self, query: Query) -> Iterator[tuple[int, Match] | Scanned]:
        """Yield the number and the place of every entry that holds a text, and how far the search is."""
        base = before = 0
        total = sum(file.size for file in self._trace.files)
        for file in self._trace.files:
            for found in search_file(file.path, query):
                if isinstance(found, Scanned):
                    yield Scanned(before + found.done, max(total, before + found.done), found.offset)
                else:
                    yield base + found.line, found
            base, before = base + len(file), before + file.size

    def refresh(self) -> bool:
        """Take in what was appended; tell whether anything changed. Not while `grow` is under way."""
        if not self.is_whole:
            return False
        count, was_gone = len(self), self.is_gone
        change = self._trace.refresh()
        self.is_gone = change == "gone"
        if change == "replaced":
            self._start_over()
            for _ in self.grow():
                pass
            return True
        if change in ("grown", "gone"):
            for _ in self._trace.files[len(self._surveys) :]:
                self._surveys.append(Survey(self._trace.files[len(self._surveys)]))
            for place in range(len(self._surveys)):
                self._survey(place)
            if len(self) != count and self._exchanges:
                self._exchanges.pop(max(self._exchanges), None)  # what was told of the last one may be more now
        return change == "grown" or self.is_gone != was_gone

    def close(self) -> None:
        """Close its files: at once, or where a thread still reads, as soon as that sees it."""
        self.is_closed = True
        if not self.is_growing:
            self._trace.close()

    # Requests

    def _exchange(self, number: int) -> tuple[Exchange | None, int]:
        """Return the exchange that an entry belongs to and the number of its request_begin."""
        place, base = 0, 0
        while place < len(self._surveys) - 1 and number >= base + len(self._surveys[place].codes):
            base += len(self._surveys[place].codes)
            place += 1
        codes = self._surveys[place].codes
        begin = codes.rfind(Code.REQUEST_BEGIN, 0, number - base + 1)
        if begin < 0:
            return None, base
        kept = self._exchanges.get(base + begin)
        if kept is None:
            end = codes.find(Code.REQUEST_BEGIN, begin + 1)
            end = min(len(codes) if end < 0 else end, begin + _LONGEST_EXCHANGE)
            kept = exchange_of((n, self._trace.entry(n)) for n in range(base + begin, base + end))
            self._exchanges[base + begin] = kept
            if len(self._exchanges) > _KEPT:
                self._exchanges.popitem(last=False)
        return kept, base + begin

    def _meta(self, number: int) -> Mapping[str, object]:
        """Return the payload of the session_meta that an entry stands under."""
        base = 0
        for survey in self._surveys:
            if number < base + len(survey.codes) or survey is self._surveys[-1]:
                at = survey.codes.rfind(Code.META, 0, number - base + 1)
                if at < 0:
                    return {}
                if base + at not in self._metas:
                    entry = self._trace.entry(base + at)
                    self._metas[base + at] = entry.payload if isinstance(entry, TraceRecord) else {}
                return self._metas[base + at]
            base += len(survey.codes)
        return {}


def _found(project: ProjectPaths, session_id: str, agent_id: str, about: str) -> tuple[AgentPaths, str]:
    """Return the agent that has a Session, and what the Session was about."""
    if agent_id and about:
        return project.agent(agent_id), about
    for name in [agent_id] if agent_id else project.agent_ids():
        agent = project.agent(name)
        shards = session_shards(agent, session_id)
        if shards:
            head = read_head(agent, shards) if not about else None
            return agent, about or (head.title if head is not None else "")
    raise NotFoundError(
        f"There is no trace of {session_id} in this project.",
        hint="It may not have started yet, or its numbers came without traces.",
    )


__all__ = ["DETAIL_CHARACTERS", "FIRST_BYTES", "OpenTrace", "TraceHead"]
