"""A model's own numbers in a bank (S20, S118)."""

from __future__ import annotations

import pytest

from core.foundation.errors import UsageError
from core.strategy.execution.adapting import for_model
from tests.strategy.execution.making import World


@pytest.mark.meets("S20", "S118")
async def test_a_lower_threshold_holds_for_a_model_that_is_less_sure() -> None:
    world = World().skill("pay").skill("flat")
    bank = world.bank("{trigger: {when: 'turn.count > 0 && intent.confidence > 0.85'}, plan: {run: pay}}")
    adapted = for_model(bank, {"shop.one": {"intent.confidence": 0.72}, "shop.gone": {"x": 1}})
    assert adapted.strategies["shop.one"].when is not None
    assert adapted.strategies["shop.one"].when.text == "turn.count > 0 && intent.confidence > 0.72"
    assert adapted.sha256 != bank.sha256
    await world.turn(bank, session=world.session("s1"), confidence=0.8, skill="flat")
    await world.turn(adapted, session=world.session("s2"), confidence=0.8, skill="flat")
    assert world.called == ["flat", "pay"]


async def test_the_accounts_form_keeps_the_skill_that_it_activates() -> None:
    world = World().skill("pay").skill("flat")
    bank = world.bank("{trigger: {when: IF (0.85 < intent_confidence) THEN activate pay}}")
    await world.turn(for_model(bank, {"shop.one": {"intent.confidence": 0.7}}), confidence=0.8, skill="flat")
    assert world.called == ["pay"]


@pytest.mark.meets("S118")
async def test_parallel_branches_are_given_more_time_and_nothing_else_is() -> None:
    world = World().skill("a", {"n": 1}, ms=120).skill("b", {"n": 2}, ms=120)
    bank = world.bank(
        """
        plan:
          - {run: b, timeout_ms: 100, optional: true}
          - parallel: {branches: [{run: a, timeout_ms: 100}, {switch: [{else: {run: b, timeout_ms: 100}}]}]}
            timeout_ms: 100
        """
    )
    assert (await world.turn(bank)).code == "TIMEOUT"
    adapted = await world.turn(
        for_model(bank, {"shop.one": {"parallel_timeout_scale": 1.5}}), session=world.session("s2")
    )
    assert adapted.kind == "done"
    assert world.clock.monotonic_ms() == 100 + 100 + 100 + 120


@pytest.mark.parametrize("setting", [{"turn.count": 3}, {"intent.confidence": "0.7"}])
def test_a_setting_that_fits_nothing_is_refused(setting: dict[str, object]) -> None:
    bank = World().skill("pay").bank("{trigger: {when: intent.confidence > 0.85}, plan: {run: pay}}")
    with pytest.raises(UsageError, match=r"shop\.one: .*(turn\.count|intent\.confidence)"):
        for_model(bank, {"shop.one": setting})
    assert for_model(bank, {}) is bank
