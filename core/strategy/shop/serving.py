"""One arm serves the visits of one seed: who comes and what goes wrong is the same for every arm (S8, S39)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from core.strategy.documents.reading import FaultyFileError
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.compiler import CompiledBank, compile_bank
from core.strategy.execution.records import Execution
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Skills
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion, read
from core.strategy.execution.turn import TurnResult, answer, run_turn
from core.strategy.shop.banks import Layers, layered_files, settings
from core.strategy.shop.baseline import run_flat
from core.strategy.shop.desk import Desk
from core.strategy.shop.talk import SMALLTALK, TASKS, Model, suggest
from core.strategy.shop.toolbox import facts, schemas, skills
from core.strategy.shop.truth import EFFECTS, Verdict, effected, judge
from core.strategy.shop.visits import Turn, Visit, World, opened, visits
from core.strategy.shop.world import Done, Shop

FLAT: Final = "flat"
FLAT_MODEL: Final = "flat, the model's choice first"
Arm = Literal["flat", "flat, the model's choice first"] | CompiledBank
MOST_QUESTIONS = 4
OF_TASK: Mapping[str, frozenset[str]] = {
    "apply_refund": frozenset({"refund"}),
    "refund_precheck": frozenset({"refund"}),
    "collect_evidence": frozenset({"refund"}),
    "query_logistics": frozenset({"track", "refund"}),
    "estimate_delivery": frozenset({"track", "refund"}),
    "contact_carrier": frozenset({"track", "refund"}),
    "create_return_request": frozenset({"return_item"}),
    "cancel_order": frozenset(),
    "query_price": frozenset({"price_compare"}),
    "estimate_price": frozenset({"price_compare"}),
    "merge_prices": frozenset({"price_compare"}),
    "send_sms": frozenset({"notify"}),
    "send_wechat_notification": frozenset({"notify"}),
    "tutorial_generation": frozenset({"how_to"}),
    "search_product": frozenset({"find_product"}),
    "hear_price_range": frozenset({"find_product"}),
    "suggest_similar_products": frozenset({"find_product"}),
    "update_address": frozenset({"change_address"}),
    "intercept_parcel": frozenset({"change_address"}),
    "create_ticket": frozenset({"complaint"}),
}
"""What a skill is for. Those that provide what is known, answer from the help pages or call a person are for all."""
_ACTS: Mapping[str, frozenset[str]] = {
    "refund": frozenset({"apply_refund"}),
    "return_item": frozenset({"create_return_request"}),
    "notify": frozenset({"send_sms", "send_wechat_notification"}),
    "change_address": frozenset({"update_address", "intercept_parcel"}),
    "complaint": frozenset({"create_ticket"}),
}


@dataclass(frozen=True, slots=True)
class Served:
    """How one visit went. `turns` and `mistriggered` count turns; `claimed`: the customer was told that it is done by a
    skill that should have done it, `pseudo`: and it was not. `handed`: a person was called. `latency_ms` is the first
    turn's, questions to the customer not counted.
    """

    visit: Visit
    verdict: Verdict
    turns: int
    mistriggered: int
    claimed: bool
    pseudo: bool
    handed: bool
    questions: int
    latency_ms: float
    executions: tuple[Execution, ...] = ()

    @property
    def success(self) -> bool:
        return self.verdict in ("solved", "handed_over")


@dataclass(frozen=True, slots=True)
class Answered:
    """What a customer got in one turn: `output` None where nothing came of it."""

    output: Mapping[str, Any] | None
    latency_ms: float
    questions: int = 0
    executions: tuple[Execution, ...] = ()


@cache
def layered_bank(layers: Layers) -> CompiledBank:
    """Return the bank with so many layers, compiled."""
    return compiled(layered_files(layers))


def compiled(files: Mapping[str, str]) -> CompiledBank:
    """Compile strategies of the shop. Raises FaultyFileError where one can't be taken."""
    bank = compile_bank(files, settings(), schemas())
    if bank.faults:
        raise FaultyFileError(bank.faults)
    return bank


