"""Turns: questions and their answers, one budget for all, hand-off, what a session keeps (S84, S85, S91 to S95, X6)."""

from __future__ import annotations

import asyncio

import pytest

from core.foundation.errors import ConflictError, UsageError
from core.strategy.execution.records import Execution
from core.strategy.execution.trace import DecisionTrace
from tests.strategy.execution.making import World

ASKS = """
    context:
      needs: [reason_code]
      ask:
        reason_code:
          text: {en: "What is the reason?", zh: "原因？"}
          options: [quality_issue, wrong_item, do_not_want]
          max_asks: 2
    plan: [{run: refund, with: {reason: $reason_code}}]
    """


def refunds() -> World:
    return World().skill("refund", {"ok": True}, effects="write", inputs=["reason"])


@pytest.mark.meets("S93", "S94")
async def test_what_is_missing_is_asked_for_with_options_and_the_answer_resumes_the_original() -> None:
    world = refunds()
    bank = world.bank(ASKS)
    session = world.session(user={"language": "zh"})
    asked = await world.turn(bank, "refund please", session, required=["reason_code"])
    assert asked.kind == "question"
    assert asked.question is not None
    assert (asked.question.text, asked.question.options[0]) == ("原因？", "quality_issue")
    assert (asked.executions, world.called) == ((), [])
    done = await world.answer(bank, session, "Wrong item.")
    assert (done.kind, done.strategy) == ("done", "shop.one")
    assert world.calls[0][1] == {"reason": "wrong_item"}
    assert session.turn == 1
    with pytest.raises(UsageError, match="waits for no answer"):
        await world.answer(bank, session, "again")


@pytest.mark.meets("S93")
async def test_an_answer_that_is_none_is_asked_for_again_and_then_it_is_a_failure() -> None:
    world = refunds()
    bank, session = world.bank(ASKS), world.session()
    await world.turn(bank, session=session)
    again = await world.answer(bank, session, "because")
    assert (again.kind, again.question and again.question.asked) == ("question", 2)
    assert (await world.answer(bank, session, "because!")).code == "QUESTION_UNANSWERED"


async def test_an_answer_may_be_a_number_and_the_models_argument_may_spare_the_question() -> None:
    world = refunds()
    bank, session = world.bank(ASKS), world.session()
    await world.turn(bank, session=session)
    await world.answer(bank, session, "3")
    heard = await world.turn(bank, session=world.session("s2"), arguments={"reason_code": "quality issue"})
    assert [given["reason"] for _, given, _ in world.calls] == ["do_not_want", "quality_issue"]
    assert heard.trace.of("heard")[0]["path"] == "reason_code"
    invented = await world.turn(bank, session=world.session("s3"), arguments={"reason_code": "aliens"})
    assert invented.kind == "question"


@pytest.mark.meets("S94", "X2")
async def test_what_was_done_before_the_question_is_not_done_again() -> None:
    world = World().skill("pay", {"n": "1"}, {"n": "2"}, effects="write").skill("after", inputs=["n", "why"])
    bank = world.bank(
        """
        plan:
          - {run: pay, as: paid, tx: {reserve: ticket_id}}
          - {ask: {text: "Why?", into: why}}
          - {run: after, with: {why: $why, n: "$paid.n"}}
        """,
        registry={"why": "string"},
    )
    session = world.session()
    assert (await world.turn(bank, session=session)).kind == "question"
    done = await world.answer(bank, session, "so")
    assert world.called == ["pay", "after"]
    assert world.calls[1][1] == {"n": "1", "why": "so"}
    assert done.executions[0].execution_path == ("run pay", "run after")
    assert world.store.reserve("ticket_id", "x").number == 2


async def test_a_new_turn_lets_an_open_question_be() -> None:
    world = refunds()
    bank, session = world.bank(ASKS), world.session()
    await world.turn(bank, session=session)
    session.put({"reason_code": "wrong_item"})
    assert (await world.turn(bank, session=session)).kind == "done"
    with pytest.raises(UsageError):
        await world.answer(bank, session, "wrong_item")


@pytest.mark.meets("X6", "S29", "S126")
async def test_one_budget_of_steps_holds_over_chains_and_loops() -> None:
    world = World().skill("look", {"done": False}).skill("hand_off", {"n": 1})
    loop = "{loop: {do: %s, until: x.done, max_iterations: 3}}"
    nested = loop % (loop % (loop % "{run: look, as: x}"))
    bank = world.bank(
        "plan: [{call: shop.two}, {call: shop.two}]",
        f"{{id: shop.two, called: true, plan: {nested}}}",
        hand_off={"run": "hand_off"},
        turn={"max_steps": 24, "max_ms": 20_000},
    )
    result = await world.turn(bank)
    assert len(world.called) <= 25
    assert (result.code, result.handed_off, result.output) == ("TURN_BUDGET", True, {"n": 1})
    assert {one.code for one in result.executions} == {"TURN_BUDGET"}


@pytest.mark.meets("X6")
async def test_one_budget_of_time_holds_whatever_the_limits_of_nodes() -> None:
    world = World().skill("slow", ms=15_000)
    bank = world.bank("plan: [{run: slow}, {run: slow}]", turn={"max_steps": 24, "max_ms": 20_000})
    result = await world.turn(bank)
    assert (result.kind, result.code, world.clock.monotonic_ms()) == ("failed", "TURN_BUDGET", 20_000)
    assert result.executions[0].code == "TURN_BUDGET"


