"""What anyone may know of a run: an immutable view, folded from its journal. The console and `runs show` read this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.evolution.events import Event, EventName
from core.evolution.run_paths import Kind

RunState = Literal["running", "waiting", "blocked", "failed", "finished", "dead", "stopped"]
ENDED: frozenset[str] = frozenset({"blocked", "failed", "finished", "stopped"})
OBSERVED = "observed-"
"""What the id of a run without a journal begins with; the rest is the id of the Session that leads it."""


def is_observed(run_id: str) -> bool:
    """Tell whether an id is that of another program's run, inferred from traces (`core.evolution.observed`)."""
    return run_id.startswith(OBSERVED)


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as it stands. `score` is None until it is scored: a failed cell has none. `cost` None is unknown.

    `started` is when its Evaluator began (UTC), "" where nobody tells.
    """

    cell: str
    case_id: str
    run: int
    version: int
    stage: str
    index: int
    state: str
    score: float | None = None
    cost: float | None = None
    reported_cost: float | None = None
    duration_ms: int | None = None
    session_id: str | None = None
    evaluator_session_id: str | None = None
    failure_code: str | None = None
    reason: str = ""
    attempt: int = 0
    started: str = ""


@dataclass(frozen=True, slots=True)
class SessionView:
    """A Session of the run: which role it plays, whose it is, and for which cell."""

    role: str
    session_id: str
    agent_id: str
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class RoundView:
    """A Candidate: `decision` is None while it is open."""

    round: int
    version: int
    edits: tuple[Mapping[str, Any], ...]
    hypothesis: str
    prediction: Mapping[str, Any]
    proposer: str = "optimizer"
    decision: str | None = None
    score: float | None = None
    reference_score: float | None = None
    supported: bool | None = None
    prediction_held: bool | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RejectedView:
    """A pilot as it stood when the operator rejected its freeze: its row, why, and the cells that it was made of.

    The pilot's number is used again for what replaces it, so `RunView.pilots` tells only of the newest.
    """

    pilot: Mapping[str, Any]
    reason: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldOutView:
    """A measurement of the held-out Cases: `stage` is baseline or final."""

    stage: str
    version: int
    score: float | None
    cases: Mapping[str, float]
    runs: int
    reused_from: str | None = None


@dataclass(frozen=True, slots=True)
class SpentView:
    """What the run's sessions cost as far as it is known."""

    usd: float = 0.0
    unknown_requests: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class RunView:
    """A run. `state` says what it is doing; `reason` why it is blocked or failed; times are UTC.

    `observed` marks one that another program runs: inferred from traces and scoreboard, without a journal, and out of
    reach of everything that needs one. `waiting_for` are the approvals (freezes, questions, tool calls) that it asked
    for and has not heard of yet, in the order asked; `approval_id` is the first of them. `told` are the operator's
    words that it has read. `operations` are those of a curator, valid or not, in order, and
    `curator` says who that is, and in whose stead.
    """

    run_id: str
    kind: Kind
    state: RunState
    agent_id: str
    benchmark_id: str
    phase: str = ""
    phase_detail: str = ""
    pid: int | None = None
    started: str = ""
    updated: str = ""
    spec: Mapping[str, Any] = field(default_factory=dict)
    cells: tuple[CellView, ...] = ()
    sessions: tuple[SessionView, ...] = ()
    contract: Mapping[str, Any] = field(default_factory=dict)
    pilots: tuple[Mapping[str, Any], ...] = ()
    rejected_pilots: tuple[RejectedView, ...] = ()
    lowest_pilot: int | None = None
    frozen_pilot: int | None = None
    approval_id: str | None = None
    waiting_for: tuple[str, ...] = ()
    told: tuple[Mapping[str, Any], ...] = ()
    approvals: tuple[Mapping[str, Any], ...] = ()
    baseline: Mapping[str, Any] | None = None
    reference: Mapping[str, Any] | None = None
    curator: Mapping[str, Any] = field(default_factory=dict)
    operations: tuple[Mapping[str, Any], ...] = ()
    rounds: tuple[RoundView, ...] = ()
    heldout: tuple[HeldOutView, ...] = ()
    spent: SpentView = SpentView()
    reason: str = ""
    result: Mapping[str, Any] | None = None
    damaged_lines: int = 0
    observed: bool = False

    def sessions_of(self, role: str) -> tuple[SessionView, ...]:
        """Return the run's Sessions that play `role`, in order of appearance."""
        return tuple(session for session in self.sessions if session.role == role)

    @property
    def cost_known(self) -> float:
        """USD of the cells whose cost is known."""
        return sum(cell.cost for cell in self.cells if cell.cost is not None and cell.state == "scored")

    @property
    def cost_unknown(self) -> int:
        """Number of scored cells whose cost is not known: unknown is not zero."""
        return sum(1 for cell in self.cells if cell.cost is None and cell.state == "scored")


