"""What a change touches: call paths read off the plans, and turns that were tracked."""

from __future__ import annotations

import pytest

from core.strategy.bank.impact import MOST_PATHS, call_paths, dependents, impact
from core.strategy.documents.reading import read
from core.strategy.documents.strategy import Strategy
from tests.strategy.bank.banks import strategy_text
from tests.strategy.bank.test_records import execution

TRIGGER = "trigger: {when: 'true'}\n"


def bank(**plans: str) -> dict[str, Strategy]:
    found = {}
    for name, plan in plans.items():
        more, _, tree = plan.rpartition("|")
        text = strategy_text(f"shop.{name}", plan=tree, more=more.replace("|", "\n") or TRIGGER)
        found[f"shop.{name}"] = read(text, Strategy, name)[0]
    return found


STRATEGIES = bank(
    order="[{run: query_order}, {switch: [{if: 'x', do: {run: pay}}, {else: {call: shop.help}}]}]",
    track="{run: query_order, recover: {TIMEOUT: {do: {call: shop.help}}}}",
    cheap="{parallel: {branches: [{run: price_a}, {run: price_b}], merge: merge}}",
    help="created_by: x\n|{run: hand_off}",
    after="trigger: {event: 'strategy_failed:shop.track', when: 'true'}\n|{run: say_sorry}",
)


@pytest.mark.meets("S66")
def test_a_change_touches_the_paths_that_go_through_it() -> None:
    paths, capped = call_paths(STRATEGIES)
    assert not capped
    assert [(path.entry, path.skills) for path in paths if path.entry in {"shop.order", "shop.track"}] == [
        ("shop.order", ("query_order", "pay")),
        ("shop.order", ("query_order", "hand_off")),
        ("shop.track", ("query_order",)),
        ("shop.track", ("query_order", "hand_off")),
    ]
    found = impact("shop.track", STRATEGIES)
    assert found.affected == ("shop.after", "shop.track")
    assert found.skills == ("hand_off", "query_order")
    assert (found.by_skill["query_order"].hits, found.by_skill["query_order"].count) == (2, 4)
    assert found.turns.value is None
    assert "50% of 4 call paths of hand_off, query_order" in found.text
    assert "no tracked turns (none known)" in found.text


@pytest.mark.meets("S66")
def test_who_is_called_touches_its_callers_and_what_was_tracked_is_counted() -> None:
    ran = [
        execution(1, strategy_id="shop.order"),
        execution(1, strategy_id="shop.help", trigger_condition_met=None),
        execution(2, strategy_id="shop.cheap"),
        execution(3, strategy_id="shop.track", dry_run=True),
        execution(4, strategy_id=None),
    ]
    found = impact("shop.help", STRATEGIES, ran)
    assert found.affected == ("shop.after", "shop.help", "shop.order", "shop.track")
    assert found.skills == ("hand_off",)
    assert (found.paths.hits, found.paths.count) == (2, 2)
    assert (found.turns.hits, found.turns.count) == (1, 2)
    assert found.to_json()["turns"] == {"hits": 1, "count": 2, "share": 0.5}


def test_rank_and_events_are_dependencies() -> None:
    strategies = bank(
        one="conflict_resolution: {overrides: [shop.two]}\n|[{run: look}, {emit: looked}]",
        two="{run: look}",
        three="conflict_resolution: {yields_to: [shop.two]}\n|{run: look}",
        four="trigger: {event: 'emitted:looked', when: 'true'}\n|{run: look}",
    )
    assert dependents(strategies, "shop.one") == {"shop.one", "shop.two", "shop.three", "shop.four"}
    assert dependents(strategies, "shop.three") == {"shop.three"}


def test_a_cycle_ends_and_a_huge_plan_is_cut_and_says_so() -> None:
    assert call_paths(bank(one="{call: shop.two}", two="{call: shop.one}"))[0]
    choice = "{switch: [{if: 'x', do: {run: a}}, {if: 'y', do: {run: b}}, {else: {run: c}}]}"
    strategies = bank(wide=f"[{', '.join([choice] * 9)}]")
    paths, capped = call_paths(strategies)
    assert capped
    assert len(paths) == MOST_PATHS
    assert "at least" in impact("shop.wide", strategies).text


def test_a_strategy_without_a_plan_calls_what_it_activates() -> None:
    text = strategy_text("shop.short").replace(
        "plan: {run: refund}", "trigger: {when: 'IF (intent.confidence > 0.8) THEN activate make_tutorial'}"
    )
    strategies = {"shop.short": read(text, Strategy, "short")[0]}
    assert call_paths(strategies)[0][0].skills == ("make_tutorial",)
