"""The built-in shop clerk: its skills alone, and at the Cases of its benchmark as a real Target."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from core.agents.builtin import SHOP_CLERK, make, names
from core.agents.in_force import governed
from core.agents.isolation.support import probe
from core.foundation.errors import ConflictError, NotFoundError
from core.models.rehearsal.lesson_library import lessons
from core.skillrepo.document import installed
from core.state.agents import read_agent
from core.state.paths import AgentPaths
from core.strategy.documents.reading import read
from core.strategy.documents.release import BankSettings
from core.strategy.execution.compiler import compile_bank
from core.strategy.schema.directory import skills_in
from tests.agents.shop import BENCHMARK, call, clerk, points, serve

confined = pytest.mark.skipif(probe().layer == "none", reason="this kernel confines nothing")


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    return clerk(tmp_path / "home")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Return a Workspace with a desk of one paid order, bought with a coupon."""
    workspace = tmp_path / "desk"
    workspace.mkdir()
    (workspace / "shop.json").write_text((BENCHMARK / "CASE-004-coupon" / "statement" / "shop.json").read_text())
    return workspace


def shop(workspace: Path, **day: Any) -> dict[str, Any]:
    """Return the desk, with this day's troubles put in."""
    path = workspace / "shop.json"
    found: dict[str, Any] = json.loads(path.read_text())
    if day:
        path.write_text(json.dumps({**found, "day": day}))
    return found


def test_the_agent_is_made_whole_and_once(agent: AgentPaths) -> None:
    assert names() == (SHOP_CLERK,)
    assert read_agent(agent).skills.selection == "strategy"
    with pytest.raises(ConflictError):
        make(agent.project, SHOP_CLERK)
    with pytest.raises(NotFoundError):
        make(agent.project, "nobody")


@pytest.mark.meets("S2", "S46")
def test_its_strategies_are_in_force_over_its_skills_without_a_fault(agent: AgentPaths) -> None:
    # A condition reads `results.query_order`, so a skill's name holds an underscore; nothing else is odd in its text.
    odd = [str(finding) for document in installed(agent.skills) for finding in document.diagnostics]
    assert [finding for finding in odd if "name is not" not in finding] == []
    told = skills_in(agent.skills)
    assert told.faults == ()
    assert told.without == ("shop_desk",)
    found = governed(agent, read_agent(agent))
    assert found is not None
    settings, _ = read(found.settings, BankSettings, "bank.yaml")
    bank = compile_bank(found.files, settings, told.schemas)
    assert bank.faults == ()
    assert len(bank.strategies) == len(found.files) == 7


def test_skills_keep_their_contracts_and_name_no_other_failures(agent: AgentPaths, desk: Path) -> None:
    schemas = skills_in(agent.skills).schemas
    shop(desk, down=["pdd"])
    price = {"product_id": "CHAIR-4", "source": "jd"}
    answers = {
        "find_order": call(agent.skills / "find_order", desk, {}),
        "query_order": call(agent.skills / "query_order", desk, {"order_id": "A-2231"}),
        "query_logistics": call(agent.skills / "query_logistics", desk, {"order_id": "A-2231"}),
        "refund_precheck": call(agent.skills / "refund_precheck", desk, {"order_id": "A-2231"}),
        "apply_refund": call(agent.skills / "apply_refund", desk, {"order_id": "A-2231", "amount": 96}),
        "send_sms": call(agent.skills / "send_sms", desk, {"order_id": "A-2231"}),
        "send_wechat_notification": call(agent.skills / "send_wechat_notification", desk, {"order_id": "A-2231"}),
        "check_message": call(agent.skills / "check_message", desk, {}),
        "create_ticket": call(agent.skills / "create_ticket", desk, {"ticket_id": "T1"}),
        "suggest_human_handoff": call(agent.skills / "suggest_human_handoff", desk, {"promise_minutes": 5}),
        "read_help": call(agent.skills / "read_help", desk, {}),
        "merge_prices": call(agent.skills / "merge_prices", desk, {"jd": {"source": "jd", "price": 3.0}}),
    }
    for name, answer in answers.items():
        Draft202012Validator(dict(schemas[name].signature.outputs)).validate(answer["output"])
    refused: dict[str, dict[str, Any]] = {
        "query_order": {"order_id": "A-1"},
        "apply_refund": {"order_id": "A-2231", "amount": 500},
        "create_ticket": {"ticket_id": "T1"},
        "query_price": price,
        "estimate_price": price,
        "merge_prices": {},
    }
    for name, inputs in refused.items():
        assert schemas[name].failure(call(agent.skills / name, desk, inputs)["code"]) is not None, name
    assert set(schemas) == answers.keys() | refused.keys()


