"""One open trace: lines by window over any size, followed while it grows. Reading is here, drawing elsewhere."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from core.foundation.errors import NotFoundError
from core.state.paths import ProjectPaths
from core.traces.project_sessions import ProjectSessions
from core.traces.session_trace import SessionTrace
from tui.stores.trace_lines import TraceLine, describe
from tui.stores.trace_whole import whole

_KEPT = 2000


@dataclass(frozen=True, slots=True)
class TraceHead:
    """What is open: whose Session, what it was about, how many entries it holds now."""

    agent_id: str
    session_id: str
    about: str
    count: int


class OpenTrace:
    """A Session's trace, open for reading.

    Invariant: numbers of entries never change while it grows; where the file was replaced, everything kept is
    dropped. `open` may run in a worker thread; afterwards one thread at a time uses it.
    """

    def __init__(self, trace: SessionTrace, about: str) -> None:
        self._trace = trace
        self._about = about
        self._lines: OrderedDict[int, TraceLine] = OrderedDict()

    @classmethod
    def open(cls, project: ProjectPaths, session_id: str, about: str = "", agent_id: str = "") -> OpenTrace:
        """Find, open and index a Session's trace. Raises NotFoundError where no agent has it."""
        sessions = ProjectSessions(project)
        agent = sessions.agent_of(session_id)
        if agent is None:
            raise NotFoundError(
                f"There is no trace of {session_id} in this project.",
                hint="It may not have started yet, or its numbers came without traces.",
            )
        return cls(SessionTrace(agent, session_id), about or _title(sessions, session_id))

    @property
    def head(self) -> TraceHead:
        return TraceHead(self._trace.agent.id, self._trace.session_id, self._about, len(self._trace))

    def __len__(self) -> int:
        return len(self._trace)

    def line(self, number: int) -> TraceLine:
        """Return the line of an entry, from memory where it was shown before."""
        kept = self._lines.get(number)
        if kept is None:
            kept = self._lines[number] = describe(self._trace.entry(number), number)
            if len(self._lines) > _KEPT:
                self._lines.popitem(last=False)
        return kept

    def detail(self, number: int) -> tuple[str, ...]:
        """Return an entry whole, for reading."""
        file, line = self._trace.locate(number)
        return whole(file.whole(line), file.raw(line, 4096))

    def next_problem(self, start: int, step: int) -> int | None:
        """Return the next entry from `start` (not included) that failed, None where there is none."""
        number = start + step
        while 0 <= number < len(self):
            if self.line(number).is_problem:
                return number
            number += step
        return None

    def refresh(self) -> bool:
        """Take in what was appended; tell whether anything changed."""
        change = self._trace.refresh()
        if change == "replaced":
            self._lines.clear()
        return change in ("grown", "replaced")

    def tail(self, count: int) -> tuple[TraceLine, ...]:
        """Return the last `count` lines."""
        return tuple(self.line(number) for number in range(max(0, len(self) - count), len(self)))

    def close(self) -> None:
        self._trace.close()


def _title(sessions: ProjectSessions, session_id: str) -> str:
    head = sessions.head(session_id)
    return head.title if head is not None else ""
