"""The one door to skills that strategies govern: a model suggests, the executor decides (STRATEGY S78, S90 to S94).

The model says what it has in mind and what it would need. What comes back is the result of what was run, or one
question for the user. No strategy, condition or version stands in the tool's description or in an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from core.agents.callable_skills import CallableSkill, OpenChild, as_skills
from core.agents.governed import Governed
from core.agents.outputs import redacted
from core.agents.tool import ToolContext, ToolResult
from core.agents.tools.commands import Shell
from core.foundation import strict_json
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.models.interface import ToolSpec
from core.state.jsonlines import append_record
from core.strategy.bank.bank import SETTINGS
from core.strategy.bank.shadow import shadow_turn
from core.strategy.bank.turns import Turn
from core.strategy.documents.reading import Fault, FaultyFileError, read
from core.strategy.documents.release import BankSettings
from core.strategy.execution.adapting import for_model
from core.strategy.execution.clock import RealClock
from core.strategy.execution.compiled import Compiled
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.later import later
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Skills
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import read as read_suggestion
from core.strategy.execution.turn import TurnResult, answer, run_turn

NAME = "suggest"
TURNS = "strategy-turns.jsonl"
"""Where a confined process leaves its turns, in its scratchpad."""
_MARGIN_S = 15.0
_CHECKS_S = 20.0  # how long a Session that ends waits for checks of level 2
_DESCRIPTION = (
    "Say what you would do for the user: the intent you see in their words, how sure you are, and the skill you have "
    "in mind with its arguments. Whether that skill runs, another one, or several in order is decided for you. The "
    "answer is the result, or one question: put it to the user in your own words and end your turn; when they have "
    "answered, call this again."
)


def prepare() -> None:
    """Load what reads files where a confined process may not: the conditions' binding, the contracts' library."""
    from jsonschema import Draft202012Validator

    from core.strategy.conditions.binding import binding

    binding().compile("true")
    Draft202012Validator({"type": "object"}).is_valid({})


@dataclass
class Door:
    """What the tool works on: strategies in force and in shadow, compiled, and the skills that can be called.

    `turns` is the file that every turn is appended to. `asked_at` is the prompt of the turn in which the user was asked
    something: the same prompt can't be the answer.
    """

    bank: CompiledBank
    shadow: tuple[Compiled, ...]
    session: SessionState
    found: tuple[CallableSkill, ...]
    shell: Shell
    open_child: OpenChild | None
    turns: Path
    agent_id: str
    clock: RealClock = field(default_factory=RealClock)
    asked_at: str = ""
    checks: set[asyncio.Task[None]] = field(default_factory=set)

    def keep(self, turn: Turn) -> None:
        """Write a turn down."""
        append_record(self.turns, redacted(turn.to_json(), self.shell.secrets), fsync=False)

    def check_later(self, result: TurnResult, turn: Turn, skills: Skills) -> None:
        """Begin the checks of level 2, which the answer doesn't wait for (S42)."""
        if result.deferred:
            task = asyncio.ensure_future(self._check(result, turn, skills))
            self.checks.add(task)
            task.add_done_callback(self.checks.discard)

    async def _check(self, result: TurnResult, turn: Turn, skills: Skills) -> None:
        found = await later(self.bank, self.session, result.deferred, skills, self.clock)
        told = replace(turn, kind="level2", code=found.code, events=found.trace.events, comparisons=())
        self.keep(replace(told, executions=found.executions, context=dict(self.session.values())))

    def take_notices(self) -> list[str]:
        """Tell the model nothing: what the checks find is for strategies and the record."""
        return []

    def expected(self) -> bool:
        """No turn waits for them."""
        return False

    async def changed(self) -> None:
        """Nothing that anybody waits for happens here."""
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        """Let the checks that still run end, for a while; those that don't are stopped and leave no verdict."""
        if self.checks:
            _, late = await asyncio.wait(set(self.checks), timeout=_CHECKS_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)


@dataclass(frozen=True)
class Suggest:
    """suggest. It may change things, for skills may; a call that was cut is not made again."""

    door: Door
    spec: ToolSpec
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 60.0
    max_output: int = 16_000
    repeatable: bool = False

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run a turn, or take the user's words as the answer to what was asked."""
        door, session, said = self.door, self.door.session, dict(arguments)
        if session.body.get("pending") and door.asked_at == context.prompt:
            return ToolResult("Put the question to the user first, and end your turn.", "failed")
        skills = as_skills(door.found, door.shell, door.open_child, context.announce_child)
        time = door.clock.now().isoformat(timespec="milliseconds")
        comparisons: tuple[Mapping[str, Any], ...] = ()
        suggestion, dropped = read_suggestion(said)
        if session.body.get("pending"):
            result = await answer(door.bank, session, context.prompt, skills, door.clock)
        elif door.shadow:
            new = door.shadow[session.turn % len(door.shadow)]
            both = await shadow_turn(
                door.bank, new, session, context.prompt, suggestion, skills, door.clock, dropped=dropped
            )
            result, comparisons = both.answer, (both.comparison.to_json(),)
        else:
            result = await run_turn(door.bank, session, context.prompt, suggestion, skills, door.clock, dropped=dropped)
        door.asked_at = context.prompt if result.question is not None else ""
        turn = Turn(
            session=context.session_id,
            turn=session.turn,
            time=time,
            agent=door.agent_id,
            call_id=context.call_id,
            kind=result.kind,
            code=result.code,
            strategy=result.strategy,
            utterance=context.prompt,
            suggestion={key: value for key, value in asdict(suggestion).items() if key in said},
            events=result.trace.events,
            executions=result.executions,
            comparisons=comparisons,
            user=dict(session.user),
            context=dict(session.values()),
        )
        door.keep(turn)
        door.check_later(result, turn, skills)
        return ToolResult(told(result))


