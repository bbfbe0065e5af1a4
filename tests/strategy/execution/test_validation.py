"""Was it right: three levels, their budgets, probes, what a finding brings about (S34 to S45, S87 to S89)."""

from __future__ import annotations

from typing import Any

import pytest

from core.strategy.execution.later import later
from core.strategy.execution.records import LevelResult
from core.strategy.schema import outputs
from tests.strategy.execution.making import World


@pytest.mark.meets("S34", "S35", "S36", "S37", "S50")
@pytest.mark.parametrize(
    ("output", "code"),
    [
        ({"status": "shipped", "due": "2026-06-05", "tracking": "SF123"}, ""),
        ({"status": "lost", "due": "2026-06-05", "tracking": "SF123"}, "SCHEMA_MISMATCH"),
        ({"status": "shipped", "due": "2026-05-05", "tracking": "SF123"}, "LATE"),
        ({"status": "shipped", "due": "2026-06-05", "tracking": "?"}, "BAD_NUMBER"),
        ({"status": "shipped", "due": "2026-06-05", "tracking": ""}, "EMPTY"),
    ],
)
async def test_an_output_is_checked_for_its_meaning(output: dict[str, str], code: str) -> None:
    world = World().skill(
        "look",
        output,
        outputs={
            "type": "object",
            "required": ["status"],
            "properties": {
                "status": {"enum": ["paid", "shipped"]},
                "due": {"type": "string", "format": "date"},
                "tracking": {"type": "string"},
            },
        },
    )
    bank = world.bank(
        """
        plan: {run: look, as: found}
        validate:
          level0:
            checks:
              - {at: found, schema: look.output}
              - {at: found, present: [tracking], code: EMPTY}
              - {at: found, expr: days_from_now(found.due) > 0, code: LATE}
              - {at: found, expr: 'matches_named(found.tracking, "tracking")', code: BAD_NUMBER}
        """,
        patterns={"tracking": "^SF[0-9]+$"},
    )
    result = await world.turn(bank)
    assert result.code == code
    level = result.executions[0].validation_result["level0"]
    assert level is not None
    assert level.failed == ((code,) if code else ())


@pytest.mark.meets("S38", "S39")
async def test_a_success_without_effect_is_found_by_a_probe() -> None:
    world = World().skill("return_request", {"ok": True}, effects="write")
    world.skill("query_order", {"status": "paid"}, {"status": "returning"}, inputs=["order_id"])
    world.skill("hand_off", {"n": 1})
    bank = world.bank(
        """
        plan: {run: return_request, as: asked}
        validate:
          cross: [{at: asked, probe: query_order, with: {order_id: $order.id}, expr: probe.status == "returning"}]
          on_fail: {PSEUDO_SUCCESS: {do: {run: hand_off}}}
        """,
        registry={"order.id": "string"},
    )
    result = await world.turn(bank, session=world.session(order={"id": "o1"}))
    assert world.called == ["return_request", "query_order", "hand_off"]
    assert world.calls[1][1] == {"order_id": "o1"}
    assert result.output == {"n": 1}
    assert result.trace.of("called")[1]["purpose"] == "probe"
    assert result.executions[0].pseudo_success is True
    honest = await world.turn(bank, session=world.session("s2", order={"id": "o2"}))
    assert honest.executions[0].pseudo_success is False
    assert honest.executions[0].validation_result["cross"] == LevelResult(passed=1)


@pytest.mark.meets("S87", "S88", "S89")
async def test_a_message_that_says_success_at_its_limit_goes_another_way_at_once() -> None:
    world = World().skill("send_sms", {"code": 0, "msg": "success", "remaining": 0}, ms=60, effects="write")
    world.skill("send_wechat_notification", {"sent": True}, ms=80, effects="write")
    bank = world.bank(
        """
        plan: {run: send_sms, as: sms}
        validate:
          level0: {checks: [{at: sms, expr: sms.remaining > 0, code: DAILY_LIMIT}]}
          on_fail: {DAILY_LIMIT: {do: {run: send_wechat_notification}}}
        """,
        registry={"sms.remaining": "number"},
    )
    result = await world.turn(bank)
    assert (world.called, result.output) == (["send_sms", "send_wechat_notification"], {"sent": True})
    assert result.executions[0].latency_ms < 200


@pytest.mark.meets("S40")
async def test_the_budget_of_level_0_is_kept_and_an_overrun_told() -> None:
    world = World().skill("look", {"n": 1}).skill("slow", {"ok": False}, ms=500).skill("quick", {"ok": True}, ms=10)
    bank = world.bank(
        """
        plan: {run: look, as: found}
        validate: {level0: {budget_ms: 50, checks: [
          {at: found, run: quick}, {at: found, run: slow}, {at: found, present: [n]}]}}
        """
    )
    result = await world.turn(bank)
    assert result.kind == "done"
    assert world.clock.monotonic_ms() == 50
    level = result.executions[0].validation_result["level0"]
    assert level is not None
    assert (level.passed, level.unknown, level.overrun, level.ms) == (2, 2, False, 50)


