"""What the tools of one run share: its journal, its subjects, its cells, and the way out when a person is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from core.agents.waiting import PersonWait
from core.evolution import canary
from core.evolution.cells import CellRequest, CellResult
from core.evolution.events import Event, EventName, Journal
from core.evolution.optimizer_rules import Present
from core.evolution.refusal import Refusal
from core.evolution.specs import RunPaths
from core.foundation.errors import BlockedError
from core.models.interface import ModelRef
from core.state.agents import read_agent
from core.state.evaluation import Runtime
from core.state.fingerprint import state_hash
from core.state.paths import AgentPaths, BenchmarkPaths, ProjectPaths

RunCells = Callable[[Sequence[CellRequest]], Awaitable[tuple[CellResult, ...]]]
State = TypeVar("State")
announce_child: ContextVar[Callable[[str], None] | None] = ContextVar("announce_child", default=None)
"""How the tool call that is under way tells its Session of an Evaluator that it started."""


async def _leave(reason: str) -> None:
    raise NotImplementedError(reason)


async def _raise(error: Exception) -> None:
    raise error


@dataclass
class Folded(Generic[State]):
    """A protocol state that follows a journal. Invariant: it is the fold of all events the journal holds."""

    journal: Journal
    apply: Callable[[State, Event], State]
    now: State
    seen: int = 0

    def __call__(self) -> State:
        events = self.journal.events
        for event in events[self.seen :]:
            self.now = self.apply(self.now, event)
        self.seen = len(events)
        return self.now


@dataclass
class Desk:
    """Everything outside the protocol's state that its tools need.

    `leave_blocked` journals why the run cannot go on without the operator and ends the process, `leave_failed` a fault
    of the engine itself; neither returns.
    `over_budget` tells why nothing more may be spent, `person` counts the
    seconds spent waiting for a person. `approve` says how a freeze is decided, `detached_ask` whether the run stays
    while it waits for the operator, or leaves with exit code 3 (DECISIONS 15).
    """

    run: RunPaths
    agent: AgentPaths
    benchmark: BenchmarkPaths
    journal: Journal
    model: ModelRef
    run_cells: RunCells
    approve: str = "ask"
    detached_ask: str = "wait"
    allow_unisolated: bool = False
    leave_blocked: Callable[[str], Awaitable[None]] = _leave
    leave_failed: Callable[[Exception], Awaitable[None]] = _raise
    over_budget: Callable[[], str | None] = lambda: None
    person: PersonWait = field(default_factory=PersonWait)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def project(self) -> ProjectPaths:
        return self.run.project

    def runtime(self) -> Runtime:
        """Return what the agent runs on now; the thinking level is the agent's own (EVOLUTION 1.4 no. 15)."""
        return Runtime(self.model.provider, self.model.model_id, read_agent(self.agent).thinking_level)

    def present(self, void: Sequence[str] = ()) -> Present:
        """Return the agent's version and state hash as they are on disk."""
        return Present(read_agent(self.agent).version, state_hash(self.agent.state), tuple(void))

    def intent(self, call_id: str, tool: str, **fields: Any) -> tuple[Event, bool]:
        """Journal that a call will act, or return what it journalled before a crash, and whether it did."""
        for event in self.journal.of_call(call_id, EventName.INTENT):
            if event.get("tool") == tool:
                return event, True
        return self.journal.append(EventName.INTENT, call_id=call_id, tool=tool, **fields), False

    async def fill(self, cells: Sequence[CellRequest]) -> tuple[CellResult, ...]:
        """Run cells. Where the model refuses every request, or a Target saw a rubric, the run ends blocked and this
        does not return.
        """
        try:
            results = await self.run_cells(cells)
            self._look_for_canaries(results)
        except BlockedError as error:
            await self.leave_blocked(f"{error} {error.hint}".strip())
            raise
        return results

    def _look_for_canaries(self, results: Sequence[CellResult]) -> None:
        sessions = [result.session_id for result in results if result.session_id is not None]
        if found := canary.seen(self.agent, sessions, canary.tokens(self.benchmark)):
            told = ", ".join(f"{session_id} holds the token of {case_id}" for session_id, case_id in found[:5])
            raise BlockedError(
                f"A Target saw a private rubric, so nothing measured here counts: {told}.",
                hint="Look at the trace to see how; check isolation with exuvia doctor.",
            )

    def budget_refusal(self) -> Refusal | None:
        """Refuse to spend more where a budget of the run is used up; what is finished stays."""
        reason = self.over_budget()
        if reason is None:
            return None
        return Refusal("budget", f"{reason} Nothing more is run; finished cells stay. Stop with stop_run and say so.")
