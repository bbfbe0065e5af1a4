"""Runs and Sessions: who is at work, how far, at what cost, and what they said last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.evolution.run_view import RunView
from core.foundation.clock import parse_ms
from core.foundation.errors import ExuviaError
from core.state.paths import OPERATOR_AGENT, ProjectPaths
from core.traces.listing import SessionHead, list_sessions
from tui.stores.runs import LIVE, Runs, Subject
from tui.stores.trace import OpenTrace
from tui.stores.trace_lines import TraceLine

ROLES = {"build": "Builder", "optimize": "Optimizer", "try": "Trial", "evaluate": "Evaluation"}
_TAIL_LINES = 40
_LIVE_BYTES = 4096
_MOST_SESSIONS = 300


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as the Sessions pane shows it. `step` is how far ("pilot 2/4"), `cases` what its Targets work on now.

    `cost` is USD as far as known and `unknown` the number of requests or cells whose cost nobody told.
    """

    run_id: str
    role: str
    state: str
    agent_id: str
    benchmark_id: str
    phase: str
    step: str
    cases: tuple[str, ...]
    cost: float
    unknown: int
    tokens: int
    started_ms: int | None
    updated_ms: int | None
    model: str
    session_id: str
    reason: str = ""
    approval_id: str = ""
    tail: tuple[TraceLine, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def is_live(self) -> bool:
        return self.state in LIVE


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A Session of the agent in sight; `case_id`, `state` and `score` are those of the cell that it filled, if any."""

    session_id: str
    title: str
    case_id: str
    state: str
    score: float | None
    role: str
    time: str


@dataclass(frozen=True, slots=True)
class SessionsView:
    runs: tuple[RunLine, ...] = ()
    agent_id: str = ""
    sessions: tuple[SessionLine, ...] = ()
    more: int = 0
    damaged: tuple[str, ...] = ()

    @property
    def live(self) -> tuple[RunLine, ...]:
        return tuple(run for run in self.runs if run.is_live)


class SessionsStore:
    """Invariant: `_traces` holds open only what the last view tailed."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self._traces: dict[str, OpenTrace] = {}
        self._heads: dict[str, dict[str, SessionHead]] = {}

    def load(self, runs: Runs, subject: Subject | None) -> SessionsView:
        """Return the view; live runs and the newest one come with their last words."""
        views = sorted(runs.views, key=lambda view: (view.state in LIVE, view.started or view.updated), reverse=True)
        tailed = {view.run_id for view in views if view.state in LIVE} | {view.run_id for view in views[:1]}
        lines = tuple(self._line(view, with_tail=view.run_id in tailed) for view in views)
        wanted = {line.session_id for line in lines if line.run_id in tailed}
        for session_id in [known for known in self._traces if known not in wanted]:
            self._traces.pop(session_id).close()
        agent_id = subject.agent_id if subject else ""
        sessions = self._sessions(agent_id, runs) if agent_id else ()
        return SessionsView(
            lines, agent_id, sessions[:_MOST_SESSIONS], max(0, len(sessions) - _MOST_SESSIONS), runs.damaged
        )

    def _line(self, view: RunView, *, with_tail: bool) -> RunLine:
        role = ROLES.get(view.kind, view.kind)
        wanted = {"build": ("builder",), "optimize": ("optimizer",)}.get(view.kind, ())
        own = [session for session in view.sessions if session.role in ("builder", "optimizer")]
        if view.kind == "build" and own and own[-1].role == "optimizer":
            role, wanted = "Optimizer", ("optimizer",)  # a Builder's run that goes on to optimize
        mine = [session for session in own if not wanted or session.role in wanted] or list(view.sessions)
        session_id = mine[-1].session_id if mine else ""
        model = view.spec.get("model")
        pair = f"{model.get('provider')}/{model.get('model_id')}" if isinstance(model, dict) else ""
        return RunLine(
            run_id=view.run_id,
            role=role,
            state=view.state,
            agent_id=view.agent_id,
            benchmark_id=view.benchmark_id,
            phase=view.phase,
            step=step_of(view),
            cases=tuple(dict.fromkeys(c.case_id for c in view.cells if c.state in ("running", "repairing"))),
            cost=view.spent.usd or view.cost_known,
            unknown=view.spent.unknown_requests or view.cost_unknown,
            tokens=view.spent.tokens,
            started_ms=parse_ms(view.started) if view.started else None,
            updated_ms=parse_ms(view.updated) if view.updated else None,
            model=pair,
            session_id=session_id,
            reason=view.reason,
            approval_id=view.approval_id or "",
            tail=self._tail(session_id, names_of(view)) if with_tail else (),
            said=self._said(session_id) if with_tail and view.state in LIVE else (),
        )

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
        return tuple(
            replace(line, text=names.get(line.leads_to, line.text)) if line.kind == "starts" else line
            for line in lines
            if line.tone != "dim"
        )[-_TAIL_LINES:]

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

    def _sessions(self, agent_id: str, runs: Runs) -> tuple[SessionLine, ...]:
        agent = self.project.agent(agent_id)
        heads = list_sessions(agent, self._heads.get(agent_id))
        self._heads[agent_id] = {head.session_id: head for head in heads}
        roles = {session.session_id: session.role for view in runs.views for session in view.sessions}
        cells = {cell.session_id: cell for view in runs.views for cell in view.cells if cell.session_id}
        lines: list[SessionLine] = []
        for head in heads:
            cell = cells.get(head.session_id)
            case_id, state, score = (cell.case_id, cell.state, cell.score) if cell else ("", "", None)
            title = head.title
            role = roles.get(head.session_id) or head.source
            lines.append(SessionLine(head.session_id, title, case_id, state, score, role, head.first_ts))
        return tuple(lines)


def names_of(view: RunView) -> dict[str, str]:
    """Return what each Session of a run is, in words: `evaluator of CASE-001-... run 1`."""
    cells = {cell.cell: f"{cell.case_id} run {cell.run}" for cell in view.cells}
    return {
        session.session_id: f"{session.role} of {cells.get(session.cell or '', session.cell)}"
        if session.cell
        else session.role
        for session in view.sessions
    }


def step_of(view: RunView) -> str:
    """Return how far a run is: pilot i of N, round r of N."""
    spec = view.spec
    if view.kind == "optimize" or view.rounds:
        goal = spec if view.kind == "optimize" else (spec.get("then_optimize") or {})
        return f"round {len(view.rounds)}/{goal.get('rounds', '?')}"
    if view.kind == "build":
        under_way = max((cell.index for cell in view.cells if cell.stage == "pilot"), default=0)
        return f"pilot {max(under_way, len(view.pilots))}/{spec.get('pilots', '?')}"
    done = sum(cell.state == "scored" for cell in view.cells)
    return f"{done}/{len(view.cells)} cells" if view.cells else ""


def is_operator(agent_id: str) -> bool:
    """Tell whether an agent is the one that runs the loop itself."""
    return agent_id == OPERATOR_AGENT
