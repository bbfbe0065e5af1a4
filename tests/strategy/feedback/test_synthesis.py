"""From a cluster to a draft, to a person, and no further by itself (S32, S104 to S106, S90)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.foundation.errors import RefusedError, UsageError
from core.models.interface import Finished, Item, ModelRef, Request, StreamEvent, Text, ToolCall
from core.models.rehearsal.provider import RehearsalProvider
from core.strategy.bank.bank import Bank
from core.strategy.bank.states import Step
from core.strategy.conditions.registry import Registry, registry_of
from core.strategy.documents.release import BankSettings
from core.strategy.feedback.bad_cases import BadCase, Queue
from core.strategy.feedback.clusters import Cluster, cluster
from core.strategy.feedback.encoders import Characters
from core.strategy.feedback.nightly import REPORT, Drafting, nightly
from core.strategy.feedback.review import ENGINE, approve, pool, reject, submit
from core.strategy.feedback.synthesis import Draft, DraftRefusedError, read_draft, synthesise
from core.strategy.feedback.text_form import read_text
from tests.strategy.feedback.making import case, schema

SCHEMAS = {name: schema(name) for name in ("query_logistics", "contact_carrier", "estimate_by_weight", "hand_over")}
MODEL = ModelRef("rehearsal", "rehearsal-1")
TEXT = """IF is_empty(results.query_logistics) AND order.status == "paid" THEN
trigger_skill(contact_carrier, context={order_id: order.id, "tries": 2, paid_at: $order.paid_at})
set_timeout(5000)
fallback_to(estimate_by_weight)
"""
REGISTRY: Registry = registry_of(
    BankSettings(registry={"order.id": "string", "order.status": "string", "order.paid_at": "date"}), SCHEMAS.values()
)


class Says:
    """A model that answers with these messages."""

    def __init__(self, *messages: Text | ToolCall) -> None:
        self.messages = messages
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        for message in self.messages:
            yield Item(message)
        yield Finished(None)

    async def aclose(self) -> None:
        return None


def empty_logistics(count: int = 4) -> tuple[Cluster, list[BadCase]]:
    cases = [
        case(f"where is parcel {number}", f"s{number}", skill="query_logistics", code="EMPTY_RESULT", strategy_id=None)
        for number in range(count)
    ]
    return cluster(cases, Characters(), 0.0)[0], cases


def answer(**changed: Any) -> str:
    value = {"purpose": "Logistics knows nothing.", "event": "failure:query_logistics/EMPTY_RESULT", "draft": TEXT}
    return json.dumps({**value, **changed})


def drafted(arguments: str) -> Draft:
    found, _ = empty_logistics()
    return read_draft(arguments, found, SCHEMAS, REGISTRY, domain="aftersale", owner="team", model="x/y")


@pytest.mark.meets("S32")
def test_the_text_form_becomes_our_format() -> None:
    written = read_text(TEXT)
    assert written.when == 'is_empty(results.query_logistics) && order.status == "paid"'
    assert written.plan == {
        "run": "contact_carrier",
        "with": {"order_id": "$order.id", "tries": 2, "paid_at": "$order.paid_at"},
        "timeout_ms": 5000,
        "recover": {"*": {"do": {"run": "estimate_by_weight"}}},
    }


@pytest.mark.meets("S32")
def test_several_skills_are_a_sequence_and_activate_is_the_first() -> None:
    head = "IF NOT (intent_confidence <> 1) THEN activate look\n"
    written = read_text(head + "set_timeout(5); trigger_skill('tell',\n  context={order.id})")
    assert written.plan == {
        "sequence": [{"run": "look", "timeout_ms": 5}, {"run": "tell", "with": {"id": "$order.id"}}]
    }
    assert written.when == "! (intent.confidence != 1)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set_timeout(5)", "no skill stands above it"),
        ("trigger_skill(a)\nset_timeout(0)", "Line 2"),
        ("trigger_skill(a)\nimport_os()", "there is no import_os"),
        ("trigger_skill(a, context={x: call(y)})", "neither a path nor a plain value"),
        ("trigger_skill(a", "not closed"),
        ("trigger_skill(a)\nplease", "it is no call"),
        ("trigger_skill(a)\nfallback_to(b)\nfallback_to(c)", "Line 3"),
        ("", "triggers no skill"),
    ],
)
def test_what_is_not_of_the_form_names_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", "\\(")):
        read_text(text)


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        written = read_text(f"trigger_skill(a)\n{text}")
    except UsageError:
        return
    assert written.skills[0] == "a"


@pytest.mark.meets("S104", "S90")
async def test_a_model_is_told_the_failure_and_the_skills_and_its_draft_is_checked() -> None:
    found, cases = empty_logistics()
    model = Says(ToolCall("1", "draft_strategy", answer()))
    made = await synthesise(found, cases, SCHEMAS, REGISTRY, model, MODEL, domain="aftersale", owner="team")
    assert made.strategy.origin.kind == "synthesized"
    assert made.strategy.origin.evidence[0] == found.id
    assert set(found.cases) <= set(made.strategy.origin.evidence)
    assert made.strategy.plan is not None
    assert (made.strategy.plan.run, made.strategy.plan.timeout_ms) == ("contact_carrier", 5000)
    told = model.requests[0].messages[0]
    assert isinstance(told, Text)
    assert json.loads(told.text)["count"] == 4
    assert "shop.one" not in told.text + model.requests[0].system_prompt


@pytest.mark.meets("S104")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("no json", "no JSON"),
        (answer(more="x"), "nothing else"),
        (answer(purpose=" "), "are texts"),
        (answer(draft="trigger_skill(invented)"), "no skill invented"),
        (answer(draft=TEXT.replace("order.status", "order.state")), "order.state"),
        (answer(event="whenever"), "no strategy"),
        (answer(draft="do what you can"), "can't be taken"),
    ],
)
def test_an_answer_that_is_no_draft_is_refused_with_the_reason(arguments: str, said: str) -> None:
    with pytest.raises(DraftRefusedError, match=said):
        drafted(arguments)


async def test_anything_but_one_call_is_refused() -> None:
    found, cases = empty_logistics()
    with pytest.raises(DraftRefusedError, match="0 calls"):
        await synthesise(
            found, cases, SCHEMAS, REGISTRY, Says(Text("assistant", "Well.")), MODEL, domain="a", owner="t"
        )


@pytest.mark.meets("S104")
async def test_the_rehearsal_model_drafts_offline() -> None:
    found, cases = empty_logistics()
    made = await synthesise(
        found, cases, SCHEMAS, REGISTRY, RehearsalProvider(), MODEL, domain="aftersale", owner="team"
    )
    assert made.strategy.trigger is not None
    assert made.strategy.trigger.event == "failure:query_logistics/EMPTY_RESULT"
    assert made.strategy.plan is not None
    assert made.strategy.plan.run in SCHEMAS
    assert made.strategy.plan.run != "query_logistics"


@pytest.mark.meets("S105", "S106")
def test_a_draft_waits_for_a_person_and_nothing_else_lets_it_through(tmp_path: Path) -> None:
    bank, draft = Bank(tmp_path), drafted(answer())
    assert submit(bank, draft).state == "review"
    assert submit(bank, draft).state == "review"
    waiting = pool(bank)
    assert [(one.id, one.version, one.evidence[0]) for one in waiting] == [(draft.strategy.id, 1, draft.cluster)]
    with pytest.raises(RefusedError):
        bank.move(draft.strategy.id, 1, Step("shadow", ENGINE, "2026-06-01T00:00:00Z", evidence=("run-1",)))
    with pytest.raises(UsageError, match="who decided and why"):
        approve(bank, draft.strategy.id, 1, "", "")
    with pytest.raises(RefusedError):
        approve(bank, draft.strategy.id, 1, "ann", "looks right")
    moved = approve(bank, draft.strategy.id, 1, "ann", "looks right", ("run-1",))
    assert (moved.state, moved.reviewed_by) == ("shadow", "ann")
    assert pool(bank) == ()


@pytest.mark.meets("S105")
def test_a_rejected_draft_stays_on_record_and_does_not_come_back(tmp_path: Path) -> None:
    bank, draft = Bank(tmp_path), drafted(answer())
    submit(bank, draft)
    reject(bank, draft.strategy.id, 1, "ann", "the carrier has no such door")
    assert pool(bank) == ()
    assert submit(bank, draft).state == "archived"
    with pytest.raises(RefusedError, match="nothing waits"):
        reject(bank, draft.strategy.id, 1, "ann", "again")


async def rehearsed(one: Cluster, cases: tuple[BadCase, ...], domain: str) -> Draft:
    return await synthesise(one, cases, SCHEMAS, REGISTRY, RehearsalProvider(), MODEL, domain=domain, owner="team")


@pytest.mark.meets("S99", "S104")
async def test_the_nightly_run_is_safe_to_run_twice(tmp_path: Path) -> None:
    queue, bank = Queue(tmp_path / "queue"), Bank(tmp_path / "strategies")
    for one in empty_logistics()[1]:
        queue.add(one)
    draft: Drafting = rehearsed
    first = await nightly(queue.path.parent, bank, SCHEMAS, Characters(), draft)
    report = (queue.path.parent / REPORT).read_bytes()
    state = (bank.root / "state.jsonl").read_bytes()
    assert (first.changed, len(first.drafted), first.refused) == (True, 1, {})
    again = await nightly(queue.path.parent, bank, SCHEMAS, Characters(), draft)
    assert (again.changed, again.drafted, again.refused) == (False, (), {})
    assert (queue.path.parent / REPORT).read_bytes() == report
    assert (bank.root / "state.jsonl").read_bytes() == state
    assert [one.id for one in pool(bank)] == list(first.drafted)
    assert again.suggestions == first.suggestions
    assert first.suggestions[0].count == 4


async def test_a_draft_that_fails_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    queue, bank = Queue(tmp_path / "queue"), Bank(tmp_path / "strategies")
    for one in empty_logistics()[1]:
        queue.add(one)

    async def fails(one: Cluster, cases: tuple[BadCase, ...], domain: str) -> Draft:
        raise DraftRefusedError("not today")

    found = await nightly(queue.path.parent, bank, SCHEMAS, Characters(), fails)
    assert list(found.refused.values()) == ["not today"]
    assert found.suggestions
