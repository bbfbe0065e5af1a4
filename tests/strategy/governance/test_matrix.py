"""Strategies and models: tested, adapted, blocked (S117 to S119, S20)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.foundation.errors import BlockedError
from core.strategy.conditions.condition import compile_condition
from core.strategy.conditions.memory import Memory
from core.strategy.conditions.registry import registry_of
from core.strategy.documents.reading import read
from core.strategy.documents.release import BankSettings, Release
from core.strategy.execution.suggestion import Suggestion
from core.strategy.governance.matrix import Cell, Trial, change, matrix, put, regress, require, threshold, with_fit
from tests.strategy.feedback.making import strategy

REGISTRY = registry_of(BankSettings(), ())
WHEN = compile_condition('intent.name == "refund" && intent.confidence > 0.85', REGISTRY)
RELEASE = read(
    "schema: release/v1\nid: shop.one\nversion: 1\n"
    "compat: {models: {old: {status: compatible}, bad: {status: incompatible}}}",
    Release,
    "shop.one.release.yaml",
)[0]


def trial(confidence: float, should_fire: bool, intent: str = "refund") -> Trial:  # reads well in rows
    values = {"intent": {"name": intent, "confidence": confidence}}
    return Trial(f"{intent} {confidence}", should_fire, values, Memory((), 1, None), datetime(2026, 6, 1, tzinfo=UTC))


@pytest.mark.meets("S117")
def test_the_matrix_holds_every_pair() -> None:
    found = matrix({"shop.one": RELEASE, "shop.two": None}, ["old", "bad", "new"])
    assert [(cell.strategy_id, cell.model, cell.status) for cell in found] == [
        ("shop.one", "old", "compatible"),
        ("shop.one", "bad", "incompatible"),
        ("shop.one", "new", "untested"),
        ("shop.two", "old", "untested"),
        ("shop.two", "bad", "untested"),
        ("shop.two", "new", "untested"),
    ]


@pytest.mark.meets("S118", "S20")
def test_a_less_sure_model_is_adapted_by_a_lower_threshold() -> None:
    trials = [trial(0.80, True), trial(0.78, True), trial(0.60, False), trial(0.9, False, "track")]
    found = regress("shop.one", WHEN, trials, "new", tested="2026-06-01")
    assert found.cell.status == "adapted"
    assert 0.60 <= found.cell.settings["intent.confidence"] < 0.78
    assert found.wrong == ("refund 0.8", "refund 0.78")
    assert "from 0.85" in found.suggestion
    adapted = compile_condition(WHEN.text.replace("0.85", str(found.cell.settings["intent.confidence"])), REGISTRY)
    assert regress("shop.one", adapted, trials, "new").cell.status == "compatible"


@pytest.mark.meets("S118")
def test_what_no_threshold_puts_right_is_incompatible() -> None:
    found = regress("shop.one", WHEN, [trial(0.6, True), trial(0.7, False)], "new")
    assert (found.cell.status, found.cell.settings) == ("incompatible", {})
    wrong_intent = regress("shop.one", WHEN, [trial(0.99, True, "track")], "new")
    assert wrong_intent.cell.status == "incompatible"
    assert regress("shop.one", WHEN, [], "new").cell.status == "untested"


@pytest.mark.meets("S118")
def test_a_slower_model_gets_more_time() -> None:
    good = [trial(0.9, True), trial(0.3, False)]
    assert regress("shop.one", WHEN, good, "new", latency_scale=1.1).cell.status == "compatible"
    found = regress("shop.one", WHEN, good, "new", latency_scale=1.42).cell
    assert (found.status, found.settings) == ("adapted", {"parallel_timeout_scale": 1.5})


def test_only_a_single_threshold_is_moved() -> None:
    assert threshold(WHEN.tree) == 0.85
    for text in ("intent.confidence > 0.5 && intent.confidence <= 0.85", 'intent.name == "refund"'):
        assert threshold(compile_condition(text, REGISTRY).tree) is None


@pytest.mark.meets("S119")
def test_a_change_is_blocked_while_the_matrix_is_red() -> None:
    cells = [
        Cell("shop.one", "new", "adapted"),
        Cell("shop.two", "new", "incompatible"),
        Cell("shop.one", "old", "untested"),
    ]
    with pytest.raises(BlockedError, match=r"can't be changed to new: shop.two \(incompatible\)"):
        require(change(cells, "new", ["shop.one", "shop.two"]))
    fine = change(cells, "new", ["shop.one"])
    require(fine)
    assert [cell.strategy_id for cell in fine.adapted] == ["shop.one"]
    assert not change(cells, "new", ["shop.three"]).allowed


def test_a_release_file_takes_the_cell_over() -> None:
    found = regress("shop.one", WHEN, [trial(0.80, True), trial(0.6, False)], "new", tested="2026-06-01").cell
    known = with_fit(RELEASE, found).compat.models
    assert (known["new"].status, known["old"].status) == ("adapted", "compatible")
    assert matrix({"shop.one": with_fit(RELEASE, found)}, ["new"]) == (found,)


@pytest.mark.meets("S118")
async def test_routing_examples_are_put_to_the_new_model() -> None:
    one = strategy(
        f"trigger:\n  when: '{WHEN.text} && order.paid'\n  examples:\n"
        "    fire: [{utterance: money back, set: {intent.name: refund, intent.confidence: 0.99, order.paid: true}}]\n"
        "    no_fire: [{utterance: hello, set: {order.paid: true}}, {utterance: refund?, set: {order.paid: false}}]"
    )
    said = {"money back": 0.7, "refund?": 0.9}

    async def ask(utterance: str) -> Suggestion:
        return Suggestion("refund", said[utterance]) if utterance in said else Suggestion("talk")

    trials = await put(one, ask, Memory((), 1, None), datetime(2026, 6, 1, tzinfo=UTC))
    assert [(trial.utterance, trial.should_fire) for trial in trials] == [
        ("money back", True),
        ("hello", False),
        ("refund?", False),
    ]
    assert trials[0].values["order"] == {"paid": True}
    assert trials[0].values["intent"] == {"name": "refund", "skill": "", "confidence": 0.7}
    assert one.trigger is not None
    condition = compile_condition(one.trigger.when, registry_of(BankSettings(registry={"order.paid": "boolean"}), ()))
    found = regress(one.id, condition, trials, "new")
    assert (found.cell.status, found.wrong) == ("adapted", ("money back",))
    assert found.cell.settings["intent.confidence"] < 0.7
    assert await put(strategy("plan: {run: look}"), ask, Memory((), 1, None), datetime(2026, 6, 1, tzinfo=UTC)) == ()