def fold_view(run_id: str, spec: Mapping[str, Any], events: Iterable[Event], *, alive: bool) -> RunView:
    """Return the view of a run. `alive` tells whether its engine lives; a silent dead one is "dead"."""
    view = RunView(
        run_id,
        spec.get("kind", "build"),
        "running",
        str(spec.get("agent_id", "")),
        str(spec.get("benchmark_id", "")),
        spec=spec,
    )
    # Most events are about one cell or Session of many; these two grow in place, so that a long journal folds in time
    # that grows with its length and not with its square.
    cells: dict[str, dict[str, Any]] = {}
    sessions: dict[str, SessionView] = {}
    updated = ""
    for event in events:
        updated, name = event["time"], event["event"]
        if name == EventName.CELL:
            _cell(cells, event)
        elif name == EventName.SESSION:
            _session(sessions, event, event["role"], event.get("agent_id") or view.agent_id)
        elif name == EventName.TARGET_STARTED:
            _session(sessions, event, "target", view.agent_id)
            if (cell := cells.get(event["cell"])) is not None:
                cell["session_id"] = event["session_id"]
        elif (change := _CHANGES.get(name)) is not None:
            view = change(view, event)
            if name == EventName.APPROVAL_DECIDED and event["decision"] != "approve":
                view = _rejected(view, event, cells)
    view = replace(
        view,
        updated=updated,
        cells=tuple(CellView(**cell) for cell in cells.values()),
        sessions=tuple(sessions.values()),
    )
    if not alive and view.state not in ENDED:
        return replace(view, state="dead")
    if alive and view.state == "running" and view.approval_id is not None:
        return replace(view, state="waiting")
    return view


def _started(view: RunView, event: Event) -> RunView:
    return replace(view, pid=event["pid"], started=view.started or event["time"], state="running", reason="")


_NAMES_CELL = ("cell", "case_id", "run", "version", "stage", "index")
_TOLD_OF_CELL = (
    "score",
    "cost",
    "reported_cost",
    "duration_ms",
    "session_id",
    "evaluator_session_id",
    "failure_code",
    "reason",
    "attempt",
)


def _cell(cells: dict[str, dict[str, Any]], event: Event) -> None:
    cell = cells.get(event["cell"])
    if cell is None:
        cell = cells[event["cell"]] = {name: event[name] for name in _NAMES_CELL}
    cell["state"] = event["state"]
    if event["state"] in {"running", "scored"}:
        cell["failure_code"], cell["reason"] = None, ""
    for name in _TOLD_OF_CELL:
        if (told := event.get(name)) is not None:
            cell[name] = told


def _session(sessions: dict[str, SessionView], event: Event, role: str, agent_id: str) -> None:
    if event["session_id"] not in sessions:
        sessions[event["session_id"]] = SessionView(role, event["session_id"], agent_id, event.get("cell"))


def _pilot(view: RunView, event: Event) -> RunView:
    row = {key: value for key, value in event.items() if key not in {"time", "event", "call_id"}}
    others = tuple(pilot for pilot in view.pilots if pilot["i"] != row["i"])
    return replace(view, pilots=tuple(sorted((*others, row), key=lambda pilot: int(pilot["i"]))))


def _frozen(view: RunView, event: Event) -> RunView:
    pilots = tuple({**pilot, "frozen": pilot["i"] == event["pilot"]} for pilot in view.pilots)
    return replace(view, frozen_pilot=event["pilot"], pilots=pilots)


def _decided(view: RunView, event: Event) -> RunView:
    return replace(_heard(view, event), approvals=(*view.approvals, event))


