"""What is new in a project: every event of its runs, decisions and scoreboards, told once (`exuvia --plain`).

Only core is read, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core import __version__
from core.curation.training_run import OVER
from core.evolution import runs
from core.evolution.observed_project import Observer
from core.evolution.run_view import RunView
from core.evolution.specs import run_paths
from core.foundation.clock import now_s
from core.foundation.errors import ExuviaError
from core.state import approvals, audit
from core.state.agents import list_agents
from core.state.benchmark import read_benchmark
from core.state.paths import OPERATOR_AGENT, ProjectPaths
from core.state.scoreboard import read_scoreboard
from tui.cli import lines
from tui.cli.lines import Line, Teller
from tui.cli.news_training import TrainingWatcher, standing_facts, standing_lines

LIVE = frozenset({"running", "waiting"})
AGENTS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Told:
    """An event as it is printed: when (ISO 8601, UTC), of which run ("" where of none), and what."""

    time: str
    run_id: str
    line: Line


@dataclass
class Watcher:
    """What has been told of a project.

    Invariant: `look` returns each event once, and never one from before the first `look`, whose facts are the
    standing.
    """

    project: ProjectPaths
    home: str = ""  # what a command needs after its words to work on the same home
    _views: dict[str, RunView] = field(default_factory=dict)
    _stamps: dict[str, tuple[int, int]] = field(default_factory=dict)
    _tellers: dict[str, Teller] = field(default_factory=dict)
    _asked: dict[str, approvals.Approval] = field(default_factory=dict)
    _audited: int = 0
    _scored: dict[tuple[str, str], int] = field(default_factory=dict)
    _seen: dict[Path, tuple[int, int]] = field(default_factory=dict)
    _unreadable: set[str] = field(default_factory=set)
    _begun: bool = False

    def __post_init__(self) -> None:
        self._observer = Observer(self.project)
        self._training = TrainingWatcher(self.project)

    def look(self) -> tuple[Told, ...]:
        """Read what changed since the last look and return it as events, in the order to tell it."""
        news = [*self._runs(), *self._observed(), *self._waiting(), *self._audit(), *self._boards()]
        news += [Told(*found) for found in self._training.look()]
        if self._begun:
            return tuple(news)
        self._begun = True
        return ()

    @property
    def live(self) -> tuple[RunView, ...]:
        """The runs at work, oldest first."""
        return tuple(self._views[name] for name in sorted(self._views) if self._views[name].state in LIVE)

    @property
    def waiting(self) -> tuple[approvals.Approval, ...]:
        """What waits for a person, oldest first."""
        return tuple(self._asked.values())

    def _runs(self) -> Iterator[Told]:
        try:
            names = sorted(
                (entry.name for entry in self.project.runs.iterdir() if entry.is_dir()),
                key=lambda name: name.partition("-")[2] + name,
            )
        except FileNotFoundError:
            names = []
        for name in names:
            before = self._views.get(name)
            stamp = _stamp(run_paths(self.project, name).journal)
            # An ended run stays ended until its journal grows; a live one may have died without a word.
            if before is not None and stamp == self._stamps.get(name) and before.state not in LIVE:
                continue
            try:
                view = runs.read_run(self.project, name)
            except (ExuviaError, OSError) as error:
                yield from self._not_read(name, str(error))
                continue
            self._views[name], self._stamps[name] = view, stamp
            yield from self._of_run(name, before, view)

    def _observed(self) -> Iterator[Told]:
        """Tell of runs that another program makes here, as far as its traces tell (`core.evolution.observed`)."""
        told: set[str | None] = set()
        for view in self._views.values():
            if not view.observed:
                told |= {session.session_id for session in view.sessions}
                told |= {found for cell in view.cells for found in (cell.session_id, cell.evaluator_session_id)}
        for view in self._observer.read(frozenset(name for name in told if name)):
            before = self._views.get(view.run_id)
            if view != before:
                self._views[view.run_id] = view
                yield from self._of_run(view.run_id, before, view)

    def _changed(self, path: Path) -> bool:
        """Tell whether a file is another than at the last look."""
        stamp = _stamp(path)
        if self._seen.get(path) == stamp:
            return False
        self._seen[path] = stamp
        return True

    def _of_run(self, name: str, before: RunView | None, view: RunView) -> Iterator[Told]:
        teller = self._tellers.setdefault(name, Teller(end=False))
        when = view.updated or now_s()
        if view.state in LIVE and (before is None or before.state not in LIVE):
            yield Told(view.started if before is None else when, name, lines.begun(view))
        for line in teller.lines(view):
            yield Told(when, name, line)
        if view.state not in LIVE and (before is None or before.state in LIVE):
            for line in lines.closed(view):
                yield Told(now_s() if view.state == "dead" else when, name, line)

    def _not_read(self, name: str, why: str) -> Iterator[Told]:
        if name not in self._unreadable:
            self._unreadable.add(name)
            yield Told(now_s(), name, Line(f"unreadable {name}", "unreadable", f"run {name} cannot be read: {why}"))

    def _waiting(self) -> Iterator[Told]:
        asked = {approval.id: approval for approval in approvals.pending(self.project)}
        for key, approval in asked.items():
            if key not in self._asked:
                yield Told(approval.created, approval.run_id, self._wait_line(approval))
        self._asked = asked  # what was decided is told by the audit, with who did it

    def _wait_line(self, approval: approvals.Approval) -> Line:
        return lines.waits(approval, home=self.home)

    def _audit(self) -> Iterator[Told]:
        if not self._changed(self.project.audit):
            return
        entries = audit.read(self.project)
        for entry in entries[min(self._audited, len(entries)) :]:
            yield Told(entry.time, "", lines.decided(entry))
        self._audited = len(entries)

    def _boards(self) -> Iterator[Told]:
        """Tell of evaluations that no run of ours made: another program at work in the same home."""
        busy = {view.agent_id for view in self._views.values() if view.state in LIVE and not view.observed}
        for agent_id in self.project.agent_ids():
            agent = self.project.agent(agent_id)
            for name in agent.benchmark_ids():
                if not self._changed(agent.benchmark(name).scoreboard):
                    continue
                board = read_scoreboard(agent.benchmark(name).scoreboard).evaluations
                known = self._scored.get((agent_id, name), 0)
                self._scored[agent_id, name] = len(board)
                for found in board[known:] if self._begun and agent_id not in busy else ():
                    text = f"{agent_id} on {name}: v{found.version} scored {lines.points(found.score)}"
                    values = {"agent_id": agent_id, "benchmark_id": name, "version": found.version}
                    yield Told(now_s(), "", Line(text, "evaluation", text, {**values, "score": found.score}))

    def standing(self) -> tuple[list[str], dict[str, Any]]:
        """Return where things stand, as lines for people and as values."""
        agents = [summary for summary in list_agents(self.project) if summary.id != OPERATOR_AGENT]
        rows = [self._agent(summary.id, summary.version, summary.problem) for summary in agents]
        # Those that were measured first: the others and the example say little.
        order = sorted(range(len(rows)), key=lambda index: _weight(rows[index][1]))
        said = [f"Exuvia {__version__}. Project {self.project.id} in {self.project.root.parent}."]
        said += [rows[index][0] for index in order[:AGENTS_SHOWN]]
        if len(order) > AGENTS_SHOWN:
            said.append(f"and {len(order) - AGENTS_SHOWN} more agents: exuvia agent list{self.home}")
        if not agents:
            said.append(
                f"No agents yet. Make one: exuvia agent create ID --requirement TEXT{self.home}, or: exuvia demo"
            )
        trained = self._training.runs
        at_work = [lines.at_work(view) for view in self.live]
        said += at_work if at_work or any(run.state not in OVER for run in trained) else ["No run is at work."]
        said += standing_lines(trained)
        waits = [self._wait_line(approval).text for approval in self.waiting]
        said += waits or ["Nothing waits for you."]
        values = {
            "version": __version__,
            "home": str(self.project.root.parent),
            "project": self.project.id,
            "agents": [rows[index][1] for index in order],
            "live": [
                {"run_id": view.run_id, "state": view.state, "phase": view.phase, "agent_id": view.agent_id}
                for view in self.live
            ],
            "training": standing_facts(trained),
            "waiting": [dict(self._wait_line(approval).facts) for approval in self.waiting],
        }
        return said, values

    def _agent(self, agent_id: str, version: int, problem: str) -> tuple[str, dict[str, Any]]:
        if problem:
            return f"agent {agent_id}: cannot be used: {problem}", {"agent_id": agent_id, "score": None, "why": problem}
        agent = self.project.agent(agent_id)
        scores, latest = [], None
        for name in agent.benchmark_ids():
            board = read_benchmark(agent.benchmark(name)).reading.evaluations
            if board:
                last = board[-1]
                mark = {"rehearsal": " (rehearsal)", "example": " (example data)"}.get(last.provider, "")
                scores.append(f"{lines.points(last.score)} on {name} by v{last.version}{mark}")
                latest = {"benchmark_id": name, "version": last.version, "score": last.score, "provider": last.provider}
        said = f"agent {agent_id}: v{version}, {'; '.join(scores) or 'no score yet'}"
        return said, {"agent_id": agent_id, "version": version, "score": latest and latest["score"], "latest": latest}


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


def _weight(row: dict[str, Any]) -> int:
    if row["score"] is None:
        return 2
    return 1 if row["latest"]["provider"] == "example" else 0