@pytest.mark.meets("S38", "X2")
def test_a_refund_may_say_success_without_effect_and_a_key_makes_a_repeat_harmless(
    agent: AgentPaths, desk: Path
) -> None:
    shop(desk, silent_refunds=1)
    inputs, skill = {"order_id": "A-2231", "amount": 96}, agent.skills / "apply_refund"
    for effects in (0, 1, 1):
        answer = call(skill, desk, inputs, idempotency_key="refund:A-2231")
        assert answer == {"output": {"status": "ok", "amount": 96}}
        assert len(shop(desk)["refunds"]) == effects
    assert call(skill, desk, inputs)["output"]["status"] == "rejected"


@pytest.mark.meets("S88")
def test_an_sms_beyond_the_quota_says_success_and_arrives_nowhere(agent: AgentPaths, desk: Path) -> None:
    shop(desk, sms_left=1)
    for arrived in (1, 1):
        answer = call(agent.skills / "send_sms", desk, {"order_id": "A-2231"})
        assert answer == {"output": {"code": 0, "msg": "success"}}
        assert len(shop(desk)["messages"]) == arrived


@pytest.mark.parametrize(("patience_s", "left"), [(0.01, True), (60, None)])
def test_who_waits_too_long_for_the_pre_check_leaves(
    agent: AgentPaths, desk: Path, patience_s: float, left: bool | None
) -> None:
    found = shop(desk)
    found |= {"day": {"precheck_takes_s": 0.05}, "customer": {"id": "U", "patience_s": patience_s}}
    (desk / "shop.json").write_text(json.dumps(found))
    call(agent.skills / "refund_precheck", desk, {"order_id": "A-2231"})
    assert shop(desk)["customer"].get("left") is left


async def test_calls_at_the_same_time_lose_nothing(agent: AgentPaths, desk: Path) -> None:
    skill = agent.skills / "suggest_human_handoff"
    told = await asyncio.gather(*(asyncio.to_thread(call, skill, desk, {}) for _ in range(8)))
    assert len({answer["output"]["ticket_id"] for answer in told}) == 8
    assert len(shop(desk)["log"]) == len(shop(desk)["tickets"]) == 8


@confined
@pytest.mark.meets("S26", "S27")
async def test_a_source_that_is_down_is_estimated_and_the_customer_gets_a_normal_answer(agent: AgentPaths) -> None:
    served = await serve(agent, "CASE-006-cheaper-elsewhere")
    assert served.outcome.status == "completed", served.outcome
    assert served.outcome.notices == ()
    assert points(served.workspace, "CASE-006-cheaper-elsewhere") == {"near": 60, "told": 25, "untouched": 15}


@confined
@pytest.mark.meets("S31")
async def test_with_its_first_strategies_a_refund_gets_stuck_at_an_empty_answer(agent: AgentPaths) -> None:
    case = "CASE-001-nothing-came"
    served = await serve(agent, case)
    assert [entry["skill"] for entry in served.desk["log"]] == [
        "find_order",
        "query_logistics",
        "suggest_human_handoff",
    ]
    assert sum(points(served.workspace, case).values()) == 0


@confined
@pytest.mark.meets("S30", "S38", "S88")
@pytest.mark.parametrize("case", ["CASE-003-slow-day", "CASE-005-text-me", "CASE-008-says-done"])
async def test_with_later_strategies_the_customer_is_served_whatever_fails(agent: AgentPaths, case: str) -> None:
    for lesson in lessons():
        if lesson.id in ("look-again", "second-channel"):
            path = agent.state / lesson.path
            path.write_text(lesson.next_version(path.read_text()))
    served = await serve(agent, case)
    assert sum(points(served.workspace, case).values()) == 100, (served.desk, served.answer)


@confined
@pytest.mark.meets("S9")
async def test_who_only_asks_about_refunds_is_given_none(agent: AgentPaths) -> None:
    case = "CASE-007-if-it-came-to-that"
    served = await serve(agent, case)
    assert served.desk["refunds"] == []
    assert "five working days" in served.answer
    assert sum(points(served.workspace, case).values()) == 100