@pytest.mark.meets("S91")
async def test_the_same_inputs_give_the_same_bytes() -> None:
    def world() -> World:
        made = World().skill("a", {"n": 1}, ms=30).skill("b", "DOWN", {"n": 2}, ms=10)
        return made.skill("c", {"n": 3}, ms=20)

    plan = """
        plan:
          - parallel: {branches: [{run: a}, {run: b, retry: {max: 1, backoff_ms: [50], jitter: true}}]}
          - {switch: [{if: a.n == 1, do: {run: c}}]}
        """
    traces = []
    for _ in range(3):
        one = world()
        traces.append((await one.turn(one.bank(plan, registry={"a.n": "number"}))).trace)
    assert len({trace.to_bytes() for trace in traces}) == 1
    assert len({trace.sha256 for trace in traces}) == 1
    assert isinstance(traces[0], DecisionTrace)


@pytest.mark.meets("S90")
async def test_another_text_of_the_model_with_the_same_suggestion_changes_nothing() -> None:
    from core.strategy.execution.suggestion import read
    from core.strategy.execution.turn import run_turn

    traces = set()
    for text in (
        '{"intent": "refund", "confidence": 0.9}',
        '{"confidence": 0.90, "thought": "hm", "intent": "refund"}',
    ):
        world = World().skill("pay")
        bank = world.bank("{trigger: {when: intent.confidence > 0.5}, plan: {run: pay}}")
        suggestion, _ = read(text)
        result = await run_turn(bank, world.session(), "x", suggestion, world.skills, world.clock)
        traces.add(result.trace.to_bytes())
    assert len(traces) == 1


@pytest.mark.meets("S74")
async def test_an_execution_has_all_that_the_log_asks_for_and_reads_back() -> None:
    world = World().skill("look", {"n": 1}, ms=12)
    bank = world.bank("{plan: {run: look, as: x}, validate: {level0: {checks: [{at: x, present: [n]}]}}}")
    result = await world.turn(bank, session=world.session(user={"id": "u1"}), confidence=0.5)
    execution = result.executions[0]
    assert (execution.strategy_id, execution.version, execution.trigger_condition_met) == ("shop.one", 1, True)
    assert execution.execution_path == ("run look",)
    assert (execution.business_impact, execution.latency_ms, execution.user) == (None, 12, {"id": "u1"})
    assert execution.validation_result["level1"] is None
    assert execution.trace_sha256 == result.trace.sha256
    assert Execution.from_json(execution.to_json()) == execution


@pytest.mark.meets("S84", "S85", "S121")
async def test_a_session_keeps_results_and_snapshots() -> None:
    world = World().skill("query_order", {"status": "paid"}, provides=["order.status"])
    session = world.session()
    await world.turn(world.bank(), "How to?", session, skill="query_order", confidence=0.4)
    begin, end = world.store.snapshots("s1")
    assert (begin.label, end.label, begin.turn) == ("begin", "end", 1)
    assert begin.body["values"]["intent"] == {"skill": "query_order", "confidence": 0.4}
    assert end.body["values"]["results"] == {"query_order": {"status": "paid"}}
    assert end.body["values"]["order"] == {"status": "paid"}
    assert session.memory().past[0].skill == "query_order"


async def test_turns_of_one_session_do_not_overlap() -> None:
    world = World().skill("slow", ms=50)
    bank, session = world.bank("plan: {run: slow}"), world.session()
    first = asyncio.create_task(world.turn(bank, session=session))
    await asyncio.sleep(0)
    with pytest.raises(ConflictError, match="in a turn already"):
        await world.turn(bank, session=session)
    assert (await first).kind == "done"
    assert (await world.turn(bank, session=session)).kind == "done"


@pytest.mark.meets("S86")
async def test_a_hundred_sessions_at_once_lose_and_double_nothing() -> None:
    world = World().skill(
        "create_ticket", lambda given: {"id": given["ticket_id"]}, ms=20, effects="write", inputs=["ticket_id"]
    )
    bank = world.bank("plan: {run: create_ticket, tx: {reserve: ticket_id}}")
    sessions = [world.session(f"s{number}") for number in range(100)]
    results = await asyncio.gather(*(world.turn(bank, session=session) for session in sessions))
    assert {(result.output or {})["id"] for result in results} == {f"ticket_id-{n:06d}" for n in range(1, 101)}
    assert world.clock.monotonic_ms() == 20


async def test_a_failed_strategy_may_be_rescued_by_one_that_waits_for_it() -> None:
    world = World().skill("shaky", "DOWN").skill("rescue", {"n": 1})
    bank = world.bank(
        "plan: {run: shaky}",
        "{id: shop.rescue, trigger: {event: 'strategy_failed:shop.one', when: 'true'}, plan: {run: rescue}}",
    )
    result = await world.turn(bank)
    assert (result.kind, result.output) == ("done", {"n": 1})
    assert [one.code for one in result.executions if one.strategy_id == "shop.one"] == ["DOWN"]


@pytest.mark.meets("S92")
async def test_what_the_model_invented_stands_in_the_trace() -> None:
    world = World().skill("look")
    result = await world.turn(world.bank(), skill="look", dropped=("strategy: no key of a suggestion",))
    assert result.trace.of("dropped")[0]["what"] == ["strategy: no key of a suggestion"]
