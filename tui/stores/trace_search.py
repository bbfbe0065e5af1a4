"""What was looked for in traces and where it was found so far. A worker finds, a screen reads."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from core.state.paths import ProjectPaths
from core.traces.project_sessions import ProjectSessions
from core.traces.search import Match, Query, Scanned
from core.traces.search_all import Hit, search_sessions
from tui.stores.trace import OpenTrace

PACE_S = 0.15
MOST_HITS = 5_000
"""Results of a search over all traces that are kept; an operator narrows what he looks for long before."""

Report = Callable[[int, int], None]
Tick = Callable[[], None]


@dataclass
class Finding:
    """A text in one trace. Invariant: `numbers` are entries in order, each once; it only grows until `is_whole`."""

    query: Query
    session_id: str
    numbers: array[int] = field(default_factory=lambda: array("I"))
    is_whole: bool = False

    def step(self, number: int, step: int) -> int | None:
        """Return the next match from an entry (not included) on; past the end, the first from the other one."""
        found = self.numbers
        if not found:
            return None
        place = bisect_right(found, number) if step > 0 else bisect_left(found, number) - 1
        return found[place % len(found)]

    def first(self, number: int) -> int | None:
        """Return the match at an entry or after it, else the first of all."""
        return self.step(number - 1, 1)

    def holds(self, number: int) -> bool:
        """Tell whether an entry is a match."""
        place = bisect_left(self.numbers, number)
        return place < len(self.numbers) and self.numbers[place] == number

    def words(self, number: int) -> str:
        """Return where an entry stands among the matches: `match 3 of 17`, `17 matches so far`."""
        total = f"{len(self.numbers)}{'' if self.is_whole else '+'}"
        place = bisect_left(self.numbers, number)
        if place < len(self.numbers) and self.numbers[place] == number:
            return f"match {place + 1} of {total}"
        plural = "" if total == "1" else "es"
        return f"{total} match{plural}" + ("" if self.is_whole else " so far")


def find(trace: OpenTrace, finding: Finding, report: Report, tick: Tick) -> None:
    """Look through a trace; `tick` is called when there is more to show, `report` may raise to end it."""
    shown = 0.0
    for found in trace.search(finding.query):
        if isinstance(found, Scanned):
            report(found.done, found.total)
        else:
            finding.numbers.append(found[0])
        if monotonic() - shown > PACE_S and finding.numbers:
            shown = monotonic()
            tick()
    finding.is_whole = True
    tick()


@dataclass
class FoundEverywhere:
    """A text in all traces. `hits` only grows; `sessions` is how many were looked through."""

    query: Query
    hits: list[Hit] = field(default_factory=list)
    sessions: int = 0
    is_whole: bool = False
    is_cut: bool = False

    is_ended: bool = False  # by the operator, or by a fault, before all was looked through

    def words(self) -> str:
        """Return how much was found, in how many Sessions, and whether all were looked through."""
        some = f"{self.sessions} Session{'s' if self.sessions != 1 else ''}"
        still = "" if self.is_whole or self.is_ended else "still looking"
        if not self.hits:
            return still or (f"nowhere in {some}" if self.is_whole else "ended before anything was found")
        plus = "" if self.is_whole and not self.is_cut else "+"
        inside = len({hit.session_id for hit in self.hits})
        found = f"{len(self.hits)}{plus} in {inside} of {some}"
        return ", ".join(part for part in (found, still or ("" if self.is_whole else "ended early")) if part)


def find_everywhere(
    project: ProjectPaths,
    found: FoundEverywhere,
    report: Report,
    tick: Tick,
    wanted: Callable[[str], bool] = lambda session_id: True,
) -> None:
    """Look through the traces of all Sessions that are `wanted`, newest first, up to MOST_HITS results."""
    sessions = ProjectSessions(project)
    ids = sorted((one for one in sessions.session_ids() if wanted(one)), reverse=True)
    found.sessions = len(ids)
    shown = 0.0
    for one in search_sessions([(session_id, sessions.shards(session_id)) for session_id in ids], found.query):
        if isinstance(one, Scanned):
            report(one.done, one.total)
        else:
            found.hits.append(one)
            if len(found.hits) >= MOST_HITS:
                found.is_cut = True
                break
        if monotonic() - shown > PACE_S and found.hits:
            shown = monotonic()
            tick()
    found.is_whole = True
    tick()


__all__ = ["Finding", "FoundEverywhere", "Match", "Query", "find", "find_everywhere"]
