"""When a strategy is used: events, injection, skipping, roles, the unknown, stability, dates (S9 to S20, S51, S52)."""

from __future__ import annotations

from typing import Any

import pytest

from core.strategy.execution.session import stability
from tests.strategy.execution.making import World

ORDER = {"order.id": "string", "order.status": "string", "order.paid_at": "string"}


@pytest.mark.meets("S10", "S9", "S11", "S12", "S13")
async def test_the_accounts_own_form_activates_a_skill() -> None:
    world = World().skill("tutorial_generation", {"text": "1. ..."}).skill("other")
    bank = world.bank(
        """
        trigger:
          when: >-
            IF (intent_confidence > 0.85) AND (last_user_utterance_contains("how to" OR "steps"))
            AND (no_successful_skill_execution_in_last_2_turns == False) THEN activate tutorial_generation
        """
    )
    session = world.session()
    first = await world.turn(bank, "How to?", session, confidence=0.9, skill="other")
    assert world.called == ["other"]  # nothing succeeded yet
    assert first.strategy == ""
    second = await world.turn(bank, "HOW TO?!", session, confidence=0.9, skill="other")
    assert (second.strategy, second.output) == ("shop.one", {"text": "1. ..."})
    third = await world.turn(bank, "How to?", session, confidence=0.8, skill="other")
    assert third.strategy == ""


@pytest.mark.meets("S15", "S16", "S17")
async def test_a_result_brings_in_a_strategy_which_injects_context_and_skips_a_step() -> None:
    world = (
        World().skill("query_logistics", {}).skill("tell").skill("precheck", {"ok": True}, inputs=["order_id", "since"])
    )
    bank = world.bank(
        "plan: [{run: query_logistics}, {run: tell}]",
        """
        id: shop.no_parcel
        trigger:
          event: skill_result:query_logistics
          when: is_empty(results.query_logistics) && order.status == "paid"
        context: {inject: {order_id: order.id, since: order.paid_at}}
        plan: [{skip: query_logistics}, {run: query_logistics}, {run: precheck}]
        """,
        registry=ORDER,
    )
    session = world.session(order={"id": "o1", "status": "paid", "paid_at": "2026-05-20"})
    result = await world.turn(bank, session=session)
    assert world.calls[-1][:2] == ("precheck", {"order_id": "o1", "since": "2026-05-20"})
    assert world.called == ["query_logistics", "precheck"]
    assert result.trace.of("skipped")[0] == {
        "event": "skipped",
        "at": "turn:!turn>shop.one:plan.0!query_logistics>shop.no_parcel:plan.1",
        "skill": "query_logistics",
        "by": "shop.no_parcel",
    }
    outer, inner = sorted(result.executions, key=lambda one: one.strategy_id or "", reverse=True)
    assert "superseded by shop.no_parcel" in outer.execution_path
    assert inner.execution_path == ("skip query_logistics", "skipped query_logistics", "run precheck")
    shipped = await world.turn(bank, session=world.session("s2", order={"id": "o1", "status": "shipped"}))
    assert shipped.strategy == "shop.one"
    assert world.called[2:] == ["query_logistics", "tell"]


@pytest.mark.meets("S17")
async def test_a_strategy_that_only_skips_leaves_the_rest_of_the_plan_as_it_is() -> None:
    world = World().skill("query_order", {"status": "paid"}, provides=["order.status"])
    world.skill("query_logistics").skill("answer", {"n": 1})
    bank = world.bank(
        "plan: [{run: query_order}, {run: query_logistics}, {run: answer}]",
        """
        id: shop.skips
        trigger: {event: skill_result:query_order, when: order.status == "paid"}
        plan: {skip: query_logistics}
        """,
    )
    result = await world.turn(bank)
    assert (world.called, result.output) == (["query_order", "answer"], {"n": 1})


PHRASES: dict[str, Any] = {
    "query": {"type": "string", "role": "user_intent_phrase"},
    "price_range": {"type": "range", "role": "business_rule", "min": 0, "max": 10_000},
}
BOUND = """
    trigger: {when: 'true', bind: {business_rule: arguments.price_range}}
    context: {ask: {arguments.price_range: {text: "How much may it cost?"}}}
    plan: {run: search_product}
    """


