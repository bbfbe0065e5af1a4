"""Runs and Sessions: who is at work, how far, at what cost, and what they said last."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.evolution.run_paths import run_paths
from core.evolution.run_view import RunView
from core.foundation.errors import ExuviaError
from core.state.paths import OPERATOR_AGENT, AgentPaths, ProjectPaths
from core.traces.listing import SessionHead, read_head
from core.traces.shards import Shard, all_shards
from tui.stores.meters import Meter, Meters
from tui.stores.runs import LIVE, Runs, Subject
from tui.stores.session_lines import (
    ROLE_RUNS,
    RunLine,
    SessionLine,
    SessionsView,
    line_of,
    moment_of,
    names_of,
    of_run,
    tail_line,
)
from tui.stores.trace import OpenTrace
from tui.stores.trace_lines import TraceLine

if TYPE_CHECKING:
    from core.state.mailbox import Address

__all__ = ["RunLine", "SessionLine", "SessionsStore", "SessionsView"]

_TAIL_LINES = 60
_LIVE_BYTES = 4096
_MOST_SESSIONS = 1000
_WALK_S = 0.12


class SessionsStore:
    """Invariant: `_traces` holds open only what the last view tailed; `unread` says whether a next load knows more."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self.unread = True
        self._traces: dict[str, OpenTrace] = {}
        self._heads: dict[str, SessionHead] = {}
        self._told: dict[str, tuple[RunView, dict[str, SessionLine]]] = {}
        self._made: dict[str, tuple[SessionLine | None, Meter | None, SessionLine]] = {}
        self._meters = Meters(project)
        self._is_first = True

    def load(self, runs: Runs, subject: Subject | None) -> SessionsView:
        """Return the view; live runs and the newest one come with their last words."""
        from core.state import mailbox  # after the first paint

        views = sorted(runs.views, key=lambda view: (view.state in LIVE, view.started or view.updated), reverse=True)
        tailed = {view.run_id for view in views if view.state in LIVE} | {view.run_id for view in views[:1]}
        heard = {one.session_id: one for one in mailbox.listeners(self.project)}
        lines = tuple(self._line(view, runs.views, heard, with_tail=view.run_id in tailed) for view in views)
        wanted = {line.session_id for line in lines if line.run_id in tailed}
        for session_id in [known for known in self._traces if known not in wanted]:
            self._traces.pop(session_id).close()
        agent_id = subject.agent_id if subject else ""
        listed, more = self._listed(agent_id, runs, heard)
        return SessionsView(self._turns(lines), agent_id, tuple(listed), more, runs.damaged)

    # Runs

    def _line(
        self, view: RunView, others: Sequence[RunView], heard: Mapping[str, Address], *, with_tail: bool
    ) -> RunLine:
        from core.state import mailbox

        line = line_of(view, others)
        live = view.state in LIVE
        return replace(
            line,
            tail=self._tail(line.session_id, names_of(view)) if with_tail else (),
            said=self._said(line.session_id) if with_tail and live else (),
            beat_ms=self._beat(view) if live else None,
            listens=line.session_id in heard,
            told=tuple(word.text for word in mailbox.unread(self.project, line.session_id)) if line.session_id else (),
        )

    def _beat(self, view: RunView) -> int | None:
        """Return when a living engine last gave a sign of life; None for one of another program."""
        if view.observed:
            return None
        try:
            return run_paths(self.project, view.run_id).heartbeat.stat().st_mtime_ns // 1_000_000
        except (ExuviaError, OSError):
            return None

    def _tail(self, session_id: str, names: Mapping[str, str]) -> tuple[TraceLine, ...]:
        if not session_id:
            return ()
        try:
            if session_id not in self._traces:
                self._traces[session_id] = OpenTrace.open(self.project, session_id)
            self._traces[session_id].refresh()
            lines = self._traces[session_id].tail(2 * _TAIL_LINES)
        except (ExuviaError, OSError):
            return ()  # not written yet
        return tuple(tail_line(line, names) for line in lines if line.tone != "dim")[-_TAIL_LINES:]

    def _said(self, session_id: str) -> tuple[str, ...]:
        """Return the last lines of what streams in just now; nobody depends on it (ARCHITECTURE)."""
        try:
            with (self.project.live / f"{session_id}.txt").open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - _LIVE_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ()
        return tuple(line for line in text.split("\n") if line.strip())[-6:]

    # Other Sessions

    def _listed(self, agent_id: str, runs: Runs, heard: Mapping[str, Address]) -> tuple[list[SessionLine], int]:
        """Return the newest other Sessions of the agent in sight, and how many older ones there are.

        Where a journal tells of a Session its trace need not be opened; live chats of any agent are among them.
        """
        own = {s.session_id for view in runs.views for s in view.sessions if s.role in ("builder", "optimizer")}
        places: dict[str, tuple[AgentPaths, tuple[Shard, ...]]] = {}
        told: dict[str, SessionLine] = {}
        for name in dict.fromkeys((agent_id, OPERATOR_AGENT)) if agent_id else ():
            agent = self.project.agent(name)
            places.update({session_id: (agent, shards) for session_id, shards in all_shards(agent).items()})
        for view in runs.views:
            if view.agent_id == agent_id:
                told.update(self._told_of(view, own))
        chats = {one.session_id: one for one in heard.values() if one.role == "chat"}
        for one in chats.values():
            if one.session_id not in places and one.agent_id in self.project.agent_ids():
                agent = self.project.agent(one.agent_id)
                shards = all_shards(agent).get(one.session_id, ())
                places.update({one.session_id: (agent, shards)} if shards else {})
        known = {s for s in places if s in told or s in chats or (places[s][0].id == agent_id and s not in own)}
        wanted = sorted(known | told.keys() | chats.keys(), key=moment_of, reverse=True)
        shown = wanted[:_MOST_SESSIONS]
        metered = [places[s][1] for s in (*sorted(own), *shown) if s in places and places[s][1]]
        # The first view is what is painted first, so nothing is counted for it.
        self.unread = not self._meters.walk(metered, _WALK_S if not self._is_first else -1.0)
        self._is_first = False
        lines = [self._session(s, told.get(s), places.get(s), chats.get(s)) for s in shown]
        return lines, max(0, len(wanted) - _MOST_SESSIONS)

    def _told_of(self, view: RunView, own: set[str]) -> dict[str, SessionLine]:
        """Return what a run's journal tells of Sessions, made anew only where it told more."""
        known = self._told.get(view.run_id)
        if known is None or known[0] is not view:
            known = self._told[view.run_id] = (view, of_run(view, own))
        return known[1]

    def _session(
        self,
        session_id: str,
        told: SessionLine | None,
        place: tuple[AgentPaths, tuple[Shard, ...]] | None,
        chat: Address | None,
    ) -> SessionLine:
        used = self._meters.of(session_id)
        made = self._made.get(session_id)
        if made is not None and made[0] is told and made[1] is used and not made[2].live and chat is None:
            return made[2]
        agent_id = place[0].id if place else chat.agent_id if chat else ""
        line = told
        if line is None:
            head = self._head(*place) if place else None
            role = "chat" if chat else (head.source if head else "")
            title = head.title if head else ""
            line = SessionLine(session_id, title, "", "", None, role, head.first_ts if head else "")
        live = line.live or chat is not None
        beat = _written(place[1]) if live and place else None
        line = replace(line, agent_id=agent_id, used=used, live=live, listens=chat is not None, beat_ms=beat)
        self._made[session_id] = (told, used, line)
        return line

    def _head(self, agent: AgentPaths, shards: tuple[Shard, ...]) -> SessionHead | None:
        known = self._heads.get(shards[0].session_id)
        if known is not None and known.is_complete:
            return known
        head = read_head(agent, shards)
        if head is not None:
            self._heads[head.session_id] = head
        return head

    def _turns(self, lines: tuple[RunLine, ...]) -> tuple[RunLine, ...]:
        """Return runs with the turns of their own Sessions; a Trial and an Evaluation have none, only their cells'."""
        found = ((line, self._meters.of(line.session_id) if line.kind in ROLE_RUNS else None) for line in lines)
        return tuple(line if used is None else replace(line, turns=used.turns) for line, used in found)


def _written(shards: tuple[Shard, ...]) -> int | None:
    try:
        return max(os.stat(shard.path).st_mtime_ns for shard in shards) // 1_000_000  # noqa: PTH116 (shards are many)
    except (OSError, ValueError):
        return None
