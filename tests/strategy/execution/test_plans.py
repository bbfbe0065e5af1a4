"""Plans at work: the four modes, limits, tries, recovery, breakers, transactions (S21 to S33, S86, X2)."""

from __future__ import annotations

from typing import Any

import pytest

from core.strategy.execution.store import Scratch
from tests.strategy.execution.making import World


def kinds(result: Any, *wanted: str) -> list[str]:
    return [event["event"] for event in result.trace.events if event["event"] in wanted]


@pytest.mark.meets("S21", "S22")
async def test_a_loop_in_a_switch_in_a_parallel_runs() -> None:
    world = World().skill("look", {"done": False}, {"done": True}).skill("other", {"n": 1}).skill("rest")
    bank = world.bank(
        """
        plan:
          parallel:
            branches:
              - switch:
                  - if: order.status == "paid"
                    do: {loop: {do: {run: look, as: ev}, until: ev.done, max_iterations: 3}}
                  - else: {run: rest}
              - {run: other, as: second}
        """,
        registry={"order.status": "string"},
    )
    result = await world.turn(bank, session=world.session(order={"status": "paid"}))
    assert result.kind == "done"
    assert sorted(world.called) == ["look", "look", "other"]
    assert result.output == {"branch_0": {"done": True}, "second": {"n": 1}}


@pytest.mark.meets("S26")
async def test_branches_take_as_long_as_the_longest_and_are_merged() -> None:
    world = World()
    for name, ms, price in (("jd", 300, 9), ("tmall", 500, 8), ("pdd", 200, 7)):
        world.skill(name, {"price": price}, ms=ms)
    world.skill("merge", lambda inputs: {"best": min(one["price"] for one in inputs.values())}, ms=10)
    bank = world.bank("plan: {parallel: {branches: [{run: jd}, {run: tmall}, {run: pdd}], merge: merge}}")
    result = await world.turn(bank)
    assert result.output == {"best": 7}
    assert world.clock.monotonic_ms() == 510
    assert result.executions[0].latency_ms == 510
    assert world.calls[-1][1] == {"jd": {"price": 9}, "tmall": {"price": 8}, "pdd": {"price": 7}}


@pytest.mark.meets("S27")
async def test_a_source_that_is_down_is_estimated_and_the_merged_answer_says_so() -> None:
    world = World().skill("jd", {"price": 9}).skill("tmall", "HTTP_503").skill("history", {"price": 8.5})
    world.skill("merge", {"best": 8.5})
    bank = world.bank(
        """
        plan:
          parallel:
            branches:
              - {run: jd, as: a}
              - {run: tmall, as: b, recover: {HTTP_503: {do: {run: history}, estimated: true}}}
            merge: merge
        """
    )
    result = await world.turn(bank)
    assert (result.kind, result.output) == ("done", {"best": 8.5, "estimated": ["b"]})
    assert world.calls[-1][1]["b"] == {"price": 8.5, "estimated": True}
    assert result.executions[0].fallbacks == ("run history",)


@pytest.mark.parametrize(("join", "kind"), [("all", "failed"), ("any", "done"), (2, "done"), (3, "failed")])
async def test_how_many_branches_must_succeed(join: Any, kind: str) -> None:
    world = World().skill("a", {"n": 1}, ms=10).skill("b", "BROKEN", ms=5).skill("c", {"n": 3}, ms=30)
    bank = world.bank(f"plan: {{parallel: {{branches: [{{run: a}}, {{run: b}}, {{run: c}}], join: {join}}}}}")
    result = await world.turn(bank)
    assert result.kind == kind
    assert result.code == {"all": "BROKEN", 3: "TOO_FEW_BRANCHES"}.get(join, "")
    if join == "any":
        assert result.output == {"a": {"n": 1}}
        assert world.clock.monotonic_ms() == 10  # the slow one is not waited for


@pytest.mark.meets("S28")
async def test_a_branch_is_taken_by_what_the_store_holds_at_that_moment() -> None:
    world = World()
    session = world.session(order={"status": "paid"})

    def ship(_: Any) -> dict[str, Any]:
        session.put({"order.status": "shipped"})
        return {}

    world.skill("slow", ship).skill("for_paid").skill("for_shipped")
    bank = world.bank(
        """
        plan:
          - run: slow
          - switch:
              - {if: order.status == "paid", do: {run: for_paid}}
              - {if: order.status == "shipped", do: {run: for_shipped}}
        """,
        registry={"order.status": "string"},
    )
    await world.turn(bank, session=session)
    assert world.called == ["slow", "for_shipped"]


