"""All Sessions of a Project as a tree: who started whom, for which Case, how it stands, and what it cost.

It is read in three steps, each shown as it is there: heads and ends of the files; what runs and scoreboards say; then,
file by file, what every Session counted and whom it started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import time_ns

from core.evolution.run_view import RunView
from core.foundation.clock import parse_ms
from core.state.paths import ProjectPaths
from core.traces.cost import Prices, usage_cost
from core.traces.digest import Digest, protocol_fields
from core.traces.digests import Digests
from core.traces.forest import parents_of
from core.traces.listing import SessionHead, stamps
from core.traces.outline import Outline, read_outline
from core.traces.project_sessions import ProjectSessions
from core.traces.tree import role_of
from tui.stores.prices import prices_of
from tui.stores.runs import LIVE, Runs
from tui.stores.trace_rows import Fact, Listing, SessionRow, facts_of_runs, ordered, parents_of_runs

DIGESTED_UNASKED = 16 << 20
"""Bytes of a Session; what a larger one cost is counted when somebody looks at it."""
FRESH_S = 120
"""A Session of nobody's run that was written so lately may still be at work."""
ROLES = ("builder", "optimizer", "evaluator", "target", "subagent", "session")

Report = Callable[[int, int], None]


class SessionsOfProject:
    """Reads listings, again and again. One thread at a time.

    Invariant: heads, outlines and digests kept are of the files with the stamps kept beside them.
    """

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self._runs = Runs(project)
        self._heads: dict[str, SessionHead] = {}
        self._outlines: dict[str, tuple[object, Outline]] = {}
        self._digests = Digests()
        self._asked: set[str] = set()
        self._scores: tuple[object, dict[str, tuple[float, str, int, int]]] = ((), {})
        self.prices: Prices = {}

    def count(self, session_id: str) -> None:
        """Let the next listing count a Session however large it is."""
        self._asked.add(session_id)

    def listings(self, report: Report = lambda done, total: None) -> Iterator[Listing]:
        """Yield what is known of all Sessions, more each time. `report` may raise to end it."""
        sessions = ProjectSessions(self.project, self._heads)
        ids = sessions.session_ids()
        heads = {session_id: head for session_id in ids if (head := sessions.head(session_id)) is not None}
        self._heads = heads
        self._outline(heads)
        if not self._runs.views:
            yield self._listing(sessions, heads, (), is_counted=False)
        views = self._runs.read()
        self.prices = prices_of(self.project)
        if not self._knows_all(heads):
            yield self._listing(sessions, heads, views, is_counted=False)
        self._score(sessions)
        yield from self._counted(sessions, heads, views, report)

    def _counted(
        self,
        sessions: ProjectSessions,
        heads: Mapping[str, SessionHead],
        views: tuple[RunView, ...],
        report: Report,
    ) -> Iterator[Listing]:
        waiting = [head for head in heads.values() if self._wants(head)]
        of_runs = _of_runs(views)
        total, done, shown = sum(head.size for head in waiting), 0, time_ns()
        for head in sorted(waiting, key=lambda head: head.size):
            is_open = self._state(head, of_runs) == "running"
            for count in self._digests.read(head.session_id, head.files, is_open=is_open):
                done += count
                report(min(done, total), total)
            if time_ns() - shown > 700_000_000:
                shown = time_ns()
                yield self._listing(sessions, heads, views, is_counted=False)
        self._digests.forget_but(frozenset(heads))
        yield self._listing(sessions, heads, views, is_counted=True)

    def _wants(self, head: SessionHead) -> bool:
        if self._digests.known(head.session_id, head.files) is not None:
            return False
        return head.size <= DIGESTED_UNASKED or head.session_id in self._asked

    def _knows_all(self, heads: Mapping[str, SessionHead]) -> bool:
        return bool(self._scores[0]) and not any(self._wants(head) for head in heads.values())

    def _outline(self, heads: Mapping[str, SessionHead]) -> None:
        old, self._outlines = self._outlines, {}
        for session_id, head in heads.items():
            stamp = stamps(head.files)
            kept = old.get(session_id)
            self._outlines[session_id] = kept if kept and kept[0] == stamp else (stamp, read_outline(head.files))

    def _score(self, sessions: ProjectSessions) -> None:
        """Take in what the scoreboards say, where one has changed."""
        boards = [
            agent.benchmark(name).scoreboard
            for agent in map(self.project.agent, self.project.agent_ids())
            for name in agent.benchmark_ids()
        ]
        stats = ((path, _stat(path)) for path in boards)
        stamp = tuple((path, stat.st_size, stat.st_mtime_ns) for path, stat in stats if stat is not None) or ("none",)
        if stamp != self._scores[0]:
            found = {run.session_id: (run.score, run.case_id, run.run, run.version) for run in sessions.scored_runs()}
            self._scores = stamp, found

    # Rows

    def _listing(
        self,
        sessions: ProjectSessions,
        heads: Mapping[str, SessionHead],
        views: tuple[RunView, ...],
        *,
        is_counted: bool,
    ) -> Listing:
        digests = {session_id: said for session_id in heads if (said := self._digests.latest(session_id)) is not None}
        links = parents_of(sessions, digests)
        parents = {child: above for child, (above, _) in links.items()}
        from_runs = parents_of_runs(views)
        parents |= {child: above for child, above in from_runs.items() if above in heads and child not in parents}
        facts, of_runs = facts_of_runs(views), _of_runs(views)
        rows: dict[str, SessionRow] = {}
        for session_id, head in heads.items():
            row = self._row(head, digests.get(session_id), facts.get(session_id), self._state(head, of_runs))
            if session_id not in facts:
                scored = sessions.scored(session_id) if session_id in self._scores[1] else ()
                row = replace(
                    row, role=role_of(head, links[session_id][1].kind if session_id in links else None, scored)
                )
            rows[session_id] = row
        for said in digests.values():
            for pointer in said.pointers:
                if pointer not in rows and pointer in parents:
                    rows[pointer] = SessionRow(pointer, "", "subagent", "missing", title="its trace is missing")
        return Listing(ordered(rows, parents), is_counted)

    def _row(self, head: SessionHead, said: Digest | None, fact: Fact | None, state: str) -> SessionRow:
        outline = self._outlines[head.session_id][1]
        first, last = parse_ms(head.first_ts), parse_ms(outline.last_ts)
        requests = sum(part.requests for part in said.usage) if said is not None else 0
        cost = usage_cost(said.usage, self.prices) if said is not None and requests else None
        tokens = outline.tokens.total if outline.tokens is not None else None
        if said is not None and any(part.requests > part.unknown for part in said.usage):
            tokens = sum(part.tokens.total for part in said.usage)
        row = SessionRow(
            head.session_id,
            head.agent_id,
            fact.role if fact is not None else "session",
            state,
            head.title,
            first_ts=head.first_ts,
            ms=None if first is None or last is None else max(0, last - first),
            tokens=tokens,
            cost=cost.known_usd if cost is not None else None,
            unknown=cost.unknown_requests if cost is not None else 0,
            is_counted=said is not None,
            reason=head.fault or (outline.reason if state == "failed" else ""),
            model=f"{head.provider}/{head.model_id}" if head.model_id else "",
            workspace=head.workspace,
            prompt=head.prompt[:2000],
            size=head.size,
        )
        scored = self._scores[1].get(head.session_id)
        if scored is not None:
            score, case_id, run, version = scored
            row = replace(row, score=score, case_id=case_id, run=run, version=version)
        elif fact is None and (asked := protocol_fields(head.prompt)):
            row = replace(
                row, case_id=asked["case_id"], run=_number(asked["run"]), version=_number(asked["expected_version"])
            )
        return fact.on(row) if fact is not None else row

    def _state(self, head: SessionHead, of_runs: Mapping[str, bool]) -> str:
        """Return running, done, failed or cut. `of_runs` tells of each Session of a run whether the run is live."""
        outline = self._outlines[head.session_id][1]
        if head.fault:
            return "failed"
        if outline.state in ("done", "failed"):
            return outline.state
        if head.session_id in of_runs:
            return "running" if of_runs[head.session_id] else "cut"
        written = max((shard.mtime_ns for shard in head.files), default=0)
        return "cut" if time_ns() - written > FRESH_S * 1_000_000_000 else "running"


def _of_runs(views: tuple[RunView, ...]) -> dict[str, bool]:
    """Return of each Session of a run whether the run is live."""
    return {session.session_id: view.state in LIVE for view in views for session in view.sessions}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
