"""The feedback loop on what really ran: the shop's visits, executed, their failures captured (S96 to S100)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.compiler import compile_bank
from core.strategy.execution.records import Execution
from core.strategy.execution.session import SessionState
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import read
from core.strategy.execution.turn import run_turn
from core.strategy.feedback.bad_cases import BadCase, Queue, capture
from core.strategy.feedback.clusters import cluster
from core.strategy.feedback.encoders import Characters
from core.strategy.feedback.suggestions import suggest as propose
from core.strategy.governance.advisor import advise
from core.strategy.governance.laws import prompt_leaks
from core.strategy.shop.banks import bank_files, settings
from core.strategy.shop.desk import Desk
from core.strategy.shop.talk import Model, suggest
from core.strategy.shop.toolbox import schemas, skills
from core.strategy.shop.visits import Visit, opened, visits


async def lived(*seeds: int) -> tuple[list[BadCase], list[Execution], list[Visit]]:
    """Let the visits of some seeds say their first sentence, and return what is left of it."""
    bank = compile_bank(bank_files(), settings(), schemas())
    assert bank.faults == ()
    cases: list[BadCase] = []
    ran: list[Execution] = []
    came: list[Visit] = []
    for seed in seeds:
        shown, clock = visits(seed), VirtualClock()
        shop = opened(shown, clock)
        for visit in shown:
            shop.begin(visit.customer.id, visit.fate)
            session = SessionState(visit.id, ContextStore(), visit.customer.attributes())
            session.put(visit.knows)
            turn = visit.turns[0]
            said = suggest(Model(), turn.task, turn.arguments, f"{visit.id}:0", visit.customer.age_band)
            result = await run_turn(
                bank, session, turn.utterance, read(said)[0], skills(Desk(shop, visit.customer)), clock
            )
            ran += result.executions
            found = [capture(one, result.trace, turn.utterance, said) for one in result.executions]
            cases += [case for case in found if case is not None]
            came.append(visit)
    return cases, ran, came


@pytest.mark.meets("S96", "S97", "S98", "S99", "S100")
async def test_the_shops_failures_are_captured_clustered_and_answered(tmp_path: Path) -> None:
    cases, ran, came = await lived(0, 1)
    assert 0 < len(cases) < len(ran)
    pseudo = [case for case in cases if case.code == "PSEUDO_SUCCESS"]
    assert pseudo
    for case in pseudo:
        assert case.strategy_id in {"aftersale.pay_back", "aftersale.return_item", "service.notify"}
        assert case.check.startswith("probe.")
        assert any(f"run {case.skill}" in step for step in case.calls)
    queue = Queue(tmp_path)
    for case in cases:
        queue.add(case)
    text = queue.path.read_text("utf-8")
    for visit in came:
        for secret in (visit.customer.id, visit.order.id):
            assert secret not in text
    clusters = cluster(queue.read().cases, Characters())
    assert sum(one.count for one in clusters) == len(cases)
    by_id = {case.id: case for case in cases}
    suggested = {(one.structure.skill, one.structure.code): one.kind for one in propose(clusters, by_id, schemas())}
    assert suggested[pseudo[0].skill, "PSEUDO_SUCCESS"] == "fallback"


@pytest.mark.meets("S97")
async def test_a_failure_belongs_to_the_strategy_in_which_it_happened() -> None:
    cases, _, _ = await lived(0, 1)
    for case in cases:
        began = [event for event in case.events if event["event"] == "began"]
        assert {event.get("strategy") for event in began} == {case.strategy_id}


@pytest.mark.meets("S5")
async def test_the_advisor_reads_the_log() -> None:
    _, ran, _ = await lived(0, 1)
    found = advise(ran, skills=len(schemas()), kinds=9)
    assert found.tasks >= 20
    assert found.calls is not None
    assert found.calls > 1
    assert found.banner


@pytest.mark.meets("S90")
async def test_what_the_model_says_holds_no_strategy() -> None:
    bank = compile_bank(bank_files(), settings(), schemas())
    said = {task: json.dumps(suggest(Model(), task, {}, task)) for task in ("refund", "track", "price_compare")}
    assert prompt_leaks(said, [one.strategy for one in bank.strategies.values()]) == ()