@pytest.mark.meets("S29")
async def test_a_loop_stops_at_three() -> None:
    world = World().skill("look", {"done": False})
    bank = world.bank("plan: {loop: {do: {run: look, as: ev}, until: ev.done, max_iterations: 3}}")
    result = await world.turn(bank)
    assert world.called == ["look"] * 3
    assert result.trace.of("loop ended")[0]["by"] == "bound"


@pytest.mark.meets("S23", "S30", "S25")
async def test_a_slow_pre_check_gives_way_to_a_hand_off_with_its_promise() -> None:
    world = (
        World()
        .skill("precheck", ms=9_000)
        .skill(
            "hand_off",
            lambda given: {"minutes": given["minutes"]},
            inputs={"minutes": {"type": "integer", "role": "business_rule"}},
        )
    )
    bank = world.bank(
        """
        plan:
          run: precheck
          as: pre
          timeout_ms: 3000
          recover: {TIMEOUT: {do: {run: hand_off, with: {minutes: 30}}}}
        """
    )
    result = await world.turn(bank)
    assert (result.output, world.clock.monotonic_ms()) == ({"minutes": 30}, 3_000)
    assert result.executions[0].fallbacks == ("run hand_off",)


@pytest.mark.meets("S24")
async def test_a_failed_call_is_tried_as_often_as_the_node_says_with_its_pauses() -> None:
    world = World().skill("shaky", "HTTP_503", "HTTP_503", {"n": 1})
    bank = world.bank("plan: {run: shaky, retry: {max: 2, backoff_ms: [100, 400]}}")
    result = await world.turn(bank)
    assert (result.output, world.called, world.clock.monotonic_ms()) == ({"n": 1}, ["shaky"] * 3, 500)


async def test_a_composite_node_has_a_limit_tries_and_recovery_too() -> None:
    world = World().skill("one", ms=80).skill("two", ms=80).skill("rest", {"n": 0})
    bank = world.bank(
        """
        plan:
          sequence: [{run: one}, {run: two}]
          timeout_ms: 100
          retry: {max: 1}
          recover: {TIMEOUT: {do: {run: rest}}}
        """
    )
    result = await world.turn(bank)
    assert world.called == ["one", "two", "one", "two", "rest"]
    assert (result.output, world.clock.monotonic_ms()) == ({"n": 0}, 200)


RECOVERY = [{"code": "DOWN", "severity": "high", "auto_recovery": "none", "fallback_skill": "by_profile"}]


@pytest.mark.meets("S25", "S44", "S55")
@pytest.mark.parametrize(
    ("helps", "expected"),
    [
        ("by_node", ["shaky", "by_node"]),
        ("by_profile", ["shaky", "by_node", "by_profile"]),
        ("by_on_fail", ["shaky", "by_node", "by_profile", "by_on_fail"]),
        ("by_event", ["shaky", "by_node", "by_profile", "by_on_fail", "by_event"]),
        ("by_bank", ["shaky", "by_node", "by_profile", "by_on_fail", "by_event", "by_bank"]),
    ],
)
async def test_recovery_goes_from_the_node_to_the_profile_to_the_strategy_to_the_bank(
    helps: str, expected: list[str]
) -> None:
    world = World().skill("shaky", "DOWN", failures=RECOVERY)
    for name in ("by_node", "by_profile", "by_on_fail", "by_event", "by_bank"):
        world.skill(name, {"by": name} if name == helps else "DOWN")
    bank = world.bank(
        """
        plan: {run: shaky, as: x, recover: {DOWN: {do: {run: by_node}}}}
        validate: {on_fail: {DOWN: {do: {run: by_on_fail}}}}
        """,
        """
        id: shop.rescue
        trigger: {event: failure:shaky/DOWN, when: 'true'}
        plan: {run: by_event}
        """,
        hand_off={"run": "by_bank"},
    )
    result = await world.turn(bank)
    assert (result.kind, result.output) == ("done", {"by": helps})
    assert world.called == expected
    assert result.handed_off == (helps == "by_bank")


async def test_a_rule_of_a_node_around_goes_before_the_strategys() -> None:
    world = World().skill("shaky", "DOWN").skill("around", {"n": 1}).skill("by_on_fail")
    bank = world.bank(
        """
        plan:
          sequence: [{run: shaky}]
          recover: {DOWN: {do: {run: around}}}
        validate: {on_fail: {DOWN: {do: {run: by_on_fail}}}}
        """
    )
    await world.turn(bank)
    assert world.called == ["shaky", "around"]


