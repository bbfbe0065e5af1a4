"""Each row of the table of troubles has a diagnosis that looks at records and names the fix (S120 to S130)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from core.strategy.bank.assign import User, assigned
from core.strategy.bank.representation import represent
from core.strategy.documents.reading import read
from core.strategy.documents.release import BankSettings, Release
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.clock import VirtualClock
from core.strategy.execution.compiler import compile_bank
from core.strategy.execution.records import Execution, LevelResult
from core.strategy.execution.session import SessionState
from core.strategy.execution.skills import Call, Outcome, Skill
from core.strategy.execution.store import ContextStore
from core.strategy.execution.suggestion import Suggestion
from core.strategy.execution.turn import run_turn
from core.strategy.governance import troubleshoot
from core.strategy.governance.conflicts import Conflict
from core.strategy.governance.troubles import TROUBLES
from core.strategy.governance.troubleshoot import (
    Asked,
    RawAnswer,
    asked_of,
    contradiction,
    heavy,
    left_out,
    logged_success,
    other_path,
    swallowed,
)
from tests.strategy.feedback.making import execution, schema, strategy


@pytest.mark.meets("S130")
def test_the_table_has_a_row_with_a_diagnosis_for_each_trouble() -> None:
    assert len(TROUBLES) == 5
    for row in TROUBLES:
        assert callable(getattr(troubleshoot, row.name))
        assert row.reported.startswith("reported: ")
    assert {f"S{number}" for number in range(120, 130)} <= {item for row in TROUBLES for item in row.items}


@pytest.mark.meets("S120")
def test_success_that_is_none_is_told_by_probes_outcomes_and_raw_answers() -> None:
    good = [execution(session=f"g{n}", strategy_id="shop.good", business_impact=1.0) for n in range(20)]
    bad = [execution(session=f"b{n}", strategy_id="shop.bad", business_impact=0.2) for n in range(20)]
    pseudo = [execution(strategy_id="shop.pseudo", pseudo_success=True)]
    answers = [RawAnswer("shop.sms", "send_sms", {"code": 0, "msg": "success", "detail": "daily limit reached"})]
    found = logged_success([*good, *bad, *pseudo], answers, {"send_sms": schema("send_sms", "write")})
    assert [one.subject for one in found] == ["shop.bad", "shop.pseudo", "shop.sms"]
    assert "outcomes say 20%" in found[0].found
    assert "no check ever failed" in found[0].found
    assert found[1].evidence["pseudo_success"] == 1
    assert "'limit reached'" in found[2].found
    assert all("level 1" in one.fix or "level1" in one.fix for one in found)
    assert logged_success([execution(strategy_id="shop.bad", business_impact=0.0)] * 19) == ()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"code": 0, "msg": "success"}, ""),
        ({"error": None, "failed": False, "items": 3}, ""),
        ("sent without errors", ""),
        ("Daily quota exceeded", "quota exceeded"),
        ({"msg": "success", "reason": "当日发送超限"}, "超限"),
        ({"status": "message was not delivered"}, "not delivered"),
    ],
)
def test_words_of_failure_in_a_raw_answer(raw: object, said: str) -> None:
    assert contradiction(raw) == said


@pytest.mark.meets("S121", "S122")
def test_a_question_that_goes_several_ways_shows_what_differed() -> None:
    turns = [
        Asked("s1", 1, "How to?", 0.9, {"order": {"status": "paid"}, "x": 1}, "shop.how"),
        Asked("s1", 2, "how to", 0.8, {"order": {"status": "shipped"}, "x": 1}, "shop.other"),
        Asked("s1", 3, "how to", 0.8, {"order": {"status": "shipped"}, "x": 1}, "shop.other"),
        Asked("s2", 1, "How to?", 0.9, {}, "shop.how"),
        Asked("s2", 2, "How to?", 0.5, {}, "shop.how"),
    ]
    (found,) = other_path(turns)
    assert (found.subject, found.evidence["consistency"]) == ("shop.how", 0.5)
    assert found.evidence["context"] == {"order.status": 1}
    assert (found.evidence["confidence"], found.evidence["wording"]) == (1, 1)
    assert "lock_first_path" in found.fix
    assert other_path(turns[3:]) == ()


def period(name: str, called: int, turns: int, label: str) -> list[Execution]:
    return [
        execution(session=f"{label}{n}", strategy_id=name if n < called else "shop.rest", turn=1) for n in range(turns)
    ]


@pytest.mark.meets("S123")
def test_calls_that_collapse_since_a_new_strategy_came() -> None:
    conflict = Conflict("shop.old", "shop.new", "proved", None, None, 0, ("more weight", "a rule"))
    before = period("shop.old", 40, 100, "b")
    (found,) = swallowed(before, period("shop.old", 2, 100, "a"), "shop.new", [conflict])
    assert (found.evidence["before"], found.evidence["after"]) == (40, 2)
    assert found.fix == "more weight or a rule"
    assert swallowed(before, period("shop.old", 30, 100, "a"), "shop.new", [conflict]) == ()
    assert swallowed(period("shop.old", 2, 5, "b"), period("shop.old", 0, 5, "a"), "shop.new", [conflict]) == ()
    assert swallowed(before, period("shop.old", 2, 100, "a"), "shop.else", [conflict]) == ()


@pytest.mark.meets("S126", "S127")
def test_nested_loops_and_checks_that_are_waited_for() -> None:
    inner = "loop: {do: {run: look}, until: 'true', max_iterations: 3}"
    loops = strategy(f"plan: {{loop: {{do: {{loop: {{do: {{{inner}}}, until: 'true', max_iterations: 3}}}}, "
                     "until: 'true', max_iterations: 3}}", "shop.loops")  # fmt: skip
    plain = strategy(f"plan: {{{inner}}}", "shop.plain")
    (found,) = heavy([loops, plain], [])
    assert (found.subject, found.evidence["rounds"]) == ("shop.loops", 27)
    slow = execution(
        strategy_id="shop.plain", latency_ms=400.0, validation_result={"level0": LevelResult(passed=1, ms=150)}
    )
    (checks,) = heavy([plain], [slow])
    assert checks.evidence["share"] == 0.375
    assert "level2 (async)" in checks.fix
    quick = {"level0": LevelResult(passed=1, ms=50)}
    assert heavy([plain], [execution(strategy_id="shop.plain", latency_ms=400.0, validation_result=quick)]) == ()
    overrun = {"level0": LevelResult(passed=1, ms=50, overrun=True)}
    (late,) = heavy([plain], [execution(strategy_id="shop.plain", latency_ms=400.0, validation_result=overrun)])
    assert late.evidence["overruns"] == 1


@pytest.mark.meets("S128")
def test_a_gray_group_that_leaves_some_out() -> None:
    text = "schema: release/v1\nid: shop.one\nversion: 1\nrollout: {stages: [{percent: 50, device: [ios]}]}"
    release = read(text, Release, "shop.one.release.yaml")[0]
    everyone = [User(f"u{n}", {"device": "ios" if n % 2 else "android"}) for n in range(2000)]
    drawn = [user for user in everyone if assigned(release, 0, user)]
    (found,) = left_out("shop.one", represent(drawn, everyone, ["device"]))
    assert found.evidence["levels"] == {"device android": -0.5, "device ios": 0.5}
    assert "nobody of device android" in found.found
    assert "representativeness" in found.found
    assert "stratify" in found.fix
    assert left_out("shop.one", represent(everyone, everyone, ["device"])) == ()
    assert left_out("shop.one", represent([], everyone, ["device"])) == ()


@pytest.mark.meets("S121")
async def test_the_turns_of_a_session_are_read_from_its_snapshots_and_traces() -> None:
    ask = strategy(
        "trigger: {when: 'intent.confidence > 0.85 && order.status == \"paid\"'}\nplan: {run: look}", "shop.how"
    )
    other = strategy("trigger: {when: 'intent.confidence <= 0.85'}\nplan: {run: look}", "shop.other")
    schemas = {"look": schema("look")}

    async def look(inputs: Mapping[str, Any], call: Call) -> Outcome:
        return Outcome({})

    files = {f"shop/{one.id}.yaml": yaml_of(one) for one in (ask, other)}
    bank = compile_bank(files, BankSettings(registry={"order.status": "string"}), schemas)
    assert bank.faults == ()
    store = ContextStore()
    session = SessionState("s1", store, {"id": "u1"})
    session.put({"order.status": "paid"})
    traces = []
    for said, confidence in (("How to?", 0.9), ("how to", 0.5)):
        suggestion = Suggestion("how_to", confidence)
        result = await run_turn(bank, session, said, suggestion, {"look": Skill(schemas["look"], look)}, VirtualClock())
        traces.append(result.trace)
    turns = asked_of(store.snapshots("s1"), traces)
    assert [(one.turn, one.confidence, one.strategy_id) for one in turns] == [
        (1, 0.9, "shop.how"),
        (2, 0.5, "shop.other"),
    ]
    (found,) = other_path(turns)
    assert (found.evidence["consistency"], found.evidence["confidence"]) == (0.0, 1)


def yaml_of(one: Strategy) -> str:
    assert one.trigger is not None
    return (
        f"schema: strategy/v1\nid: {one.id}\nversion: 1\npurpose: One.\ndomain: shop\nowner: team\n"
        f"trigger: {{when: '{one.trigger.when}'}}\nplan: {{run: look}}\n"
    )
