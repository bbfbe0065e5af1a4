"""A small real Project for the protocol's tests: an agent, a two-Case benchmark on disk, and cells scored at will."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from core.agents.tool import Tool, ToolContext
from core.evolution.builder_freeze import FreezeDoors
from core.evolution.builder_state import Limits
from core.evolution.builder_tools import BuilderDoors
from core.evolution.cells import CellRequest, CellResult, known_cells
from core.evolution.desk import Desk
from core.evolution.events import EventName, Journal
from core.evolution.optimizer_state import Goal
from core.evolution.optimizer_tools import OptimizerDoors
from core.evolution.specs import RunPaths
from core.evolution.trials import Trials
from core.models.interface import ModelRef
from core.state.agents import create_agent
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths, ProjectPaths

CASES = ("CASE-001-sums", "CASE-002-names", "CASE-003-hidden")
HELD_OUT = "CASE-003-hidden"
MEASURED = CASES[:2]


@dataclass
class Bench:
    """Real tools over a real Project; only the cells are scored by the test (`scores`, `failures` by Case)."""

    project: ProjectPaths
    run: RunPaths
    journal: Journal
    scores: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    approve: str = "auto"
    detached_ask: str = "wait"
    calls: Any = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.desk = Desk(
            run=self.run,
            agent=self.agent,
            benchmark=self.agent.benchmark("chores"),
            journal=self.journal,
            model=ModelRef("rehearsal", "rehearsal-1"),
            run_cells=self.run_cells,
            approve=self.approve,
            detached_ask=self.detached_ask,
            allow_unisolated=True,
            leave_blocked=self.leave,
        )
        self.builder = BuilderDoors(self.desk, Limits(45.0, 3))
        self.freezer = FreezeDoors(self.builder)
        self.trials = Trials(self.desk, Goal(90.0, 2, 2))
        self.optimizer = OptimizerDoors(self.trials, self.run.root / "statements")

    @property
    def agent(self) -> AgentPaths:
        return self.project.agent("clerk")

    async def leave(self, reason: str) -> None:
        self.blocked.append(reason)
        raise LeftError(reason)

    def again(self) -> Bench:
        """Return what a new engine on the same directory would have: everything from disk, nothing in memory."""
        return Bench(
            self.project,
            self.run,
            Journal(self.run.journal),
            self.scores,
            self.failures,
            self.ran,
            self.blocked,
            self.approve,
            self.detached_ask,
            self.calls,
        )

    async def run_cells(self, cells: Sequence[CellRequest]) -> tuple[CellResult, ...]:
        """Score cells as the test says, journalled as the matrix does; a scored cell never twice."""
        known = known_cells(self.journal.events).results
        results = []
        for cell in cells:
            if cell.cell_id in known:
                results.append(known[cell.cell_id])
                continue
            self.ran.append(cell.cell_id)
            if (code := self.failures.get(cell.case_id)) is not None:
                facts: dict[str, Any] = {"state": "failed", "failure_code": code, "reason": "made to fail"}
                result = CellResult(cell.cell_id, cell.case_id, cell.run, "failed", failure_code=code, reason="made")
            else:
                session = f"session-{cell.cell_id}"
                facts = {
                    "state": "scored",
                    "score": self.scores.get(cell.case_id, 50.0),
                    "cost": None,
                    "duration_ms": 1000,
                    "session_id": session,
                }
                result = CellResult(cell.cell_id, cell.case_id, cell.run, "scored", facts["score"], None, 1000, session)
            self.journal.append(EventName.CELL, **cell.fields(), **facts)
            results.append(result)
        return tuple(results)

    # Calling tools ---------------------------------------------------------------------------------------

    def tools(self) -> dict[str, Tool]:
        both = (*self.builder.tools(), *self.freezer.tools())
        return {tool.spec.name: tool for tool in both}

    async def call(self, name: str, /, *, call_id: str = "", **arguments: Any) -> dict[str, Any]:
        """Call a Builder's tool and return its answer."""
        return await self._call(self.tools()[name], call_id, arguments)

    async def optimize(self, name: str, /, *, call_id: str = "", **arguments: Any) -> dict[str, Any]:
        """Call an Optimizer's tool and return its answer."""
        tools = {tool.spec.name: tool for tool in self.optimizer.tools()}
        return await self._call(tools[name], call_id, arguments)

    async def _call(self, tool: Tool, call_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        context = ToolContext("session-role", call_id or f"call_{next(self.calls):04}", self.run.root)
        answer: dict[str, Any] = json.loads((await tool.call(arguments, context)).output)
        assert "state" in answer
        return answer

    async def refused(self, name: str, /, **arguments: Any) -> str:
        """Call a Builder's tool that must refuse, and return the code."""
        answer = await self.call(name, **arguments)
        assert answer["ok"] is False, answer
        assert len(answer["reason"]) > 20
        return str(answer["refused"])

    async def optimizer_refused(self, name: str, /, **arguments: Any) -> str:
        answer = await self.optimize(name, **arguments)
        assert answer["ok"] is False, answer
        return str(answer["refused"])

    # The benchmark's files -------------------------------------------------------------------------------

    def write_case(self, case_id: str, *, words: str = "", rubric: str = "", standard: str | None = None) -> None:
        """Put a Case on disk: a statement, a rubric of 100 points, perhaps a private standard."""
        case = self.desk.benchmark.case(case_id)
        case.statement.mkdir(parents=True, exist_ok=True)
        case.rubric.mkdir(parents=True, exist_ok=True)
        case.statement_readme.write_text(f"# {case_id}\n\nAdd up the column in data.csv. {words}\n", encoding="utf-8")
        (case.statement / "data.csv").write_text("n\n1\n2\n", encoding="utf-8")
        text = rubric or "- 60 pts: the sum is right\n- 40 pts: the answer is a file\n"
        case.rubric_readme.write_text(f"# Rubric\n\n{text}", encoding="utf-8")
        if standard is not None:
            case.standard.write_text(standard, encoding="utf-8")

    def write_all(self, words: str = "") -> None:
        for case_id in CASES:
            self.write_case(case_id, words=words)

    # The way to a state ----------------------------------------------------------------------------------

    async def contract(self) -> dict[str, Any]:
        answer = await self.call("declare_contract", **contract_arguments())
        assert answer["ok"], answer
        return answer

    async def submit(self, cases: Sequence[str] = MEASURED, observed: float = 50.0, **extra: Any) -> dict[str, Any]:
        return await self.call(
            "submit_revision", note="a revision", predictions=[prediction(c, observed) for c in cases], **extra
        )

    async def review(self, scope: str, cases: Sequence[str] = CASES, **extra: Any) -> dict[str, Any]:
        return await self.call("record_review", scope=scope, cases=[review(c, **extra) for c in cases])

    async def pilot(self, score: float, *, words: str, **extra: Any) -> dict[str, Any]:
        """Go through one whole iteration that ends with `score` for every measured Case."""
        self.write_all(words)
        self.scores = dict.fromkeys(MEASURED, score)
        if self.journal.events and any(e["event"] == EventName.PILOT for e in self.journal.events):
            extra = {"diagnosis": "it sums by eye", "adjustment": "more digits", **extra}
        submitted = await self.submit(**extra)
        assert submitted["ok"], submitted
        reviewed = await self.review("revision")
        assert reviewed["ok"], reviewed
        answer = await self.call("dispatch")
        assert answer["ok"], answer
        return answer

    async def frozen(self) -> None:
        """Go on to a frozen benchmark with a recorded baseline of 40."""
        await self.contract()
        await self.pilot(40.0, words="easy")
        assert (await self.review("freeze"))["ok"]
        frozen = await self.call("request_freeze", reason="met")
        assert frozen["ok"], frozen
        recorded = await self.call("record_baseline", summary_title="Baseline", summary="First numbers.")
        assert recorded["ok"], recorded


class LeftError(BaseException):
    """The process would be gone here."""


def prediction(case_id: str, observed: float = 50.0, desired: float = 95.0, points: float = 60.0) -> dict[str, Any]:
    return {
        "case_id": case_id,
        "observed_strategy": "sums by eye",
        "desired_behaviour": "sums by a script",
        "separates_on": "the last digit",
        "score_if_observed": observed,
        "score_if_desired": desired,
        "affected_points": points,
    }


def review(case_id: str, *, leak: str = "none", **verdicts: Any) -> dict[str, Any]:
    waivers = verdicts.pop("waivers", [])
    plain = dict.fromkeys(("statement_coherent", "rubric_consistent", "rubric_self_contained", "items_apply"), "ok")
    return {"case_id": case_id, **plain, **verdicts, "leak": leak, "waivers": waivers}


def contract_arguments(**changes: Any) -> dict[str, Any]:
    design = {
        "required_behaviour": "sums exactly",
        "plausible_shortcut": "sums by eye",
        "difficulty": "many digits",
        "separating_result": "the last digit differs",
        "rationale": "care with numbers",
        "points": [{"item": "sum", "points": 60}, {"item": "file", "points": 40}],
    }
    return {
        "capability": "careful sums",
        "evidence": ["files"],
        "observables": ["the sum"],
        "shortcuts": ["by eye"],
        "state_levers": ["a procedure"],
        "title": "Chores",
        "description": "Small sums",
        "held_out": [HELD_OUT],
        "cases": [{"case_id": case_id, **design} for case_id in CASES],
        **changes,
    }


def edit_agents_md(text: str = "# Role\n\nSum by a script.\n") -> list[dict[str, Any]]:
    return [{"path": "AGENTS.md", "content": text, "why": "a procedure"}]


def candidate(**changes: Any) -> dict[str, Any]:
    return {
        "hypothesis": "A script sums exactly, so the last digit is right.",
        "prediction": {"overall": "higher", "cases": [{"case_id": MEASURED[0], "expected_score": 80}]},
        "edits": edit_agents_md(),
        **changes,
    }


def decision(**changes: Any) -> dict[str, Any]:
    return {"supported": True, "observed": "higher", "summary_title": "Script", "summary": "It sums.", **changes}


def make_bench(tmp_path: Path, *, with_agent: bool = True, **settings: Any) -> Bench:
    """Return a fresh Project with an agent and a run directory."""
    project = ensure_home(tmp_path / "home")
    run = RunPaths(project.runs / "build-20260101-000000-abcd")
    run.root.mkdir(parents=True)
    journal = Journal(run.journal)
    bench = Bench(project, run, journal, **settings)
    if with_agent:
        create_agent(project, "clerk", name="Clerk", description="sums", agents_md="# Role\n\nSum.\n")
        journal.append(EventName.AGENT, agent_id="clerk", created=False, version=1)
    return bench
