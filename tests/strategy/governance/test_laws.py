"""Lints: minimal completeness, budgets, checks that look at nothing, strategies in prompts (S43, S45, S90, S107)."""

from __future__ import annotations

import pytest

from core.strategy.documents.reading import read
from core.strategy.documents.release import Governance
from core.strategy.documents.strategy import Strategy
from core.strategy.execution.records import LevelResult
from core.strategy.feedback.synthesis import SYSTEM, TOOL
from core.strategy.governance.laws import lint, never_failing, prompt_leaks
from core.strategy.governance.measures import branches, logical_lines
from core.strategy.shop.banks import bank_files
from tests.strategy.feedback.making import execution, schema, strategy

RUN = "plan: {run: look}"
SHOP = [read(text, Strategy, name)[0] for name, text in bank_files().items()]


def laws(one: Strategy, **numbers: int) -> list[tuple[str, str]]:
    return [(found.law, found.severity) for found in lint(one, {}, Governance(**numbers))]


@pytest.mark.meets("S107")
@pytest.mark.parametrize(
    ("purpose", "found"),
    [
        ("Paid order, carrier knows nothing - go straight to the refund's pre-check.", []),
        ("Compare prices of JD and Tmall.", []),
        ("Handle all after-sale trouble.", [("purpose", "error")]),
        ("处理所有售后问题", [("purpose", "error")]),
        ("Refund what never came; tell the user.", [("purpose", "warning")]),
        ("Refund what never came. Then tell the user.", [("purpose", "warning")]),
    ],
)
def test_a_purpose_is_one_clause(purpose: str, found: list[tuple[str, str]]) -> None:
    assert laws(strategy(RUN, purpose=f'"{purpose}"')) == found


@pytest.mark.meets("S107")
@pytest.mark.parametrize(
    ("condition", "ways"),
    [
        ("a.b == 1", 1),
        ("a.b == 1 && a.c == 2 && !(a.d == 3)", 1),
        ("a.b == 1 || a.c == 2", 2),
        ("(a.b == 1 || a.c == 2) && (a.d == 3 || a.e == 4 || a.f)", 6),
        ("!(a.b == 1 && a.c == 2 && a.d == 3)", 3),
        ("!(a.b == 1 || a.c == 2)", 1),
        ("IF (a.b == 1) OR (a.c == 2) THEN activate look", 2),
        ("a.b == ", None),
    ],
)
def test_ways_of_a_condition(condition: str, ways: int | None) -> None:
    assert branches(condition) == ways


@pytest.mark.meets("S107")
def test_too_many_branches_or_lines_are_errors() -> None:
    wide = strategy("trigger: {when: 'a.b == 1 || a.b == 2 || a.b == 3'}")
    assert laws(wide, most_branches=2) == [("branches", "error")]
    assert laws(wide, most_branches=3) == []
    steps = "\n".join(f"  - {{run: step{number}, recover: {{'*': {{abort: true}}}}}}" for number in range(7))
    long = strategy(f"plan:\n{steps}")
    assert logical_lines(long) == 14
    assert laws(long) == [("lines", "error")]


@pytest.mark.meets("S107")
def test_the_shop_keeps_the_law_of_lines() -> None:
    assert {one.id: logical_lines(one) for one in SHOP if logical_lines(one) > 12} == {}


@pytest.mark.meets("S43")
def test_synchronous_checks_stay_small_beside_what_they_check() -> None:
    body = (
        "plan: {{run: pay, as: pay, timeout_ms: {limit}}}\n"
        "validate:\n  level0: {{checks: [{{at: pay, present: [x]}}]}}\n"
        "  level1: {{budget_ms: 200, checks: [{{at: pay, expr: 'true'}}]}}"
    )
    assert laws(strategy(body.format(limit=1000))) == []
    tight = lint(strategy(body.format(limit=999)), {})
    assert [(one.law, one.path) for one in tight] == [("validation_budget", "validate (pay)")]
    assert "250 ms" in tight[0].text


@pytest.mark.meets("S43")
def test_network_checks_of_what_sends_are_errors_at_level_0() -> None:
    body = "plan: {{run: {skill}, as: it}}\nvalidate: {{level0: {{checks: [{{at: it, run: check_mx}}]}}}}"
    sends = lint(strategy(body.format(skill="send_email")), {"send_email": schema("send_email", "write")})
    assert [(one.law, one.severity) for one in sends] == [("network_check", "error")]
    assert laws(strategy(body.format(skill="look"))) == [("network_check", "warning")]


@pytest.mark.meets("S45", "S120")
def test_a_validator_that_never_fails_is_suspicious() -> None:
    passing = [execution() for _ in range(100)]
    found = never_failing(passing)
    assert [(one.strategy_id, one.law) for one in found] == [("shop.one", "never_fails")]
    assert "3.0%" in found[0].text
    assert never_failing(passing[:99]) == ()
    failed = execution(validation_result={"level0": LevelResult(failed=("CHECK_FAILED",))})
    assert never_failing([*passing, failed]) == ()
    assert never_failing([execution(validation_result={"level0": None})] * 200) == ()


@pytest.mark.meets("S90")
def test_no_prompt_holds_a_strategy() -> None:
    one = next(found for found in SHOP if found.id == "aftersale.paid_no_parcel")
    assert one.trigger is not None
    prompts = {"good": "Suggest a skill.", "id": f"Use {one.id} now.", "condition": f"If {one.trigger.when} then pay."}
    assert [(found.path, found.law) for found in prompt_leaks(prompts, [one])] == [
        ("id", "prompt"),
        ("condition", "prompt"),
    ]
    own = {"synthesis": SYSTEM, "tool": TOOL.description + str(TOOL.parameters)}
    assert prompt_leaks(own, SHOP) == ()