async def test_a_check_that_cannot_be_judged_does_not_pass() -> None:
    world = World().skill("look", {"n": 1})
    bank = world.bank(
        "{plan: {run: look, as: found}, validate: {level0: {checks: [{at: found, expr: found.m > 1, code: LOW}]}}}",
    )
    result = await world.turn(bank)
    assert result.code == "LOW"
    assert result.trace.of("checked")[-1]["verdict"] == "unknown"


@pytest.mark.meets("S41")
@pytest.mark.parametrize(("amount", "code"), [(400, ""), (900, "OVER_REFUND")])
async def test_business_rules_are_checked_where_it_is_worth_it(amount: int, code: str) -> None:
    world = World().skill("refund", {"amount": 1_000})
    bank = world.bank(
        """
        plan: {run: refund, as: refund}
        validate:
          level1:
            when: order.amount > 500
            checks: [{at: refund, expr: refund.amount <= order.amount, code: OVER_REFUND}]
          on_fail: {OVER_REFUND: {abort: true}}
        """,
        registry={"order.amount": "number"},
    )
    result = await world.turn(bank, session=world.session(order={"amount": amount}))
    assert result.code == code
    assert (result.executions[0].validation_result["level1"] is None) == (amount == 400)


@pytest.mark.meets("S42", "S127")
async def test_level_2_comes_later_as_an_event_and_adds_nothing_to_the_answer() -> None:
    world = World().skill("pay", {"id": 7}, ms=20).skill("risk_scan", {"ok": False}, ms=5_000, inputs=["device_id"])
    world.skill("freeze", {"frozen": True})
    bank = world.bank(
        """
        plan: {run: pay, as: paid}
        validate: {level2: {checks: [{at: paid, run: risk_scan, code: RISKY}]}}
        """,
        "{id: shop.risky, trigger: {event: 'level2:risk_scan', when: 'true'}, plan: {run: freeze}}",
        registry={"device.id": "string"},
    )
    session = world.session(device={"id": "d1"})
    result = await world.turn(bank, session=session)
    assert (result.kind, result.executions[0].latency_ms, world.called) == ("done", 20, ["pay"])
    found = await later(bank, session, result.deferred, world.skills, world.clock)
    assert world.called == ["pay", "risk_scan", "freeze"]
    assert world.calls[1][1] == {"device_id": "d1"}
    assert found.output == {"frozen": True}
    verdicts, brought_in = found.executions
    assert (verdicts.strategy_id, verdicts.event) == ("shop.one", "level2")
    assert verdicts.validation_result["level2"] == LevelResult(failed=("RISKY",))
    assert brought_in.strategy_id == "shop.risky"


@pytest.mark.meets("S4")
async def test_a_strategy_that_only_checks_holds_wherever_its_skill_runs() -> None:
    world = World().skill("look", {"n": 0}).skill("rest", {"n": 9})
    checker = """
        id: shop.checks
        validate:
          level0: {checks: [{at: look, expr: look.n > 0, code: ZERO}]}
          on_fail: {ZERO: {do: {run: rest}}}
        """
    registry = {"look.n": "number"}
    result = await world.turn(world.bank(checker, registry=registry), skill="look")
    assert result.output == {"n": 9}
    planned = await world.turn(
        world.bank(checker, "plan: {run: look, as: other}", registry=registry), session=world.session("s2")
    )
    assert planned.output == {"n": 9}


@pytest.mark.meets("S44")
async def test_a_finding_is_followed_by_a_retry_at_once() -> None:
    world = World().skill("pay", {"ok": False}, {"ok": True}, effects="write")
    bank = world.bank(
        """
        plan: {run: pay, as: paid}
        validate:
          level0: {checks: [{at: paid, expr: paid.ok, code: NOT_PAID}]}
          on_fail: {NOT_PAID: {retry: 1}}
        """,
        registry={"paid.ok": "boolean"},
    )
    result = await world.turn(bank)
    assert (world.called, result.output) == (["pay", "pay"], {"ok": True})
    assert [event["action"] for event in result.trace.of("recovered")] == ["retry"]


async def test_what_is_made_once_is_not_paid_for_by_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World().skill("look", {"n": 1}, outputs={"type": "object", "title": "met for the first time"})
    bank = world.bank("{plan: {run: look, as: x}, validate: {level0: {checks: [{at: x, present: [m], code: GONE}]}}}")
    slow = outputs._compiled

    def compiled(key: str) -> Any:
        world.clock._ms += 500  # as loading the library takes
        return slow(key)

    monkeypatch.setattr(outputs, "_compiled", compiled)
    result = await world.turn(bank)
    assert result.code == "GONE"
    level = result.executions[0].validation_result["level0"]
    assert level is not None
    assert (level.overrun, level.unknown) == (False, 0)
