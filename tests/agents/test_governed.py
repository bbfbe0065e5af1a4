"""An agent whose skills strategies govern, as a real process: a suggestion in, a decision out, what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.agents.isolation.support import probe
from core.agents.run_agent import launch_target
from core.agents.target import TargetOutcome, TargetSpec
from core.foundation.clock import new_session_id, now_s
from core.models.interface import ModelRef
from core.state.agents import create_agent, edit_config
from core.state.fresh import ensure_home
from core.state.paths import AgentPaths
from core.strategy.bank import executions, shadow, turns
from core.strategy.bank.assign import User
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import Actor, Step
from core.strategy.feedback.bad_cases import Queue
from core.traces.writer import new_trace_path

pytestmark = pytest.mark.skipif(probe().layer == "none", reason="this kernel confines nothing")
ADA = Actor("ada", person=True)
SCHEMA = """skill: {name}
side_effects: {effects}
idempotent: true
signature:
  inputs: {{order_id: {{type: string, role: domain_constraint}}}}
  outputs: {{type: object, required: [status]}}
context: {{needs: [], provides: []}}
failure_modes: [{{code: CARRIER_SILENT, severity: low}}]
"""
LOOK = """import json, sys
print(json.dumps({"output": {"status": "paid", "order": json.load(sys.stdin)["inputs"]["order_id"]}}))
"""
REFUND = """import json, pathlib, sys
pathlib.Path("refunded").write_text(json.load(sys.stdin)["inputs"]["order_id"])
print(json.dumps({"output": {"status": "refunding"}}))
"""
SILENT = 'print(\'{"code": "CARRIER_SILENT", "message": "nothing"}\')\n'
TEXT = """schema: strategy/v1
id: shop.refund
version: {version}
purpose: A refund for an order that is paid.
domain: shop
owner: ada
trigger: {{when: 'intent.name == "apply_refund" && intent.confidence >= 0.5'}}
plan:
  sequence:
    - {{run: query_order, as: order, with: {{order_id: "A-17"}}}}
    - switch:
        - if: order.status == "paid"
          do: {{run: {then}, with: {{order_id: $order.order}}}}
        - else: {{run: query_order, with: {{order_id: "none"}}}}