@pytest.mark.meets("S18", "S49")
async def test_a_phrase_is_bound_to_a_role_and_one_that_is_not_there_is_asked_for() -> None:
    world = World().skill("search_product", inputs=PHRASES)
    bank = world.bank(BOUND)
    said = {"price_range": {"min_price": 0, "max_price": 300}}
    result = await world.turn(bank, "cheap iPhone", skill="search_product", arguments=said)
    assert world.calls[0][1] == {"query": "cheap iPhone", **said}
    asked = await world.turn(bank, "cheap iPhone", world.session("s2"), skill="search_product")
    assert (asked.kind, asked.question and asked.question.text) == ("question", "How much may it cost?")
    blocked = await world.turn(
        world.bank(
            "{trigger: {when: 'true', bind: {business_rule: arguments.price_range}}, plan: {run: search_product}}"
        ),
        session=world.session("s3"),
    )
    assert (blocked.kind, blocked.code) == ("failed", "UNBOUND_ROLE")
    out = {"price_range": {"min_price": 0, "max_price": 99_999}}
    refused = await world.turn(bank, "x", world.session("s4"), skill="search_product", arguments=out)
    assert refused.code == "INPUT_REFUSED"
    assert result.kind == "done"


@pytest.mark.meets("S49")
async def test_a_model_puts_no_words_into_the_users_mouth() -> None:
    world = World().skill("search_product", inputs={"query": PHRASES["query"]})
    bank = world.bank()
    await world.turn(bank, "cheap phone", skill="search_product", arguments={"query": "gold watch"})
    await world.turn(bank, "cheap phone", world.session("s2"), skill="search_product", arguments={"query": "phone"})
    assert [given["query"] for _, given, _ in world.calls] == ["cheap phone", "phone"]


@pytest.mark.meets("S51", "S52")
async def test_what_is_missing_is_completed_by_its_provider_and_no_error() -> None:
    world = World().skill("apply_refund", needs=["order.id", "payment_method"], effects="write")
    world.skill(
        "get_payment_info",
        {"payment_method": "card"},
        provides=["payment_method"],
        inputs={"order_id": {"type": "string", "role": "domain_constraint"}},
    )
    bank = world.bank("plan: {run: apply_refund}", registry=ORDER)
    session = world.session(order={"id": "o1"})
    result = await world.turn(bank, session=session)
    assert world.called == ["get_payment_info", "apply_refund"]
    assert result.trace.of("auto-complete")[0]["path"] == "payment_method"
    assert (result.executions[0].missed, result.executions[0].completed) == (("payment_method",), ("payment_method",))
    assert session.values()["payment_method"] == "card"


async def test_what_nobody_can_tell_is_a_failure_with_its_name() -> None:
    world = World().skill("apply_refund", needs=["payment_method"]).skill("get", "DOWN", provides=["payment_method"])
    result = await world.turn(world.bank("plan: {run: apply_refund}"))
    assert (result.code, result.message) == ("MISSING_CONTEXT", "payment_method isn't known and nothing provides it")
    assert world.called == ["get"]


@pytest.mark.meets("X3")
@pytest.mark.parametrize(("unknown", "used"), [("skip", ""), ("complete", "shop.one"), ("ask", "shop.one")])
async def test_an_unknown_name_is_not_false(unknown: str, used: str) -> None:
    world = World().skill("query_order", {"status": "paid"}, provides=["order.status"]).skill("pay").skill("other")
    bank = world.bank(
        f"""
        trigger: {{when: order.status == "paid", when_unknown: {unknown}}}
        context: {{ask: {{order.status: {{text: "Is it paid?", options: [paid, open]}}}}}}
        plan: {{run: pay}}
        """
    )
    session = world.session()
    result = await world.turn(bank, session=session, skill="other")
    assert result.strategy == (used if unknown != "ask" else "")
    assert world.called == {"skip": ["other"], "complete": ["query_order", "pay"], "ask": []}[unknown]
    if unknown == "ask":
        assert result.kind == "question"
        assert (await world.answer(bank, session, "paid")).strategy == used
        assert world.called == ["pay"]


@pytest.mark.meets("S19", "S20", "S122", "S121")
async def test_an_unsteady_session_keeps_the_first_path_of_a_question() -> None:
    world = World().skill("a").skill("b")
    bank = world.bank(
        "{trigger: {when: intent.confidence > 0.8, stability: {min_score: 0.6}}, plan: {run: a}}",
        """
        id: shop.two
        conflict_resolution: {priority: 10}
        trigger: {when: intent.confidence > 0.1, stability: {min_score: 0.6}}
        plan: {run: b}
        """,
    )
    session = world.session()
    for confidence in (0.9, 0.2, 0.9, 0.2):
        result = await world.turn(bank, "Where is it?!", session, confidence=confidence)
    assert world.called == ["a", "b", "a", "a"]  # by the fourth time the score is known and low
    assert result.trace.of("first path kept")[0]["instead_of"] == "shop.two"
    other = await world.turn(bank, "where is it", session, confidence=0.2)
    assert other.strategy == "shop.one"


