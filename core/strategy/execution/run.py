"""What one turn carries through its plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.strategy.conditions.condition import Condition, Judgement
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.view import View
from core.strategy.documents.plan import Node, Recovery
from core.strategy.documents.strategy import Check
from core.strategy.execution.budget import Budget
from core.strategy.execution.clock import Clock
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.failure import Output
from core.strategy.execution.paths import chosen
from core.strategy.execution.records import Execution
from core.strategy.execution.scope import Scope
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Outcome, Skills
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.trace import Recorder

Assignment = Mapping[str, Compiled | None]
"""What holds for this user instead of the bank's: another version of a strategy by its id, or None for not at all."""
Replay = Callable[[str, Mapping[str, Any]], Outcome | None]
"""What a skill said elsewhere for these inputs (skill, inputs), None where nothing is known."""
Guards = tuple[Mapping[str, Recovery], ...]
"""The recoveries of the nodes around one, innermost last."""


class Journal:
    """What was called and chosen in a turn, by place, so that a turn that stopped for a question goes on without
    doing anything twice (S94). Plain JSON in `to_json`."""

    def __init__(self, held: Mapping[str, Any] | None = None) -> None:
        held = held or {}
        self.calls: dict[str, list[Any]] = dict(held.get("calls", {}))
        self.choices: dict[str, Any] = dict(held.get("choices", {}))

    def to_json(self) -> dict[str, Any]:
        """Return it as a mapping."""
        return {"calls": self.calls, "choices": self.choices}

    def recall(self, key: str) -> Outcome | None:
        """Return the outcome of a call that was made before."""
        held = self.calls.get(key)
        return None if held is None else Outcome(held[0], held[1], held[2])

    def keep(self, key: str, outcome: Outcome) -> None:
        """Keep a call's outcome."""
        self.calls[key] = [outcome.output, outcome.code, outcome.message]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A check of level 2 that waits until the answer is out (S42). `held`: the checked node's names to its output."""

    compiled: Compiled
    check: Check
    held: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What its event is called: level2:<name>."""
        return self.check.name or self.check.run or self.check.code.lower()


class Execute(Protocol):
    """Run a node; see `interpreter.execute`."""

    def __call__(self, run: Run, frame: Frame, node: Node, key: str, guards: Guards = ()) -> Awaitable[Output]: ...


@dataclass(frozen=True, slots=True)
class Taken:
    """A strategy that was used upon an event, and its output."""

    strategy: str
    output: Output


class Fire(Protocol):
    """Use the strategies that wait for an event; see `firing.fire`."""

    def __call__(self, run: Run, frame: Frame, event: str, key: str) -> Awaitable[Taken | None]: ...


@dataclass(slots=True)
class Run:
    """One turn under way. `skipped`: skill to the strategy that wants it left out; `injected`: input to path."""

    bank: CompiledBank
    session: SessionState
    skills: Skills
    clock: Clock
    budget: Budget
    suggestion: Suggestion
    utterance: str
    journal: Journal
    execute: Execute
    fire: Fire
    dry_run: bool = False
    replay: Replay | None = None
    assignment: Assignment = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    injected: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    ran: list[Past] = field(default_factory=list)
    deferred: list[Deferred] = field(default_factory=list)
    executions: list[tuple[str, Execution]] = field(default_factory=list)
    route: str = ""
    turn: int = field(init=False)
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        # Neither changes within a turn: what ran in it is told by events and results.
        self.turn = self.session.turn
        self.memory = self.session.memory()

    def strategy(self, strategy_id: str) -> Compiled | None:
        """Return the version that holds for this user."""
        if strategy_id in self.assignment:
            return self.assignment[strategy_id]
        return self.bank.strategies.get(strategy_id)

    def in_order(self, recorder: Recorder) -> tuple[Execution, ...]:
        """Return the executions as they ended by the trace, in which branches stand one after the other."""
        ends = [event["at"].removesuffix(":") for event in recorder.events if event["event"] == "ended"]
        places = {key: number for number, key in enumerate(ends)}
        return tuple(one for _, one in sorted(self.executions, key=lambda pair: places.get(pair[0], -1)))

    @property
    def language(self) -> str:
        """The language in which questions are put."""
        return str(self.session.user.get("language", "en"))


@dataclass(slots=True)
class Timing:
    """What the checks of one level took, and whether that was too long."""

    ms: float = 0.0
    overrun: bool = False


@dataclass(slots=True)
class Frame:
    """One strategy under way, or a skill without one (`compiled` None). `key` is its place, `stack` who called it."""

    compiled: Compiled | None
    scope: Scope
    recorder: Recorder
    key: str
    stack: tuple[str, ...] = ()
    timings: dict[str, Timing] = field(default_factory=dict)
    target: str = ""

    def branch(self) -> Frame:
        """Return it for one branch of a parallel node: its own names, writes and record."""
        return Frame(self.compiled, self.scope.branch(), Recorder(), self.key, self.stack, self.timings, self.target)

    def join(self, branch: Frame, *, keep: bool) -> None:
        """Take over what a branch recorded, and, to `keep`, what it named and wrote."""
        self.recorder.join(branch.recorder)
        if keep:
            self.scope.join(branch.scope)

    def say(self, event: str, key: str, **told: Any) -> None:
        """Record an event of the node at `key`."""
        self.recorder.say(event, at=f"{self.key}:{key}", **told)


def judge(run: Run, scope: Scope, condition: Condition) -> Judgement:
    """Judge a condition on what `scope` sees at this moment (S28)."""
    values = chosen(scope.at_once(), condition.reads)
    return condition.judge(View(values, run.memory, run.clock.now(), run.bank.registry.patterns))
