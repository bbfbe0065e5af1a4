"""The whole bank at work in the shop: what each part of a strategy does for a customer, and that the truth agrees."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.session import SessionState
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.turn import TurnResult, answer, run_turn
from core.strategy.shop.banks import replayed_files
from core.strategy.shop.desk import Desk
from core.strategy.shop.fates import ALWAYS
from core.strategy.shop.orders import REASONS
from core.strategy.shop.serving import claims, compiled, layered_bank, mistriggers, serve
from core.strategy.shop.talk import SKILL_OF, TASKS
from core.strategy.shop.toolbox import skills
from core.strategy.shop.truth import effected, judge
from core.strategy.shop.visits import Visit, opened, visits
from core.strategy.shop.world import Done, Fate, Shop


class Session:
    """One customer of the shop under the whole bank, with a fate and an order of the test's own."""

    def __init__(
        self, task: str, fate: Fate | None = None, *, bank_files: Mapping[str, str] | None = None, **order: Any
    ) -> None:
        found = next(one for seed in range(40) for one in visits(seed) if one.task == task)
        self.visit: Visit = replace(found, order=replace(found.order, **order), fate=fate or Fate(), patience_ms=10_000)
        self.clock = VirtualClock()
        self.shop: Shop = opened([self.visit], self.clock)
        self.shop.begin(self.visit.customer.id, self.visit.fate)
        self.skills = skills(Desk(self.shop, self.visit.customer))
        self.bank = compiled(bank_files) if bank_files else layered_bank(3)
        self.store = ContextStore()
        self.state = SessionState(self.visit.id, self.store, self.visit.customer.attributes())
        self.state.put({"product": self.visit.knows["product"]})

    async def say(self, utterance: str = "", confidence: float = 0.95, **arguments: Any) -> TurnResult:
        task = self.visit.task
        suggestion = Suggestion(task, confidence, SKILL_OF[task], (), arguments)
        said = utterance or self.visit.turns[0].utterance
        return await run_turn(self.bank, self.state, said, suggestion, self.skills, self.clock)

    async def reply(self, text: str) -> TurnResult:
        return await answer(self.bank, self.state, text, self.skills, self.clock)

    def truth(self, result: TurnResult) -> str:
        return judge(self.shop, self.visit, result.output, self.clock.monotonic_ms())

    @property
    def called(self) -> list[str]:
        return [done.skill for done in self.shop.done]


def paid(fate: Fate | None = None, **more: Any) -> Session:
    """A refund for an order that was paid and never sent."""
    return Session("refund", fate, status="paid", parcel=None, refundable=True, **more)


@pytest.mark.meets("S15", "S16", "S17", "S52")
async def test_an_empty_answer_of_the_carrier_about_a_paid_order_leads_to_the_refund() -> None:
    session = paid()
    result = await session.say()
    assert session.truth(result) == "solved"
    (skipped,) = result.trace.of("skip")
    assert skipped["skill"] == "query_logistics"
    assert session.called.count("query_logistics") == 1
    (precheck,) = [event for event in result.trace.of("called") if event["skill"] == "refund_precheck"]
    order = session.visit.order
    assert precheck["inputs"] == {"order_id": order.id, "paid_at": order.paid_at.isoformat()}
    assert {event["path"] for event in result.trace.of("auto-complete")} >= {"order.id", "payment_method"}


async def test_a_parcel_on_its_way_is_told_of_and_not_paid_back() -> None:
    found = next(one for seed in range(40) for one in visits(seed) if one.task == "track" and one.order.parcel)
    assert found.order.parcel is not None
    session = Session("refund", status="shipped", parcel=replace(found.order.parcel, silent=False))
    assert session.truth(await session.say()) == "solved"
    assert not session.shop.refunds


@pytest.mark.meets("S30", "S23", "S25")
async def test_whoever_waits_for_the_precheck_is_told_after_three_seconds_when_a_person_answers() -> None:
    session = paid(Fate(late_ms={"refund_precheck": 15_000.0}))
    result = await session.say()
    assert result.output is not None
    assert "within 30 minutes" in result.output["text"]
    assert 3_000 < session.clock.monotonic_ms() < 4_500
    assert len(session.shop.tickets) == 1
    assert not session.shop.refunds


@pytest.mark.meets("S38", "S39", "S44")
async def test_a_success_without_effect_is_noticed_and_tried_again_and_then_handed_over() -> None:
    session = paid(Fate(lies={"apply_refund": 1}))
    result = await session.say()
    assert session.truth(result) == "solved"
    assert session.called.count("apply_refund") == 2
    assert [event["code"] for event in result.trace.of("checked") if event.get("code")] == ["PSEUDO_SUCCESS"]
    assert any(run.pseudo_success for run in result.executions)
    session = paid(Fate(lies={"apply_refund": ALWAYS}))
    result = await session.say()
    assert not session.shop.refunds
    assert len(session.shop.tickets) == 1


@pytest.mark.meets("S29")
async def test_evidence_is_asked_for_three_times_at_most() -> None:
    session = paid(Fate(approve="need_evidence", evidence_after=2))
    assert session.truth(await session.say()) == "solved"
    assert session.called.count("collect_evidence") == 2
    session = paid(Fate(approve="need_evidence", evidence_after=ALWAYS))
    await session.say()
    assert session.called.count("collect_evidence") == 3
    assert not session.shop.refunds