def _rejected(view: RunView, event: Event, cells: Mapping[str, Mapping[str, Any]]) -> RunView:
    """Keep the pilot whose freeze was rejected: a freeze is only ever asked for of the lowest one (no. 33)."""
    pilot = next((pilot for pilot in view.pilots if pilot["i"] == view.lowest_pilot), None)
    if pilot is None:
        return view
    newest = {
        cell["case_id"]: name
        for name, cell in cells.items()
        if cell["stage"] == "pilot" and cell["index"] == pilot["i"]
    }
    gone = RejectedView(pilot, event.get("reason") or "no reason given", tuple(newest.values()))
    return replace(view, rejected_pilots=(*view.rejected_pilots, gone))


def _asked(view: RunView, event: Event) -> RunView:
    waits = (*(one for one in view.waiting_for if one != event["approval_id"]), event["approval_id"])
    return replace(view, waiting_for=waits, approval_id=waits[0])


def _heard(view: RunView, event: Event) -> RunView:
    waits = tuple(one for one in view.waiting_for if one != event["approval_id"])
    return replace(view, waiting_for=waits, approval_id=waits[0] if waits else None)


def _read_word(view: RunView, event: Event) -> RunView:
    word = {key: value for key, value in event.items() if key != "event"}
    return replace(view, told=(*view.told, word))


def _candidate(view: RunView, event: Event) -> RunView:
    entry = RoundView(
        event["round"],
        event["version"],
        tuple(event["edits"]),
        event["hypothesis"],
        event["prediction"],
        event.get("proposer", "optimizer"),
    )
    return replace(view, rounds=(*view.rounds, entry))


def _evaluated(view: RunView, event: Event) -> RunView:
    return _round(view, event["version"], score=event["score"])


def _decision(view: RunView, event: Event) -> RunView:
    told = ("decision", "score", "reference_score", "supported", "prediction_held", "note")
    return _round(view, event["version"], **{key: event.get(key) for key in told})


def _round(view: RunView, version: int, **changes: Any) -> RunView:
    rounds = tuple(replace(entry, **changes) if entry.version == version else entry for entry in view.rounds)
    return replace(view, rounds=rounds)


def _heldout(view: RunView, event: Event) -> RunView:
    entry = HeldOutView(
        event["stage"],
        event["version"],
        event["score"],
        event.get("cases", {}),
        event.get("runs", 1),
        event.get("reused_from"),
    )
    return replace(view, heldout=(*view.heldout, entry))


def _told(event: Event) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in {"time", "event", "call_id"}}


_CHANGES: Mapping[str, Any] = {
    EventName.RUN_STARTED: _started,
    EventName.RUN_RESUMED: _started,
    EventName.PHASE: lambda view, e: replace(view, phase=e["phase"], phase_detail=e.get("detail") or ""),
    EventName.CONTRACT: lambda view, e: replace(view, contract=_told(e)),
    EventName.PILOT: _pilot,
    EventName.LOWEST: lambda view, e: replace(view, lowest_pilot=e["pilot"]),
    EventName.APPROVAL_REQUESTED: _asked,
    EventName.APPROVAL_DECIDED: _decided,
    EventName.ASKED: _asked,
    EventName.ANSWERED: _heard,
    EventName.TOLD: _read_word,
    EventName.FROZEN: _frozen,
    EventName.BASELINE: lambda view, e: replace(view, baseline=_told(e)),
    EventName.REFERENCE: lambda view, e: replace(view, reference=_told(e)),
    EventName.CURATOR: lambda view, e: replace(view, curator=_told(e)),
    EventName.OPERATION: lambda view, e: replace(view, operations=(*view.operations, _told(e))),
    EventName.CANDIDATE: _candidate,
    EventName.EVALUATED: _evaluated,
    EventName.DECISION: _decision,
    EventName.HELDOUT: _heldout,
    EventName.SPENT: lambda view, e: replace(view, spent=SpentView(e["usd"], e["unknown_requests"], e["tokens"])),
    EventName.BLOCKED: lambda view, e: replace(view, state="blocked", reason=e["reason"]),
    EventName.FAILED: lambda view, e: replace(view, state="failed", reason=e["reason"]),
    EventName.STOPPED: lambda view, e: replace(view, state="stopped", reason=e.get("reason") or "stopped"),
    EventName.FINISHED: lambda view, e: replace(view, state="finished", result=e["result"]),
}
