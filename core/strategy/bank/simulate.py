"""Simulated paths: every strategy is run, in virtual time, on skills that answer as their schemas say (STRATEGY S65).

Each run takes the skills' answers from their output schemas: the plainest of each, with everything known that the
context may hold and with nothing; each declared failure, and a skill that never answers; answers drawn by a seed; at
last one field after the other, until every skill of the plan was reached. What is looked for: a run that raises, that
ends otherwise when repeated, that spends the turn's budget; and skills of the plan that no run reached.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.strategy.bank.answers import Answers, Hints, answers_of, hints_of, value_at
from core.strategy.bank.impact import nodes_of
from core.strategy.documents.reading import read
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.budget import CODE as TURN_BUDGET
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank
from core.strategy.execution.compiling import compile_strategy
from core.strategy.execution.paths import with_value
from core.strategy.execution.run import Assignment
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Call, Outcome, Skill
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.turn import TurnResult, run_turn

DRIVER = "simulated.driver"
RUNS = 24
"""Runs with answers drawn by a seed; those with failures come on top."""
_NEVER_MS = 86_400_000
_USUAL_MS = 20
_OF_THE_TURN = ("results.", "event.", "intent.", "utterance", "session.", "turn.", "user")


@dataclass(frozen=True, slots=True)
class Walked:
    """What the simulation of one strategy showed.

    `paths`: the different ways that its runs took, as its executions tell them; `ends`: how many runs ended how, by
    "done", "question", or a failure's code. `reached` and `not_reached` are the skills of its plan. `faults` break
    the check; `warnings` are failures past recovery, and skills that nothing limits in time.
    """

    strategy_id: str
    runs: int
    paths: tuple[tuple[str, ...], ...]
    ends: Mapping[str, int]
    reached: tuple[str, ...]
    not_reached: tuple[str, ...]
    faults: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "strategy": self.strategy_id,
            "runs": self.runs,
            "paths": [list(path) for path in self.paths],
            "ends": dict(self.ends),
            "reached": list(self.reached),
            "not_reached": list(self.not_reached),
            "faults": list(self.faults),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class _World:
    """How the skills answer in one run. `fails`: by which code, "" never answers. `says`: just this. The others give
    their plainest answer, or with a `seed` one that is drawn. `known`: the context holds what it may hold."""

    name: str
    known: bool
    seed: int = 0
    fails: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def simulate(bank: CompiledBank, compiled: Compiled, *, runs: int = RUNS) -> Walked:
    """Run one strategy through simulated worlds. Starts an event loop, so call it from a thread without one."""
    return asyncio.run(_simulate(bank, compiled, runs))


async def _simulate(bank: CompiledBank, compiled: Compiled, runs: int) -> Walked:
    through = _skills_through(bank, compiled)
    hints = hints_of([bank.strategies[one].strategy for one in sorted(_called(bank, compiled))], bank.schemas.values())
    answers = {name: answers_of(schema, hints) for name, schema in bank.schemas.items()}
    worlds = [_World("everything known", True), _World("nothing known", False)]
    for skill in sorted(through & bank.schemas.keys()):
        codes = [row.code for row in bank.schemas[skill].failure_modes]
        worlds += [_World(f"{skill} fails: {code}", True, fails={skill: code}) for code in codes]
        worlds += [_World(f"{skill} never answers", True, fails={skill: ""})]
    worlds += [_World(f"answers {seed}", seed % 4 != 0, seed) for seed in range(1, runs + 1)]
    lab = _Lab(bank, compiled, hints, answers)
    for world in worlds:
        await lab.run(world)
    await lab.again(worlds[0])
    for skill in sorted(through & bank.schemas.keys()):
        for number, answer in enumerate(answers[skill].sweep(), 1):
            if not lab.not_reached:
                return lab.walked()
            await lab.run(_World(f"{skill} gives answer {number}", True, says={skill: answer}))
    return lab.walked()


class _Lab:
    """The runs of one strategy, and what they showed so far."""

    def __init__(self, bank: CompiledBank, compiled: Compiled, hints: Hints, answers: Mapping[str, Answers]) -> None:
        self.bank, self.compiled, self.hints, self.answers = bank, compiled, hints, answers
        self.assignment = _assignment(bank, compiled)
        skills = {node.run for node in nodes_of(compiled.strategy) if node.run} | {compiled.target} - {""}
        self.wanted = sorted(skills)
        self.runs = 0
        self.reached: set[str] = set()
        self.paths: dict[tuple[str, ...], None] = {}
        self.ends: dict[str, int] = {}
        self.faults: dict[str, None] = {}
        self.warnings: dict[str, None] = {}
        self.first: bytes | None = None

    @property
    def not_reached(self) -> tuple[str, ...]:
        return tuple(skill for skill in self.wanted if skill not in self.reached)

    async def run(self, world: _World) -> None:
        self.runs += 1
        result = await _run(self, world)
        if result is None:
            return
        if self.first is None:
            self.first = result.trace.to_bytes()
        mine = [one for one in result.executions if one.strategy_id == self.compiled.id]
        self.reached.update(str(event["skill"]) for event in result.trace.of("called", "skipped"))
        self.paths.update(dict.fromkeys(one.execution_path for one in mine))
        end = result.code or result.kind
        self.ends[end] = self.ends.get(end, 0) + 1
        if result.code == TURN_BUDGET:
            _of_budget(self.bank, world, self.faults, self.warnings)
        elif result.code and world.fails and not result.handed_off:
            self.warnings[f"{world.name}: the turn fails ({result.code}); nothing recovers"] = None

    async def again(self, world: _World) -> None:
        """Run the first world once more: the same inputs must give the same decisions (S91)."""
        result = await _run(self, world)
        if result is not None and result.trace.to_bytes() != self.first:
            self.faults["the same run decided otherwise when it was repeated"] = None

    def walked(self) -> Walked:
        return Walked(
            self.compiled.id,
            self.runs,
            tuple(self.paths),
            self.ends,
            tuple(skill for skill in self.wanted if skill in self.reached),
            self.not_reached,
            tuple(self.faults),
            tuple(self.warnings),
        )


def _of_budget(bank: CompiledBank, world: _World, faults: dict[str, None], warnings: dict[str, None]) -> None:
    turn = bank.settings.turn
    told = f"{world.name}: the turn's budget of {turn.max_steps} steps and {turn.max_ms} ms is spent"
    if "" in world.fails.values():
        warnings[f"{told}; give the skill a timeout_ms"] = None
    else:
        faults[told] = None


async def _run(lab: _Lab, world: _World) -> TurnResult | None:
    clock = VirtualClock()
    session = SessionState("simulated", ContextStore(), {"id": "simulated"})
    draw = random.Random(f"{lab.compiled.id}/{world.seed}")  # noqa: S311  # a simulation, not a secret
    utterance, known = _known(lab, draw)
    session.put(known if world.known else {})
    skills = {
        name: Skill(schema, _body(schema, world, lab.answers[name], draw, clock))
        for name, schema in lab.bank.schemas.items()
    }
    suggestion = Suggestion(intent="simulated", confidence=1.0, intended_skill=next(iter(sorted(lab.bank.schemas)), ""))
    try:
        return await run_turn(lab.bank, session, utterance, suggestion, skills, clock, assignment=lab.assignment)
    except Exception as error:  # whatever it is, the check must tell it and go on
        lab.faults[f"{world.name}: the run raised {type(error).__name__}: {error}"[:300]] = None
        return None


def _body(schema: SkillSchema, world: _World, answers: Answers, draw: random.Random, clock: VirtualClock) -> Any:
    async def call(inputs: Mapping[str, Any], request: Call) -> Outcome:
        code = world.fails.get(schema.skill)
        if code == "":
            await clock.sleep(_NEVER_MS)
        await clock.sleep(schema.typical_ms or _USUAL_MS)
        if code:
            return Outcome(None, code, "simulated")
        if schema.skill in world.says:
            return Outcome(world.says[schema.skill])
        return Outcome(answers.drawn(draw) if world.seed else answers.first)

    return call


def _known(lab: _Lab, draw: random.Random) -> tuple[str, dict[str, Any]]:
    """Return an utterance, and values for what the context may hold; those of one example where it must fire go first.

    Texts are "some", and the utterance ends with that word: a value that only the user may say was said.
    """
    values: dict[str, Any] = {}
    for path, kind in sorted(lab.bank.registry.types.items()):
        if not path.startswith(_OF_THE_TURN):
            values = with_value(values, path, value_at(path, kind, lab.hints))
    trigger = lab.compiled.strategy.trigger
    said = ""
    if trigger is not None and trigger.examples.fire:
        example = trigger.examples.fire[draw.randrange(len(trigger.examples.fire))]
        said = example.utterance
        for path, value in example.set.items():
            if not path.startswith(_OF_THE_TURN) or path.startswith("results."):
                values = with_value(values, path, value)
    return f"{said} some".strip(), values


def _skills_through(bank: CompiledBank, compiled: Compiled) -> set[str]:
    """Return the skills that the strategy, and those that it calls, run."""
    found: set[str] = set()
    seen, front = {compiled.id}, [compiled]
    while front:
        one = front.pop()
        found |= {one.target} - {""}
        for node in nodes_of(one.strategy):
            found |= {node.run} if node.run else set()
            other = bank.strategies.get(node.call) if node.call else None
            if other is not None and other.id not in seen:
                seen.add(other.id)
                front.append(other)
    return found


def _assignment(bank: CompiledBank, compiled: Compiled) -> Assignment:
    """Return what makes a turn run just this strategy: a driver that calls it, before all that wait for a turn."""
    text = (
        f"schema: strategy/v1\nid: {DRIVER}\nversion: 1\npurpose: Run one strategy.\ndomain: simulated\nowner: check\n"
        f"conflict_resolution: {{priority: 100}}\ntrigger: {{when: 'true'}}\nplan: {{call: {compiled.id}}}\n"
    )
    strategy, source = read(text, Strategy, f"{DRIVER}.yaml")
    driver = compile_strategy(strategy, source, bank.registry, bank.schemas, file=f"{DRIVER}.yaml")
    called = _called(bank, compiled)
    quiet = {one.id: None for one in bank.by_event.get("turn", ()) if one.id not in called}
    return {**quiet, DRIVER: driver}


def _called(bank: CompiledBank, compiled: Compiled) -> set[str]:
    seen, front = {compiled.id}, [compiled]
    while front:
        one = front.pop()
        for edge in one.edges:
            if edge.kind == "call" and edge.to not in seen and edge.to in bank.strategies:
                seen.add(edge.to)
                front.append(bank.strategies[edge.to])
    return seen
