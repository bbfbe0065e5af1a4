"""A run and a Session as the Sessions pane shows them, made from what journals and traces tell. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from core.evolution.run_view import CellView, RunView
from core.foundation.clock import parse_ms
from tui.stores.runs import LIVE

if TYPE_CHECKING:
    from tui.stores.meters import Meter
    from tui.stores.trace_lines import TraceLine

ROLES = {
    "build": "Builder",
    "optimize": "Optimizer",
    "curate": "Curator",
    "try": "Trial",
    "evaluate": "Evaluation",
}
RUNNING = frozenset({"running", "repairing"})
ROLE_RUNS = frozenset({"build", "optimize", "curate"})
"""Kinds of run with a Session of their own, a Builder's, an Optimizer's or (the latest of several) a curator's."""
_STEERING = re.compile(r"^\[user_steering\]\s*(.*?)\s*(\[/user_steering\])?$", re.DOTALL)
_ID_TIME = re.compile(r"(\d{4}-\d\d-\d\d)-(\d\d)-(\d\d)-(\d\d)")


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as the Sessions pane shows it; an `observed` one is another program's, and out of our reach.

    `step` is how far it is ("pilot 2/4"), `cases` what its Targets work on now, `then` what the operator may start
    next, `came` what it came to. `cost` is USD as far as known and `unknown` the number of requests or cells whose
    cost nobody told, as are `tokens` of the whole run, with all Sessions below; `turns` are the requests of its own
    Session, None where they are not counted yet. `beat_ms` is
    the last sign of life of a living engine; `told` are words of the operator that its Session has yet to read,
    `waits` how many questions wait.
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
    observed: bool = False
    kind: str = ""
    turns: int | None = None
    beat_ms: int | None = None
    listens: bool = False
    told: tuple[str, ...] = ()
    then: str = ""
    waits: int = 0
    came: str = ""

    @property
    def is_live(self) -> bool:
        return self.state in LIVE


@dataclass(frozen=True, slots=True)
class SessionLine:
    """Any other Session: an Evaluator's, a Target's, a chat.

    `case_id`, `run` (1-based; 0 where the stage has one run a Case, or there is no cell), `stage` ("pilot 2"), `state`
    and `score` are those of the cell that it filled, if any; `used` is None until its trace was read. `beat_ms` is
    when a live one wrote last; `listens` says that words can be sent to it.
    """

    session_id: str
    title: str
    case_id: str
    state: str
    score: float | None
    role: str
    time: str
    agent_id: str = ""
    run_id: str = ""
    stage: str = ""
    run: int = 0
    used: Meter | None = None
    duration_ms: int | None = None
    live: bool = False
    listens: bool = False
    beat_ms: int | None = None

    @property
    def about(self) -> str:
        """What it is about: its Case, with the run where there are several, else its title."""
        return f"{self.case_id} run {self.run}" if self.case_id and self.run else self.case_id or self.title


@dataclass(frozen=True, slots=True)
class SessionsView:
    """Runs, live ones first, and the Sessions of `agent_id`; `more` are older ones that aren't listed."""

    runs: tuple[RunLine, ...] = ()
    agent_id: str = ""
    sessions: tuple[SessionLine, ...] = ()
    more: int = 0
    damaged: tuple[str, ...] = ()

    @property
    def live(self) -> tuple[RunLine, ...]:
        return tuple(run for run in self.runs if run.is_live)


def line_of(view: RunView, others: Sequence[RunView] = ()) -> RunLine:
    """Return the line of a run as far as its view tells; `others` are the runs that may have followed it."""
    role = ROLES.get(view.kind, view.kind)
    wanted = {"build": ("builder",), "optimize": ("optimizer",), "curate": ("curator",)}.get(view.kind, ())
    own = [session for session in view.sessions if session.role in ("builder", "optimizer", "curator")]
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
        cases=tuple(dict.fromkeys(c.case_id for c in view.cells if c.state in RUNNING)) if view.state in LIVE else (),
        cost=view.spent.usd or view.cost_known,
        unknown=view.spent.unknown_requests or view.cost_unknown,
        tokens=view.spent.tokens,
        started_ms=parse_ms(view.started) if view.started else None,
        updated_ms=parse_ms(view.updated) if view.updated else None,
        model=pair,
        session_id=session_id,
        reason=view.reason,
        approval_id=view.approval_id or "",
        observed=view.observed,
        kind=view.kind,
        then=then_of(view, others),
        waits=len(view.waiting_for),
        came=came_of(view),
    )