def test_stability_is_the_share_of_repeats_that_went_the_same_way() -> None:
    assert stability([]) is None
    assert stability([("a", "x"), ("b", "y")]) is None
    assert stability([("a", "x"), ("a", "x"), ("a", "y"), ("b", "y")]) == 0.5


@pytest.mark.meets("S61", "S62")
async def test_a_strategy_is_not_used_before_and_after_its_dates() -> None:
    world = World().skill("old").skill("now").skill("new").skill("none")
    bank = world.bank(
        "{id: shop.old, deprecation_date: '2026-06-01T00:00:00Z', plan: {run: old}}",
        "{id: shop.now, effective_from: '2026-05-31T20:00:00-04:00', deprecation_date: '2026-06-02', plan: {run: now}}",
        "{id: shop.new, effective_from: '2026-06-03T00:00:00Z', plan: {run: new}}",
    )
    used: list[str] = []
    for _ in range(3):
        used.append((await world.turn(bank, session=world.session(str(len(used))), skill="none")).strategy)
        world.clock.advance(24 * 3_600_000)
    assert used == ["shop.now", "", "shop.new"]


@pytest.mark.meets("S7", "S124")
async def test_the_priority_decides_and_the_trace_says_so() -> None:
    world = World().skill("a").skill("b")
    bank = world.bank(
        "{id: shop.a, conflict_resolution: {priority: 10}, plan: {run: a}}",
        "{id: shop.b, conflict_resolution: {priority: 90}, plan: {run: b}}",
    )
    result = await world.turn(bank)
    assert result.trace.of("chosen")[0] == {
        "event": "chosen", "at": "turn:", "by": "priority", "strategy": "shop.b", "version": 1, "beaten": ("shop.a",),
    }  # fmt: skip


@pytest.mark.meets("S123")
async def test_the_narrower_of_two_conditions_goes_first() -> None:
    world = World().skill("a").skill("b")
    bank = world.bank(
        "{id: shop.a, trigger: {when: intent.confidence > 0.5}, plan: {run: a}}",
        "{id: shop.b, trigger: {when: intent.confidence > 0.7}, plan: {run: b}}",
    )
    result = await world.turn(bank, confidence=0.9)
    assert (result.strategy, result.trace.of("chosen")[0]["by"]) == ("shop.b", "specificity")


async def test_another_version_holds_for_an_assigned_user_or_none() -> None:
    world = World().skill("a").skill("b").skill("flat")
    bank = world.bank("plan: {run: a}")
    other = world.bank("{version: 2, plan: {run: b}}").strategies["shop.one"]
    result = await world.turn(bank, assignment={"shop.one": other})
    assert (world.called, result.executions[0].version) == (["b"], 2)
    await world.turn(bank, session=world.session("s2"), skill="flat", assignment={"shop.one": None})
    assert world.called == ["b", "flat"]


@pytest.mark.meets("S1", "S2", "S90")
async def test_without_strategies_the_intended_skill_runs_and_is_logged_without_one() -> None:
    world = World().skill("look", {"n": 1})
    result = await world.turn(world.bank(), skill="look")
    assert (result.output, result.executions[0].strategy_id, result.executions[0].version) == ({"n": 1}, None, None)
    nothing = await world.turn(world.bank(), session=world.session("s2"), skill="invented")
    assert (nothing.kind, nothing.code, nothing.executions) == ("failed", "NOTHING_FITS", ())


@pytest.mark.meets("S92")
@pytest.mark.parametrize(("direct", "runs"), [("all", True), ("none", False), (["pay"], True), (["look"], False)])
async def test_a_bank_says_which_skills_run_where_no_strategy_fires(direct: object, runs: bool) -> None:
    """A trigger that declined would not keep a model from its skill otherwise."""
    world = World().skill("look", {}).skill("pay", {"ok": True}, effects="write")
    bank = world.bank("trigger: {when: 'intent.confidence > 0.9'}\nplan: {run: pay}", direct=direct)
    result = await world.turn(bank, intent="pay", confidence=0.5, skill="pay")
    assert world.called == (["pay"] if runs else [])
    assert (result.code == "") is runs
    if not runs:
        assert result.code == "NOTHING_FITS"
        assert "by strategies only" in result.message
