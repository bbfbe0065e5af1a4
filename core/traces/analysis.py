"""The numbers of a trace: Tasks, requests, tools, timeline and tokens (EVOLUTION 2.9 no. 79 to 85).

One pass over the records, so a trace of any size can be analysed as it streams. Where our numbers and the existing
system's meet they are the same; what we add (unknown usage, a compaction's outcome) stays out of `as_golden`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from core.foundation.clock import parse_ms
from core.traces.markers import is_steering
from core.traces.parsing import TraceRecord
from core.traces.tokens import Tokens, UsageRecord, read_usage

_RETRIED = {"timeout", "malformed", "failed"}
_SEGMENTS: dict[str, Literal["thinking", "text", "tool_call"]] = {
    "thinking": "thinking",
    "inline_thinking": "thinking",
    "text": "text",
    "tool_call": "tool_call",
}


@dataclass(slots=True)
class Request:
    """One request to the model; the ends are None while it runs, or where it was never closed."""

    begin: str
    task: int
    compaction: bool = False
    end: str | None = None
    status: str | None = None
    approval_wait_ms: int = 0
    usage: Tokens | None = None
    answered: bool = False
    message: int = 0  # number of its request_begin's record

    @property
    def duration_ms(self) -> int | None:
        return None if self.end is None else span_ms(self.begin, self.end)

    @property
    def active_ms(self) -> int | None:
        """Duration without the time it waited for approvals (no. 83)."""
        return None if self.duration_ms is None else max(0, self.duration_ms - self.approval_wait_ms)

    @property
    def usage_unknown(self) -> bool:
        """True where tokens were spent that no record counts: a reply, or a broken one, without a token_usage."""
        return self.usage is None and (self.answered or self.status in {"completed", "malformed", "aborted"})


@dataclass(slots=True)
class Task:
    """One user turn, or one compaction: messages [first, last], by number of record."""

    index: int
    first: int
    last: int
    start: str = ""
    end: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    context: Tokens | None = None
    llm_ms: int = 0
    compaction: bool = False
    compaction_mode: str | None = None
    compaction_status: str | None = None

    @property
    def elapsed_ms(self) -> int:
        return max(0, span_ms(self.start, self.end)) if self.start and self.end else 0

    @property
    def tokens_per_second(self) -> float | None:
        """Output tokens for a second of model time; None where no model time was spent."""
        return self.tokens.output * 1000 / self.llm_ms if self.llm_ms else None


@dataclass(slots=True)
class ToolUse:
    """One tool call with its approval and its answer. `lane` is False where the call itself is broken (no. 85)."""

    call_id: str
    name: str
    call: str
    task: int
    lane: bool
    stop_reason: str | None
    approval: str | None = None
    decision: str | None = None
    output: str | None = None
    message: int = 0  # number of the call's record
    answer: int | None = None  # number of the answer's record


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the model's own work on the timeline."""

    kind: Literal["thinking", "text", "tool_call"]
    start: str
    end: str
    task: int
    call_id: str | None = None
    name: str | None = None
    message: int = 0  # number of the message's record


@dataclass(slots=True)
class Connection:
    """Connecting to the tool servers, shown with the Task that follows."""

    start: str
    task: int
    end: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class UsagePoint:
    """Tokens of a request and of the Session at that moment."""

    moment: str
    request_total: int
    session_total: int


@dataclass(slots=True)
class Analysis:
    """What a trace holds, in numbers; times are milliseconds, moments the records' own timestamps."""

    requests: list[Request] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    usage_trend: list[UsagePoint] = field(default_factory=list)
    reconnects: int = 0
    compactions: int = 0
    records: int = 0
    session_total: Tokens | None = None
    aborted: str | None = None

    @property
    def elapsed_ms(self) -> int:
        """Σ of the Tasks' elapsed times; idle gaps between Tasks are no part of it (no. 82)."""
        return sum(task.elapsed_ms for task in self.tasks)

    @property
    def tokens(self) -> Tokens:
        """Σ of the requests' usage, compactions included."""
        return sum((task.tokens for task in self.tasks), Tokens())

    @property
    def unknown_requests(self) -> int:
        """Requests whose tokens no record tells."""
        return sum(request.usage_unknown for request in self.requests)

    def as_golden(self) -> dict[str, Any]:
        """Return the analysis as the existing system's API answers it, field by field."""
        from core.traces.golden import analysis_golden  # a view of this module's own types

        return analysis_golden(self)