@pytest.mark.meets("S54")
async def test_the_profiles_retry_with_backoff_repeats_and_then_falls_back() -> None:
    rows = [
        {
            "code": "NETWORK_TIMEOUT",
            "severity": "high",
            "auto_recovery": "retry_with_backoff",
            "fallback_skill": "check_order_status",
        },
        {
            "code": "INVALID_SKU",
            "severity": "medium",
            "auto_recovery": "none",
            "fallback_skill": "suggest_similar_products",
        },
    ]
    world = World().skill("buy", "NETWORK_TIMEOUT", failures=rows).skill("check_order_status", {"status": "paid"})
    world.skill("suggest_similar_products", {"products": []}).skill("buy_other", "INVALID_SKU", failures=rows)
    result = await world.turn(world.bank("plan: {run: buy}"))
    assert (world.called, result.output) == (["buy"] * 3 + ["check_order_status"], {"status": "paid"})
    assert 250 <= world.clock.monotonic_ms() <= 500  # two pauses, half to whole of 100 and 400 ms
    world.calls.clear()
    await world.turn(world.bank("plan: {run: buy_other}"))
    assert world.called == ["buy_other", "suggest_similar_products"]


@pytest.mark.meets("S56")
async def test_a_code_that_nobody_declared_is_told_and_no_crash() -> None:
    world = World().skill("odd", "MARTIANS").skill("raises", lambda _: 1 / 0)
    result = await world.turn(world.bank("plan: {run: odd}"))
    assert (result.kind, result.code) == ("failed", "MARTIANS")
    assert result.trace.of("unprofiled failure")[0]["code"] == "MARTIANS"
    raised = await world.turn(world.bank("plan: {run: raises}"))
    assert (raised.code, raised.message) == ("SKILL_RAISED", "ZeroDivisionError: division by zero")


@pytest.mark.meets("S33", "S7")
async def test_a_breaker_opens_and_a_probe_closes_it() -> None:
    world = World().skill("shaky", "DOWN", "DOWN", {"n": 1}).skill("rest", {"n": 0})
    bank = world.bank(
        """
        plan:
          run: shaky
          recover: {"*": {do: {run: rest}}}
          circuit: {open_after: 2, window_s: 60.0, half_open_s: 30.0}
        """
    )
    for number in range(3):
        result = await world.turn(bank, session=world.session(f"s{number}"))
    assert world.called == ["shaky", "rest", "shaky", "rest", "rest"]  # over sessions
    assert result.trace.of("circuit open")
    world.clock.advance(31_000)
    for number in range(3, 5):
        result = await world.turn(bank, session=world.session(f"s{number}"))
    assert world.called[5:] == ["shaky", "shaky"]
    assert result.output == {"n": 1}


async def test_an_optional_node_may_fail() -> None:
    world = World().skill("shaky", "DOWN").skill("rest", {"n": 0})
    result = await world.turn(world.bank("plan: [{run: shaky, optional: true}, {run: rest}]"))
    assert (result.kind, result.output) == ("done", {"n": 0})


@pytest.mark.meets("S86")
async def test_an_id_is_reserved_before_the_skill_runs_and_given_back_where_it_fails() -> None:
    world = World().skill(
        "create_ticket", "REFUSED", lambda given: {"id": given["ticket_id"]}, effects="write", inputs=["ticket_id"]
    )
    bank = world.bank("plan: {run: create_ticket, tx: {reserve: ticket_id}}")
    refused = await world.turn(bank)
    assert refused.trace.of("reservation")[0]["state"] == "released"
    result = await world.turn(bank, session=world.session("s2"))
    assert result.output == {"id": "ticket_id-000001"}
    assert result.trace.of("reservation")[0]["state"] == "committed"
    assert world.store.reserve("ticket_id", "s3").id == "ticket_id-000002"


async def test_an_id_of_which_nobody_knows_whether_it_was_used_is_never_given_again() -> None:
    world = World().skill("create_ticket", ms=500, effects="write", inputs=["ticket_id"])
    await world.turn(world.bank("plan: {run: create_ticket, timeout_ms: 100, tx: {reserve: ticket_id}}"))
    assert world.store.reserve("ticket_id", "s2").id == "ticket_id-000002"


async def test_a_write_upon_a_context_that_changed_meanwhile_is_told_as_a_conflict() -> None:
    world = World()
    session = world.session(order={"status": "paid"})

    def elsewhere(_: Any) -> dict[str, Any]:
        session.put({"order.status": "closed"})
        return {}

    world.skill("pay", elsewhere, effects="write")
    result = await world.turn(world.bank("plan: {run: pay, tx: {reserve: ticket_id}}"), session=session)
    assert result.code == "CONTEXT_CONFLICT"