def of_run(view: RunView, own: set[str]) -> dict[str, SessionLine]:
    """Return the Sessions that a run's journal tells of, the roles' own left out."""
    cells = {cell.cell: cell for cell in view.cells}
    lines: dict[str, SessionLine] = {}
    for session in view.sessions:
        if session.session_id in own:
            continue
        cell = cells.get(session.cell or "")
        if cell is None:
            cell = next((c for c in view.cells if session.session_id in (c.session_id, c.evaluator_session_id)), None)
        lines[session.session_id] = _of_cell(view, session.role, session.session_id, cell)
    for cell in view.cells:  # a journal of an older run may name them in its cells alone
        for role, session_id in (("target", cell.session_id), ("evaluator", cell.evaluator_session_id)):
            if session_id and session_id not in lines and session_id not in own:
                lines[session_id] = _of_cell(view, role, session_id, cell)
    return lines


def _of_cell(view: RunView, role: str, session_id: str, cell: CellView | None) -> SessionLine:
    if cell is None:
        return SessionLine(session_id, "", "", "", None, role, "", run_id=view.run_id)
    latest = session_id in (cell.session_id, cell.evaluator_session_id)
    state = cell.state
    if state in RUNNING:  # nothing runs in a run that has ended, whatever it was told last
        state = state if view.state in LIVE else "interrupted"
    elif not latest:
        state = "set aside"
    several = any(one.run > 1 for one in view.cells if (one.stage, one.index) == (cell.stage, cell.index))
    stage = {"pilot": f"pilot {cell.index}", "round": f"round {cell.index}", "heldout": "held out"}
    return SessionLine(
        session_id,
        "",
        cell.case_id,
        state,
        cell.score if latest else None,
        role,
        "",
        run_id=view.run_id,
        stage=stage.get(cell.stage, cell.stage),
        run=cell.run if several else 0,
        duration_ms=cell.duration_ms if role == "target" and latest else None,
        live=view.state in LIVE and cell.state in RUNNING,
    )


def moment_of(session_id: str) -> tuple[str, str]:
    """Return what orders Sessions by age: the time in the id (EVOLUTION 1.3 no. 10), else the id itself."""
    found = _ID_TIME.search(session_id)
    return (found[0] if found else "", session_id)


def began(session_id: str) -> str:
    """Return the local time in a Session's id as `11-30 20:19`, "" where it has none."""
    found = _ID_TIME.search(session_id)
    try:
        return datetime.fromisoformat(f"{found[1]}T{found[2]}:{found[3]}").strftime("%m-%d %H:%M") if found else ""
    except ValueError:
        return ""


def tail_line(line: TraceLine, names: Mapping[str, str]) -> TraceLine:
    """Return a record as the tail says it: Sessions by their names, the operator's words as told."""
    if line.kind == "starts":
        return replace(line, text=names.get(line.leads_to, line.text))
    words = _STEERING.match(line.text)
    return replace(line, kind="told", text=words[1], tone="mark") if words else line


def then_of(view: RunView, others: Sequence[RunView]) -> str:
    """Return the kind of run that is the operator's to start now: the Optimizer, once a Baseline stands."""
    if view.kind != "build" or view.state != "finished" or view.baseline is None or view.observed:
        return ""
    if view.spec.get("then_optimize"):
        return ""  # its own run goes on to that
    mine = (view.agent_id, view.benchmark_id)
    if any(other.kind == "optimize" and (other.agent_id, other.benchmark_id) == mine for other in others):
        return ""
    score = _score(view.baseline)
    return "benchmark frozen" if score is None else f"benchmark frozen, Baseline {score:.2f}"


def came_of(view: RunView) -> str:
    """Return what a finished run came to: from which score to which, and how many Candidates were kept."""
    if view.state != "finished":
        return ""
    result = view.result or {}
    first, last = _score(view.baseline or result.get("baseline")), _score(result.get("final"))
    if view.kind in ("optimize", "curate") and first is not None and last is not None:
        kept = sum(entry.decision == "accepted" for entry in view.rounds)
        return f"{first:.2f} to {last:.2f}, {kept} of {len(view.rounds)} kept"
    return f"Baseline {first:.2f}" if first is not None else ""


def _score(found: object) -> float | None:
    score = found.get("score") if isinstance(found, Mapping) else None
    return float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None


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
    if view.observed:
        return _observed_step(view)
    if view.kind in ("optimize", "curate") or view.rounds:
        goal = spec if view.kind in ("optimize", "curate") else (spec.get("then_optimize") or {})
        return f"round {len(view.rounds)}/{goal.get('rounds', '?')}"
    if view.kind == "build":
        under_way = max((cell.index for cell in view.cells if cell.stage == "pilot"), default=0)
        return f"pilot {max(under_way, len(view.pilots))}/{spec.get('pilots', '?')}"
    done = sum(cell.state == "scored" for cell in view.cells)
    return f"{done}/{len(view.cells)} cells" if view.cells else ""


def _observed_step(view: RunView) -> str:
    """Return how far another program's run is; its limits are nowhere written, so none is named."""
    if not view.cells:
        return ""
    if view.rounds:
        return f"round {len(view.rounds)}"
    if view.kind == "build":
        return f"pilot {max(cell.index for cell in view.cells)}"
    return f"{sum(cell.state == 'scored' for cell in view.cells)}/{len(view.cells)} cells"