async def serve(
    arm: Arm, seed: int, world: World = "shop", model: Model | None = None, *, task: str = ""
) -> tuple[Served, ...]:
    """Serve the visits of a seed one after the other, those of one task alone where it is named.

    No visit meets what another one did, so they are the same either way.
    """
    shown = [visit for visit in visits(seed, world) if task in ("", visit.task)]
    clock = VirtualClock()
    shop = opened(shown, clock)
    store = ContextStore()
    try:
        return tuple([await _visit(arm, shop, clock, store, visit, model or Model()) for visit in shown])
    finally:
        store.close()


async def _visit(arm: Arm, shop: Shop, clock: VirtualClock, store: ContextStore, visit: Visit, model: Model) -> Served:
    shop.begin(visit.customer.id, visit.fate)
    own = skills(Desk(shop, visit.customer))
    session = SessionState(visit.id, store, visit.customer.attributes())
    session.put({name: value for name, value in visit.knows.items() if name != "user"})
    answers: list[Answered] = []
    mistriggered = 0
    first_done: tuple[Done, ...] = ()
    for number, turn in enumerate(visit.turns):
        begun = len(shop.done)
        answers.append(await _turn(arm, own, clock, session, visit, turn, number, model))
        done = tuple(shop.done[begun:])
        mistriggered += mistriggers(turn.task, done)
        first_done = first_done or done
    first = answers[0]
    handed = any(ticket.id.startswith("H") and ticket.customer == visit.customer.id for ticket in shop.tickets.values())
    claimed = not handed and first.output is not None and claims(visit.task, first_done)
    return Served(
        visit=visit,
        verdict=judge(shop, visit, first.output, first.latency_ms),
        turns=len(visit.turns),
        mistriggered=mistriggered,
        claimed=claimed,
        pseudo=claimed and not effected(shop, visit),
        handed=handed,
        questions=first.questions,
        latency_ms=first.latency_ms,
        executions=tuple(execution for one in answers for execution in one.executions),
    )


def mistriggers(task: str, done: Sequence[Done]) -> bool:
    """Tell whether something ran that is for another task than what was wanted, or a mere fact in its place."""
    wanted = task if task in TASKS else SMALLTALK
    return any(
        wanted not in OF_TASK[one.skill] if one.skill in OF_TASK else one.skill in facts() and wanted in TASKS
        for one in done
    )


def claims(task: str, done: Sequence[Done]) -> bool:
    """Tell whether a skill that should have the task's effect said success."""
    return task in EFFECTS and any(one.skill in _ACTS[task] and not one.code for one in done)


async def _turn(
    arm: Arm,
    own: Skills,
    clock: VirtualClock,
    session: SessionState,
    visit: Visit,
    turn: Turn,
    number: int,
    model: Model,
) -> Answered:
    suggested = suggest(model, turn.task, turn.arguments, f"{visit.id}:{number}", visit.customer.age_band)
    suggestion, _ = read(suggested)
    if not isinstance(arm, CompiledBank):
        trusting = arm == FLAT_MODEL
        flat = await run_flat(own, clock, session.id, visit.knows, turn.utterance, suggestion, trusting=trusting)
        return Answered(flat.output, flat.latency_ms)
    return await _governed(arm, own, clock, session, visit, turn, suggestion)


async def _governed(
    bank: CompiledBank,
    own: Skills,
    clock: VirtualClock,
    session: SessionState,
    visit: Visit,
    turn: Turn,
    suggestion: Suggestion,
) -> Answered:
    begun = clock.monotonic_ms()
    result: TurnResult = await run_turn(bank, session, turn.utterance, suggestion, own, clock)
    executions = [*result.executions]
    questions = 0
    replies = dict(visit.answers) if turn.task in TASKS else {"wish": "nothing"}
    while result.question is not None and questions < MOST_QUESTIONS:
        questions += 1
        said = replies.get(result.question.into)
        if said is None:  # asked for something that has nothing to do with it: the customer goes
            break
        result = await answer(bank, session, said, own, clock)
        executions += result.executions
    output = result.output if result.kind == "done" else None
    return Answered(output, clock.monotonic_ms() - begun, questions, tuple(executions))
