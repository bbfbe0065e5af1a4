"""What a list of Sessions shows of each: what it was for, how it stands, what it cost, whom it started. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.evolution.run_view import CellView, RunView
from core.traces.cost import Cost


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A Session in the list. `state` is running, done, failed, cut or missing; `reason` says why it failed.

    `case_id`, `run`, `version` and `stage` say what it was for, where it was for a cell. `cost` is USD as far as it is
    known, with `unknown` requests beside it that nobody counted or priced; None where it was not reckoned (`is_counted`
    says whether it was looked at: then no request is told of).
    `depth` is its place below the Session that started it.
    """

    session_id: str
    agent_id: str
    role: str
    state: str
    title: str = ""
    parent: str = ""
    depth: int = 0
    run_id: str = ""
    case_id: str = ""
    run: int | None = None
    version: int | None = None
    stage: str = ""
    first_ts: str = ""
    ms: int | None = None
    tokens: int | None = None
    cost: float | None = None
    unknown: int = 0
    is_counted: bool = False
    score: float | None = None
    reason: str = ""
    model: str = ""
    workspace: str = ""
    prompt: str = ""
    size: int = 0

    @property
    def what(self) -> str:
        """What it was for: the Case and run of a cell, else its title."""
        if not self.case_id:
            return self.title
        number = f" run {self.run}" if self.run else ""
        version = f" v{self.version}" if self.version is not None else ""
        return f"{self.case_id}{number}{f' {self.stage}' if self.stage.startswith('pilot') else version}"

    @property
    def brief(self) -> str:
        """What it was for, a long Case by its number: `CASE-007 run 1 v3`."""
        return self.what.replace(self.case_id, "-".join(self.case_id.split("-")[:2]), 1) if self.case_id else self.title

    @property
    def about(self) -> str:
        """What it was, in a few words: `Target of CASE-001-register run 1 v3`."""
        role = self.role.capitalize()
        return f"{role} of {self.what}" if self.case_id else f"{role}: {self.title}" if self.title else role

    @property
    def fields(self) -> dict[str, str]:
        """The fields that a filter asks for."""
        return {
            "role": self.role,
            "agent": self.agent_id,
            "run": f"{self.run_id} {self.run or ''}",
            "status": self.state,
            "case": self.case_id,
            "model": self.model,
        }

    @property
    def text(self) -> str:
        """Everything that is said of it, for a filter's words."""
        return " ".join(
            (self.about, self.session_id, self.title, *self.fields.values(), self.reason, self.prompt[:400])
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """The Sessions of a Project, newest tree first, children behind their parents. `is_counted`: costs are all in."""

    rows: tuple[SessionRow, ...] = ()
    is_counted: bool = False

    def of(self, session_id: str) -> SessionRow | None:
        """Return a Session's row."""
        return next((row for row in self.rows if row.session_id == session_id), None)

    def below(self, session_id: str) -> tuple[SessionRow, ...]:
        """Return a Session's row and those of all it started."""
        start = next((place for place, row in enumerate(self.rows) if row.session_id == session_id), None)
        if start is None:
            return ()
        end = start + 1
        while end < len(self.rows) and self.rows[end].depth > self.rows[start].depth:
            end += 1
        return self.rows[start:end]


@dataclass(frozen=True, slots=True)
class Fact:
    """What a run's journal says of a Session."""

    run_id: str
    role: str
    cell: CellView | None
    title: str = ""

    def on(self, row: SessionRow) -> SessionRow:
        """Return a row with it."""
        if self.cell is None:
            return replace(row, run_id=self.run_id, role=self.role, title=self.title or row.title)
        cell = self.cell
        is_target = self.role == "target"
        failed = cell.state == "failed" and row.state != "running"
        return replace(
            row,
            run_id=self.run_id,
            role=self.role,
            case_id=cell.case_id,
            run=cell.run,
            version=cell.version,
            stage=f"pilot {cell.index}" if cell.stage == "pilot" else cell.stage,
            score=cell.score if is_target else None,
            state="failed" if failed else row.state,
            reason=(cell.reason or cell.failure_code or row.reason) if failed else row.reason,
        )


def facts_of_runs(views: tuple[RunView, ...]) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for view in views:
        cells = {cell.cell: cell for cell in view.cells}
        for cell in view.cells:
            if cell.session_id:
                found[cell.session_id] = Fact(view.run_id, "target", cell)
            if cell.evaluator_session_id:
                found[cell.evaluator_session_id] = Fact(view.run_id, "evaluator", cell)
        for session in view.sessions:
            title = f"{view.agent_id} / {view.benchmark_id}" if session.cell is None else ""
            found[session.session_id] = Fact(view.run_id, session.role, cells.get(session.cell or ""), title)
    return found


def parents_of_runs(views: tuple[RunView, ...]) -> dict[str, str]:
    """Return who started whom as the journals say, for traces that do not say it (yet)."""
    found: dict[str, str] = {}
    for view in views:
        root = next((session.session_id for session in view.sessions if session.role in ("builder", "optimizer")), "")
        by_cell = {session.cell: session.session_id for session in view.sessions if session.role == "evaluator"}
        for session in view.sessions:
            above = by_cell.get(session.cell, root) if session.role == "target" else root
            if above and above != session.session_id and session.role in ("evaluator", "target"):
                found[session.session_id] = above
    return found


def ordered(rows: Mapping[str, SessionRow], parents: Mapping[str, str]) -> tuple[SessionRow, ...]:
    """Return the rows with their depths: trees newest first, what one started in the order it was started."""
    below: dict[str, list[str]] = {}
    roots: list[str] = []
    for session_id in sorted(rows, key=lambda session_id: (rows[session_id].first_ts, session_id)):
        above = parents.get(session_id, "")
        if above in rows and above != session_id:
            below.setdefault(above, []).append(session_id)
        else:
            roots.append(session_id)
    found: list[SessionRow] = []
    waiting = [(session_id, 0) for session_id in roots]  # its end is taken first: the newest tree
    while waiting:
        session_id, depth = waiting.pop()
        above = parents.get(session_id, "") if depth else ""
        found.append(replace(rows[session_id], depth=depth, parent=above))
        waiting += [(child, depth + 1) for child in reversed(below.get(session_id, ()))]
    return tuple(found)


def cost_of(rows: tuple[SessionRow, ...]) -> Cost:
    """Return what Sessions cost together; one that was not counted is one unknown."""
    total = Cost()
    for row in rows:
        total += Cost(0.0, 1) if row.cost is None else Cost(row.cost, row.unknown)
    return total