"""


def install(agent: AgentPaths, name: str, about: str, script: str, effects: str = "read") -> None:
    folder = agent.skills / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\nDo it.\n")
    (folder / "skill.yaml").write_text(SCHEMA.format(name=name, effects=effects))
    (folder / "scripts" / "call.py").write_text(script)


@pytest.fixture
def agent(tmp_path: Path) -> AgentPaths:
    project = ensure_home(tmp_path / "home")
    made = create_agent(project, "clerk", name="Clerk", description="Serves.", agents_md="Be kind.\n")
    install(made, "query_order", "Look an order up", LOOK)
    install(made, "apply_refund", "Pay money back for an order: a refund", REFUND, "irreversible")
    install(made, "ask_carrier", "Ask the carrier", SILENT)
    edit_config(made, {"skills.selection": "strategy"})
    strategies = made.state / "strategies" / "shop"
    strategies.mkdir(parents=True)
    (strategies / "shop.refund.yaml").write_text(TEXT.format(version=1, then="apply_refund"))
    return made


async def ask(agent: AgentPaths, message: str, user: User | None = None) -> tuple[TargetOutcome, Path]:
    workspace = agent.workspaces / new_session_id()
    workspace.mkdir(parents=True)
    session_id = new_session_id()
    spec = TargetSpec(
        project=agent.project,
        agent_id=agent.id,
        workspace=workspace,
        message=message,
        model=ModelRef("rehearsal", "rehearsal-1"),
        session_id=session_id,
        trace_path=new_trace_path(agent, session_id),
        user=user,
    )
    return await launch_target(spec), workspace


def bank(agent: AgentPaths) -> Bank:
    return bank_of(agent.project)


@pytest.mark.meets("S2", "S78", "S90", "S92")
async def test_a_suggestion_goes_in_and_the_strategy_decides_what_runs(agent: AgentPaths) -> None:
    outcome, workspace = await ask(agent, "I want a refund for order A-17")
    assert outcome.status == "completed", outcome
    assert outcome.text == "Done. status: refunding"
    assert (workspace / "refunded").read_text() == "A-17"
    trace = outcome.trace_path.read_text()
    assert "shop.refund" not in trace  # neither in a prompt nor in an answer
    assert "apply_refund" in trace
    (turn,), findings = turns.read(bank(agent).records, outcome.session_id)
    assert findings == ()
    assert (turn.kind, turn.strategy, turn.code) == ("done", "shop.refund", "")
    assert turn.call_id in trace
    assert turn.user == {}
    assert executions.read(bank(agent).records).executions == ()  # a measurement is no traffic


@pytest.mark.meets("S74", "S96", "S97")
async def test_what_a_user_met_is_counted_and_what_went_wrong_is_kept(agent: AgentPaths) -> None:
    user = User("u-1", {"device": "ios"})
    good, _ = await ask(agent, "I want a refund for order A-17", user)
    bad, _ = await ask(agent, "Ask the carrier about A-17, call me at +1 212 555 0142", user)
    assert bad.text.startswith("That could not be done: CARRIER_SILENT")
    logged = executions.read(bank(agent).records)
    assert logged.findings == ()
    assert [(one.session, one.strategy_id, one.code) for one in logged.executions] == [
        (good.session_id, "shop.refund", ""),
        (bad.session_id, None, "CARRIER_SILENT"),
    ]
    assert all(one.user == {"id": "u-1", "device": "ios"} for one in logged.executions)
    (case,) = Queue(bank(agent).records / "feedback").read().cases
    assert (case.skill, case.code) == ("ask_carrier", "CARRIER_SILENT")
    assert "555" not in str(case.to_json())


@pytest.mark.meets("S70", "X1")
async def test_a_version_in_shadow_is_compared_and_changes_nothing(agent: AgentPaths) -> None:
    place = bank(agent)
    (place.root / "shop").mkdir(parents=True)
    (place.root / "shop" / "shop.refund.yaml").write_text(TEXT.format(version=2, then="ask_carrier"))
    place.publish("shop.refund", ADA)
    for state in ("review", "shadow"):
        place.move("shop.refund", 2, Step(state, ADA, now_s()))
    outcome, workspace = await ask(agent, "I want a refund for order A-17", User("u-1"))
    assert outcome.text == "Done. status: refunding"
    assert (workspace / "refunded").exists()
    (comparison,), _ = shadow.read(place, "shop.refund", 2)
    assert comparison.same["path"] is False
    assert comparison.session == outcome.session_id


@pytest.mark.meets("S42", "S127")
async def test_checks_of_level_2_end_after_the_answer_and_are_kept(agent: AgentPaths) -> None:
    install(
        agent,
        "scan_device",
        "Scan the device",
        'import time; time.sleep(0.5)\nprint(\'{"output": {"status": "x", "ok": false}}\')\n',
    )
    path = agent.state / "strategies" / "shop" / "shop.refund.yaml"
    check = "validate: {level2: {checks: [{at: order, run: scan_device, code: RISK, name: device}]}}\n"
    path.write_text(path.read_text() + check)
    outcome, _ = await ask(agent, "I want a refund for order A-17")
    assert outcome.text == "Done. status: refunding"
    (turn, checked), _ = turns.read(bank(agent).records, outcome.session_id)
    assert (turn.kind, checked.kind) == ("done", "level2")
    (verdict,) = [event for event in checked.events if event["event"] == "checked"]
    assert (verdict["verdict"], verdict["code"]) == ("failed", "RISK")


@pytest.mark.meets("S20", "S118")
async def test_a_release_adapts_a_strategy_to_the_model_of_a_users_session(agent: AgentPaths) -> None:
    place = bank(agent)
    (place.root / "shop").mkdir(parents=True)
    (place.root / "shop" / "shop.refund.release.yaml").write_text(
        "schema: release/v1\nid: shop.refund\nversion: 1\ncompat:\n  models:\n"
        "    rehearsal-1: {status: adapted, settings: {intent.confidence: 0.99}}\n"
    )
    for user, strategy in ((User("u-1"), ""), (None, "shop.refund")):
        outcome, _ = await ask(agent, "I want a refund for order A-17", user)
        (turn,), _ = turns.read(place.records, outcome.session_id)
        assert turn.strategy == strategy  # a measurement knows the state's own files alone


async def test_a_faulty_strategy_is_left_out_and_told(agent: AgentPaths) -> None:
    (agent.state / "strategies" / "shop" / "shop.refund.yaml").write_text("schema: strategy/v1\nid: shop.refund\n")
    outcome, _ = await ask(agent, "I want a refund for order A-17")
    assert outcome.status == "completed"
    assert any("not in force: shop/shop.refund.yaml" in notice for notice in outcome.notices)


async def test_without_a_callable_skill_there_is_no_door(agent: AgentPaths) -> None:
    for folder in agent.skills.iterdir():
        (folder / "skill.yaml").unlink(missing_ok=True)
    outcome, _ = await ask(agent, "hello")
    assert any("no skill can be called" in notice for notice in outcome.notices)
