"""Every Session of a Project, found by id or by Workspace, and what the scoreboards say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.state.paths import AgentPaths, ProjectPaths
from core.traces.listing import SessionHead, again, read_head
from core.traces.shards import Shard, all_shards


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A Run on a scoreboard. `run` counts from 1 in its Case; `evaluation` is the row's place in the file, from 0."""

    agent_id: str
    benchmark_id: str
    evaluation: int
    version: int
    case_id: str
    run: int
    score: float
    session_id: str


class ProjectSessions:
    """The Sessions of all agents of a Project as they were when it was made; heads are read once, when asked for.

    `known` are heads of an earlier time by session id, used again where their files cannot say anything else now.
    """

    def __init__(self, project: ProjectPaths, known: Mapping[str, SessionHead] | None = None) -> None:
        self.project = project
        self._known: Mapping[str, SessionHead] = known or {}
        self._found: dict[str, tuple[AgentPaths, tuple[Shard, ...]]] = {}
        for agent_id in project.agent_ids():
            agent = project.agent(agent_id)
            for session_id, shards in all_shards(agent).items():
                self._found.setdefault(session_id, (agent, shards))
        self._heads: dict[str, SessionHead | None] = {}
        self._by_workspace: dict[str, list[SessionHead]] | None = None
        self._scored: dict[str, list[ScoredRun]] | None = None
        self._places: dict[tuple[str, str, str, str, str], list[ScoredRun]] | None = None

    def agent_of(self, session_id: str) -> AgentPaths | None:
        """Return the agent in whose directory the Session lies."""
        found = self._found.get(session_id)
        return found[0] if found else None

    def session_ids(self) -> tuple[str, ...]:
        """Return the ids of all Sessions, those of one agent together, newest id first."""
        return tuple(self._found)

    def shards(self, session_id: str) -> tuple[Shard, ...]:
        """Return the Session's files in reading order, () where there is no such Session."""
        found = self._found.get(session_id)
        return found[1] if found else ()

    def head(self, session_id: str) -> SessionHead | None:
        """Return the Session's head, None where there is no such Session."""
        if session_id not in self._heads:
            found = self._found.get(session_id)
            self._heads[session_id] = (
                (again(self._known.get(session_id), found[1]) or read_head(*found)) if found else None
            )
        return self._heads[session_id]

    def at_workspace(self, workspace: str) -> tuple[SessionHead, ...]:
        """Return the Sessions that worked in `workspace`, oldest first; reads every head the first time."""
        if self._by_workspace is None:
            self._by_workspace = {}
            for session_id in sorted(self._found):
                head = self.head(session_id)
                if head is not None and head.workspace:
                    self._by_workspace.setdefault(head.workspace.rstrip("/"), []).append(head)
        heads = self._by_workspace.get(workspace.rstrip("/"), ())
        return tuple(sorted(heads, key=lambda head: (head.first_ts, head.session_id)))

    def scored(self, session_id: str) -> tuple[ScoredRun, ...]:
        """Return the scoreboard Runs that name the Session."""
        return tuple(self._all_scored().get(session_id, ()))

    def scored_runs(self) -> tuple[ScoredRun, ...]:
        """Return every Run of every scoreboard of the Project."""
        return tuple(run for runs in self._all_scored().values() for run in runs)

    def scored_at(self, place: tuple[str, str, str, str, str]) -> tuple[ScoredRun, ...]:
        """Return the Runs at (agent, benchmark, version, Case, run), as a request names them."""
        if self._places is None:
            self._places = {}
            for run in self.scored_runs():
                key = (run.agent_id, run.benchmark_id, str(run.version), run.case_id, str(run.run))
                self._places.setdefault(key, []).append(run)
        return tuple(self._places.get(place, ()))

    def _all_scored(self) -> dict[str, list[ScoredRun]]:
        if self._scored is None:
            self._scored = {}
            for agent_id in self.project.agent_ids():
                for run in _scoreboard_runs(self.project.agent(agent_id)):
                    self._scored.setdefault(run.session_id, []).append(run)
        return self._scored


def _scoreboard_runs(agent: AgentPaths) -> list[ScoredRun]:
    from core.state.scoreboard import read_scoreboard  # YAML and validation are wanted by few who read traces

    runs: list[ScoredRun] = []
    for benchmark_id in agent.benchmark_ids():
        scoreboard = agent.benchmarks / benchmark_id / "scoreboard.yaml"
        for place, evaluation in enumerate(read_scoreboard(scoreboard).evaluations):
            for case in evaluation.cases:
                for number, run in enumerate(case.runs, 1):
                    scored = ScoredRun(
                        agent_id=agent.id,
                        benchmark_id=benchmark_id,
                        evaluation=place,
                        version=evaluation.version,
                        case_id=case.case,
                        run=number,
                        score=run.score,
                        session_id=run.session_id,
                    )
                    runs.append(scored)
    return runs