@pytest.mark.meets("S26", "S27")
async def test_prices_are_asked_at_once_and_an_estimate_stands_in_for_the_source_that_is_down() -> None:
    session = Session("price_compare", Fate(down=frozenset({"tmall"})))
    result = await session.say()
    assert result.output is not None
    assert result.output["estimated"] == ["tmall"]
    assert session.truth(result) == "solved"
    asked = [done.ms for done in session.shop.done if done.skill == "query_price"]
    assert len(asked) == 3
    assert session.clock.monotonic_ms() < max(asked) + 100 < sum(asked)
    slow = Session("price_compare", Fate(slow=frozenset({"jd"})))
    result = await slow.say()
    assert result.output is not None
    assert result.output["estimated"] == ["jd"]
    assert slow.clock.monotonic_ms() < 1_700


@pytest.mark.meets("S28")
async def test_an_order_that_is_shipped_meanwhile_is_intercepted() -> None:
    session = Session("change_address", Fate(ships_after_ms=300), status="paid", parcel=None)
    result = await session.say(address=session.visit.wanted["address"])
    if result.question is not None:  # another skill than the intended one: what the model heard is not for it
        result = await session.reply(session.visit.wanted["address"])
    assert session.called[-2:] == ["update_address", "intercept_parcel"]
    assert session.truth(result) == "solved"


@pytest.mark.meets("S88", "S89", "S87")
async def test_where_the_sms_quota_is_used_up_wechat_is_taken_within_a_fifth_of_a_second() -> None:
    session = Session("notify", Fate(sms_left=0))
    result = await session.say()
    assert session.truth(result) == "solved"
    assert [one.channel for one in session.shop.messages] == ["wechat"]
    sent = next(done.ms for done in session.shop.done if done.skill == "send_sms")
    assert session.clock.monotonic_ms() - sent < 200
    assert [run.fallbacks for run in result.executions] == [("run send_wechat_notification",)]


@pytest.mark.meets("S93", "S94")
async def test_a_return_without_a_reason_is_asked_for_it_and_goes_on() -> None:
    session = Session("return_item", status="delivered")
    result = await session.say()
    assert result.kind == "question"
    assert result.question is not None
    assert result.question.options == REASONS
    result = await session.reply(session.visit.wanted["reason"])
    assert (result.kind, session.truth(result)) == ("done", "solved")
    heard = Session("return_item", status="delivered")
    assert heard.truth(await heard.say(reason_code=heard.visit.wanted["reason"])) == "solved"


async def test_whoever_is_not_sure_asks_what_is_wanted() -> None:
    session = Session("how_to")
    result = await session.say(confidence=0.7)
    assert result.question is not None
    assert set(TASKS) < set(result.question.options)
    assert session.truth(await session.reply("how to")) == "solved"


@pytest.mark.meets("S86")
async def test_a_hundred_complaints_at_once_have_a_hundred_numbers() -> None:
    shown = [one for seed in range(60) for one in visits(seed) if one.task == "complaint"][:100]
    clock, store = VirtualClock(), ContextStore()
    shop = opened(shown, clock)
    bank = layered_bank(3)

    async def complain(visit: Visit) -> TurnResult:
        shop.begin(visit.customer.id, Fate())
        state = SessionState(visit.id, store, visit.customer.attributes())
        suggestion = Suggestion("complaint", 0.95, "create_ticket")
        own = skills(Desk(shop, visit.customer))
        return await run_turn(bank, state, visit.turns[0].utterance, suggestion, own, clock)

    results = await asyncio.gather(*(complain(visit) for visit in shown))
    told = {result.output["ticket_id"] for result in results if result.output}
    assert len(told) == len(shop.tickets) == 100


@pytest.mark.meets("S91")
async def test_the_same_visits_leave_the_same_traces() -> None:
    session, again = paid(Fate(lies={"apply_refund": 1})), paid(Fate(lies={"apply_refund": 1}))
    assert (await session.say()).trace.to_bytes() == (await again.say()).trace.to_bytes()
    assert await serve(layered_bank(3), 5) == await serve(layered_bank(3), 5)


async def test_one_task_alone_is_served_as_it_is_among_the_others() -> None:
    every = await serve(layered_bank(2), 2)
    alone = await serve(layered_bank(2), 2, task="track")
    seen = [(one.visit.id, one.verdict, one.latency_ms) for one in every if one.visit.task == "track"]
    assert [(one.visit.id, one.verdict, one.latency_ms) for one in alone] == seen


@pytest.mark.meets("S31", "S2")
async def test_the_history_is_replayed_with_the_same_skills() -> None:
    slow = Fate(late_ms={"refund_precheck": 12_000.0})
    ends: dict[int, list[object]] = {}
    for version in (1, 2, 3, 4):
        files = replayed_files(version)
        plain, late, lying = (paid(fate, bank_files=files) for fate in (None, slow, Fate(lies={"apply_refund": 1})))
        await plain.say()
        await late.say()
        await lying.say()
        ends[version] = [
            effected(plain.shop, plain.visit),
            late.clock.monotonic_ms() < 5_000 and bool(late.shop.tickets),
            effected(lying.shop, lying.visit),
        ]
    assert ends[1][0] is False  # stuck where the carrier knows nothing
    assert ends[2] == [True, False, False]
    assert ends[3] == [True, True, False]
    assert ends[4] == [True, True, True]


def test_a_mistrigger_is_a_skill_of_another_task_and_a_claim_one_that_should_have_acted() -> None:
    refund, tell, fact = Done("apply_refund", "", 1), Done("query_order", "", 1), Done("query_points", "", 1)
    assert not mistriggers("refund", [refund, tell])
    assert mistriggers("after_refund", [refund])
    assert mistriggers("track", [refund])
    assert mistriggers("track", [fact])
    assert not mistriggers("smalltalk", [fact])
    assert claims("refund", [refund])
    assert not claims("refund", [Done("apply_refund", "NETWORK_TIMEOUT", 1), tell])
    assert not claims("track", [refund])
