"""Who swallows whom, by proof and by replay, and what settles it (S123 to S125)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.strategy.conditions.condition import compile_condition
from core.strategy.conditions.memory import Memory
from core.strategy.conditions.registry import registry_of
from core.strategy.conditions.view import View
from core.strategy.documents.release import BankSettings
from core.strategy.governance.conflicts import Held, empirical, first, overlaps, rate, replay, static
from tests.strategy.feedback.making import strategy

REGISTRY = registry_of(BankSettings(registry={"order.amount": "number", "order.status": "string"}), ())
NOW = datetime(2026, 6, 1, tzinfo=UTC)
NARROW = 'intent.name == "refund" && order.amount > 500.0'
BROAD = 'intent.name == "refund"'


def held(name: str, when: str, rule: str = "", event: str = "turn") -> Held:
    body = f"trigger: {{event: '{event}', when: '{when}'}}\nconflict_resolution: {{{rule}}}"
    return Held(strategy(body, name), compile_condition(when, REGISTRY))


@pytest.mark.meets("S123")
def test_a_broader_condition_that_goes_first_swallows_the_narrower() -> None:
    old, new = held("shop.old", NARROW), held("shop.new", BROAD, "priority: 60")
    found = static([old, new])
    assert [(one.swallowed, one.by, one.how) for one in found] == [("shop.old", "shop.new", "proved")]
    assert static([old, held("shop.new", BROAD)]) == ()
    assert static([old, held("shop.new", 'intent.name == "track"', "priority: 60")]) == ()
    assert static([old, held("shop.new", BROAD, "priority: 60", "skill_result:look")]) == ()


@pytest.mark.meets("S124", "S125")
def test_each_proposed_fix_settles_it() -> None:
    new = held("shop.new", BROAD, "priority: 60")
    weight, rule = static([held("shop.old", NARROW), new])[0].fixes
    assert weight == "shop.old: conflict_resolution.priority: 61"
    assert rule == "shop.old: conflict_resolution.overrides: [shop.new]"
    assert static([held("shop.old", NARROW, "priority: 61"), new]) == ()
    assert static([held("shop.old", NARROW, "overrides: [shop.new]"), new]) == ()


@pytest.mark.meets("S125")
def test_an_explicit_rule_goes_before_priority() -> None:
    a, b = (
        strategy("plan: {run: x}", "shop.a"),
        strategy("plan: {run: x}\nconflict_resolution: {priority: 90}", "shop.b"),
    )
    assert first(a, b) is b
    ruled = strategy("plan: {run: x}\nconflict_resolution: {overrides: [shop.b]}", "shop.a")
    assert first(ruled, b) is first(b, ruled) is ruled
    assert first(a, strategy("plan: {run: x}", "shop.c")) is None
    overriding = held("shop.new", BROAD, "overrides: [shop.old]")
    assert "overrides" in static([held("shop.old", NARROW), overriding])[0].fixes[0]


def view(intent: str, amount: float | None) -> View:
    order = {} if amount is None else {"order": {"amount": amount}}
    return View({"intent": {"name": intent}, **order}, Memory((), 1, None), NOW)


@pytest.mark.meets("S123")
def test_replayed_turns_show_what_no_proof_sees() -> None:
    bank = [held("shop.old", "order.amount > 500.0"), held("shop.new", BROAD, "priority: 60")]
    assert static(bank) == ()
    views = [view("refund", 600.0)] * 19 + [view("track", 600.0)] + [view("refund", None)] * 20
    firings = replay(bank, views)
    assert [(one.fires, one.given, one.share) for one in overlaps(firings)] == [
        ("shop.new", "shop.old", 0.95),
        ("shop.old", "shop.new", 19 / 39),
    ]
    found = empirical(bank, firings)
    assert [(one.swallowed, one.by, one.turns) for one in found] == [("shop.old", "shop.new", 20)]
    assert found[0].interval is not None
    assert found[0].interval.low < 0.95
    assert empirical(bank, firings[:19]) == ()
    assert rate(firings, found) == 19 / 40
    assert rate([], found) is None