def analyze(records: Iterable[TraceRecord]) -> Analysis:
    """Analyse the records of a shard, or of a whole Session's shards one after the other."""
    walk = _Walk()
    for number, record in enumerate(records):
        walk.step(number, record)
    return walk.finish()


class _Walk:
    """The state between two records.

    Invariant: `_tasks` holds every Task opened so far, each message up to now lies in the last of them, or before
    the first, or behind `_starter`: the first message of a turn whose request has not gone out yet.
    """

    def __init__(self) -> None:
        self._analysis = Analysis()
        self._starter: int | None = None
        self._starter_end = ""  # latest moment among the messages from the starter on
        self._early_end = ""  # the same for messages before the first Task
        self._continues = False
        self._compacting = False
        self._request: Request | None = None
        self._serial: str | None = None  # where the next model segment begins
        self._after_steering = False
        self._open_calls: dict[str, tuple[ToolUse, Request | None]] = {}
        self._connection: Connection | None = None

    def step(self, number: int, record: TraceRecord) -> None:
        kind, moment = record.kind, record.timestamp
        self._begin_task_if_due(number, record)
        self._stretch(number, record)
        if record.type == "model_msg":
            self._model_message(number, kind, record)
        elif kind == "request_end":
            self._end_request(record)
        elif kind == "token_usage":
            self._count(moment, read_usage(record.payload))
        elif kind == "approval_decision":
            self._approve(record)
        elif kind == "compaction_end":
            self._end_compaction(record)
        elif kind == "mcp_connect_begin":
            self._connection = Connection(moment, len(self._analysis.tasks))
            self._analysis.connections.append(self._connection)
        elif kind == "mcp_connect_end" and self._connection is not None:
            self._connection.end = moment
            self._connection.failed = record.text("status") not in {"", "completed"}
            self._connection = None
        elif kind == "abort":
            self._analysis.aborted = record.text("reason") or "aborted"
        self._analysis.records = number + 1

    def finish(self) -> Analysis:
        analysis = self._analysis
        if self._starter is not None:
            self._open_waiting_task()
        for request in analysis.requests:
            analysis.tasks[request.task].llm_ms += request.active_ms or 0
        for task in analysis.tasks:
            if task.compaction and task.compaction_status is None:
                task.compaction_status = "failed"  # no. 63: never "in progress" in a dead Session
        for connection in analysis.connections:
            connection.task = min(connection.task, max(0, len(analysis.tasks) - 1))
        return analysis

    # Tasks

    def _begin_task_if_due(self, number: int, record: TraceRecord) -> None:
        kind = record.kind
        if record.type == "model_msg":
            self._user_turn(number, kind, record)
            return
        if kind == "compaction_begin":
            if self._starter is not None:
                self._open_waiting_task()
            task = self._open_task(number)
            task.compaction = True
            task.compaction_mode = record.text("mode") or None
            self._compacting, self._continues = True, False
            self._analysis.compactions += 1
        elif kind == "request_begin":
            if self._starter is not None:
                self._open_waiting_task()
            elif not self._analysis.tasks or not (self._continues or self._compaction_waits()):
                self._open_task(number).compaction = self._compacting
            self._begin_request(number, record.timestamp)

    def _user_turn(self, number: int, kind: str, record: TraceRecord) -> None:
        is_user = record.payload.get("role") == "user" and not record.payload.get("origin")
        is_image = kind in {"image_url", "inline_data"}
        if is_user and self._compacting and not self._compaction_waits():
            # The compaction's own prompt stands before its request: a user text after it is a resumed Session's, and
            # the compaction died with the process (no. 63).
            self._compacting = False
        if not is_user or kind not in {"text", "image_url", "inline_data"} or self._compacting:
            self._after_steering = False
            return
        if (is_image and self._after_steering) or (kind == "text" and is_steering(record.text("text"))):
            self._after_steering = True
            self._continues = True
            return
        self._after_steering = False
        self._continues = False
        if self._starter is None:
            self._starter, self._starter_end = number, ""

    def _compaction_waits(self) -> bool:
        """Say whether a compaction is open whose request has not gone out yet."""
        return self._compacting and not self._analysis.tasks[-1].start

    def _open_task(self, first: int) -> Task:
        tasks = self._analysis.tasks
        task = Task(index=len(tasks), first=first if tasks else 0, last=first)
        if not tasks:
            task.end = self._early_end
        tasks.append(task)
        return task

    def _open_waiting_task(self) -> None:
        """Open the Task of the waiting starter; the messages since then are its own (no. 81)."""
        assert self._starter is not None
        task = self._open_task(self._starter)
        task.last = self._analysis.records - 1
        task.end = max(task.end, self._starter_end)
        self._starter = None

    def _stretch(self, number: int, record: TraceRecord) -> None:
        """Give the message to where it belongs, and let its moment count unless it is a session_meta (no. 82)."""
        moment = "" if record.kind == "session_meta" else record.timestamp
        if self._starter is not None:
            self._starter_end = max(self._starter_end, moment)
        elif self._analysis.tasks:
            task = self._analysis.tasks[-1]
            task.last = number
            task.end = max(task.end, moment)
        else:
            self._early_end = max(self._early_end, moment)

    # Requests

    def _begin_request(self, number: int, moment: str) -> None:
        task = self._analysis.tasks[-1]
        task.start = task.start or moment
        self._request = Request(moment, task.index, compaction=self._compacting, message=number)
        self._analysis.requests.append(self._request)
        self._serial = moment
        self._continues = False

    def _end_request(self, record: TraceRecord) -> None:
        status = record.text("status")
        if status in _RETRIED and not (status == "failed" and self._compacting):
            self._continues = True
            self._analysis.reconnects += 1
        request, self._request = self._request, None
        if request is None:
            return
        request.end, request.status = record.timestamp, status or None

    def _count(self, moment: str, usage: UsageRecord | None) -> None:
        if usage is None:
            return
        self._analysis.session_total = usage.session
        self._analysis.usage_trend.append(UsagePoint(moment, usage.request_total, usage.session_total))
        if not self._analysis.tasks:
            return
        task = self._analysis.tasks[-1]
        task.tokens += usage.request
        if not self._compacting:
            task.context = usage.request
        if self._analysis.requests:
            self._analysis.requests[-1].usage = usage.request

    def _end_compaction(self, record: TraceRecord) -> None:
        if self._compacting:
            self._analysis.tasks[-1].compaction_status = record.text("status") or "failed"
        self._compacting, self._continues = False, False

    # Messages of the model and of its tools

    def _model_message(self, number: int, kind: str, record: TraceRecord) -> None:
        if kind == "tool_call_output":
            self._take_output(number, record)
            return
        segment = _SEGMENTS.get(kind)
        if segment is None or record.payload.get("role") != "assistant":
            return
        moment = record.timestamp
        if self._request is not None:
            self._request.answered = True
        if kind == "tool_call":
            self._continues = True
        if not self._analysis.tasks:
            return
        task = self._analysis.tasks[-1].index
        begin = moment if self._serial is None else self._serial
        self._serial = moment
        if segment != "tool_call":
            self._analysis.segments.append(Segment(segment, begin, moment, task, message=number))
            return
        call_id, name = record.text("tool_call_id"), record.text("name")
        self._analysis.segments.append(Segment(segment, begin, moment, task, call_id, name, number))
        stop_reason = record.text("stop_reason") or None
        use = ToolUse(call_id, name, moment, task, stop_reason == "completed", stop_reason, message=number)
        self._analysis.tools.append(use)
        self._open_calls[call_id] = (use, self._request)

    def _approve(self, record: TraceRecord) -> None:
        use, request = self._open_calls.get(record.text("tool_call_id"), (None, None))
        if use is None:
            return
        use.approval, use.decision = record.timestamp, record.text("decision") or None
        if request is not None:
            request.approval_wait_ms += span_ms(use.call, record.timestamp)

    def _take_output(self, number: int, record: TraceRecord) -> None:
        use, _ = self._open_calls.get(record.text("tool_call_id"), (None, None))
        if use is not None and use.output is None:
            use.output, use.stop_reason = record.timestamp, record.text("stop_reason") or None
            use.answer = number


def span_ms(start: str, end: str) -> int:
    """Return milliseconds from `start` to `end`; 0 where either is no timestamp."""
    first, last = parse_ms(start), parse_ms(end)
    return 0 if first is None or last is None else last - first