def told(result: TurnResult) -> str:
    """Return what the model reads: the result, a question or a failure. Nothing says which strategy it was (S90)."""
    if result.question is not None:
        asked: dict[str, Any] = {"question": result.question.text}
        if result.question.options:
            asked["options"] = list(result.question.options)
        return strict_json.dumps(asked)
    if result.kind == "failed":
        return strict_json.dumps({"failed": result.code, "message": visible_line(result.message)})
    said: dict[str, Any] = {"result": None if result.output is None else dict(result.output)}
    if result.handed_off:
        said["handed_off"] = True
    return strict_json.dumps(said)


def suggest_tool(
    governed: Governed,
    found: tuple[CallableSkill, ...],
    shell: Shell,
    open_child: OpenChild | None,
    *,
    directory: Path,
    agent_id: str,
    session_id: str,
) -> tuple[Suggest, tuple[str, ...]]:
    """Return the tool over these skills, and a sentence for each fault of a strategy, which then isn't in force.

    The skills' names and descriptions are all that its description says of them. `directory` is written to.
    """
    settings, faults = _settings(governed)
    schemas = {one.schema.skill: one.schema for one in found}
    try:
        plain = compile_bank(governed.files, settings, schemas)
    except ValueError as error:  # a registry or a pattern of bank.yaml that can't be
        settings, faults = BankSettings(), (*faults, Fault(SETTINGS, 0, 0, "", str(error)))
        plain = compile_bank(governed.files, settings, schemas)
    bank, unfit = _fitted(plain, governed)
    beside, _ = _fitted(compile_bank({**governed.files, **governed.shadow}, settings, schemas, plain), governed)
    directory.mkdir(parents=True, exist_ok=True)
    session = SessionState(session_id, ContextStore(directory / "strategy-context.sqlite"), governed.user)
    shadow = tuple(one for _, one in sorted(beside.strategies.items()) if one.file in governed.shadow)
    door = Door(bank, shadow, session, found, shell, open_child, directory / TURNS, agent_id)
    told_faults = (*(f"not in force: {fault}" for fault in (*faults, *bank.faults)), *governed.told, *unfit)
    return Suggest(door, suggest_spec(found), timeout_s=2 * settings.turn.max_ms / 1000 + _MARGIN_S), told_faults


def suggest_spec(found: tuple[CallableSkill, ...]) -> ToolSpec:
    """Return the tool as a model sees it: the skills' names and descriptions are all that it is told."""
    return ToolSpec(NAME, f"{_DESCRIPTION}\n\nSkills:\n{_listed(found)}", _parameters(found))


def _fitted(bank: CompiledBank, governed: Governed) -> tuple[CompiledBank, tuple[str, ...]]:
    """Return the bank as it is for the Session's model, and a sentence for each setting that fits nothing (S118)."""
    told: list[str] = []
    for strategy_id, settings in sorted(governed.fits.items()):
        try:
            bank = for_model(bank, {strategy_id: settings})
        except UsageError as error:
            told.append(f"not adapted to the model: {error}")
    return bank, tuple(told)


def _settings(governed: Governed) -> tuple[BankSettings, tuple[Fault, ...]]:
    if not governed.settings:
        return BankSettings(), ()
    try:
        return read(governed.settings, BankSettings, SETTINGS)[0], ()
    except FaultyFileError as error:
        return BankSettings(), error.faults


def _listed(found: tuple[CallableSkill, ...]) -> str:
    return "\n".join(f"- {one.schema.skill}: {' '.join(one.document.description.split())}" for one in found)


def _parameters(found: tuple[CallableSkill, ...]) -> dict[str, Any]:
    names = [one.schema.skill for one in found]
    said = {
        "intent": {"type": "string", "description": "What the user wants, in a word or two."},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1, "description": "How sure you are of that."},
        "intended_skill": {"type": "string", "enum": names, "description": "The skill you would use."},
        "required_context": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What would have to be known for it.",
        },
        "arguments": {"type": "object", "description": "Values for the skill's inputs that the user gave."},
    }
    return {"type": "object", "properties": said, "required": ["intent", "confidence"]}