@pytest.mark.meets("X2")
async def test_every_try_of_a_write_has_the_same_key_and_the_next_turn_another() -> None:
    world = World().skill("pay", "HTTP_503", {"ok": True}, effects="write").skill("look", "HTTP_503", {})
    bank = world.bank("plan: [{run: pay, retry: {max: 1}}, {run: look, retry: {max: 1}}]")
    session = world.session()
    await world.turn(bank, session=session)
    first, second, *reads = [call.idempotency_key for _, _, call in world.calls]
    assert first == second != ""
    assert reads == ["", ""]
    await world.turn(bank, session=session)
    assert world.calls[4][2].idempotency_key not in (first, "")


@pytest.mark.meets("X2")
async def test_a_key_of_the_plan_is_filled_in_and_a_doubtful_write_is_not_repeated() -> None:
    world = World().skill("pay", ms=500, effects="irreversible", idempotent=False)
    bank = world.bank(
        'plan: {run: pay, timeout_ms: 100, retry: {max: 3}, tx: {idempotency_key: "refund:$order.id"}}',
        registry={"order.id": "string"},
    )
    result = await world.turn(bank, session=world.session(order={"id": "o7"}))
    assert [call.idempotency_key for _, _, call in world.calls] == ["refund:o7"]
    assert result.code == "TIMEOUT"
    assert result.trace.of("not repeated")


async def test_a_called_strategy_sees_what_it_inherits() -> None:
    world = World().skill("first", {"n": "1"}).skill("look", inputs=["a", "b", "c"])
    caller = "plan: [{run: first, as: mine}, {call: shop.two, with: {given: 'g'}}]"
    for inherit in ("session", "strategy", "none"):
        callee = f"""
            id: shop.two
            called: true
            context: {{inherit: {inherit}, needs: [given]}}
            plan: {{run: look, with: {{a: $given, b: $order.id, c: $mine.n}}}}
            """
        bank = world.bank(caller, callee, registry={"order.id": "string", "mine.n": "string"})
        await world.turn(bank, session=world.session(inherit, order={"id": "o1"}), skill="")
    seen = [given for name, given, _ in world.calls if name == "look"]
    assert seen == [{"a": "g", "b": "o1"}, {"a": "g", "b": "o1", "c": "1"}, {"a": "g"}]


async def test_an_emitted_event_runs_those_who_wait_for_it_and_the_plan_goes_on() -> None:
    world = World().skill("note").skill("after", {"n": 1})
    bank = world.bank(
        "plan: [{emit: parcel_lost, with: {why: 'gone'}}, {run: after}]",
        "{id: shop.noting, trigger: {event: 'emitted:parcel_lost', when: 'true'}, plan: {run: note}}",
    )
    result = await world.turn(bank)
    assert (world.called, result.output) == (["note", "after"], {"n": 1})


@pytest.mark.meets("X1", "S70")
async def test_a_dry_run_calls_no_skill_that_writes_and_changes_nothing() -> None:
    world = World().skill("look", {"amount": 5}).skill("pay", effects="write").skill("after")
    bank = world.bank("plan: [{run: look, as: seen}, {run: pay, as: paid, tx: {reserve: ticket_id}}, {run: after}]")
    session = world.session(order={"id": "o1"})
    before = world.store.read("s1")
    result = await world.turn(bank, session=session, dry_run=True)
    assert world.called == ["look", "after"]
    assert [call.dry_run for _, _, call in world.calls] == [True, True]
    assert result.trace.of("withheld")[0]["skill"] == "pay"
    assert result.executions[0].dry_run
    assert world.store.read("s1") == before
    assert world.store.reserve("ticket_id", "s1").number == 1
    assert isinstance(session.scratch().store, Scratch)


@pytest.mark.meets("S70")
async def test_a_dry_run_may_be_told_what_the_writes_said_elsewhere() -> None:
    from core.strategy.execution.skills import Outcome

    world = World().skill("pay", effects="write").skill("good").skill("bad")
    bank = world.bank(
        "plan: [{run: pay, as: paid}, {switch: [{if: paid.ok, do: {run: good}}, {else: {run: bad}}]}]",
    )

    def replay(skill: str, inputs: Any) -> Outcome | None:
        return Outcome({"ok": True}) if skill == "pay" else None

    await world.turn(bank, dry_run=True, replay=replay)
    assert world.called == ["good"]
