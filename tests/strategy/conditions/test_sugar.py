"""IF ... AND ... THEN activate x (S10)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.strategy.conditions.condition import ConditionError, compile_condition
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.registry import SESSION, Registry
from core.strategy.conditions.sugar import to_expression
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View

SEED = """IF (intent_confidence > 0.85)
AND (last_user_utterance_contains("how to" OR "steps"))
AND (no_successful_skill_execution_in_last_2_turns == False)
THEN activate tutorial_generation"""
REGISTRY = Registry(SESSION)


@pytest.mark.meets("S10")
def test_the_accounts_example_compiles_as_it_stands() -> None:
    found = compile_condition(SEED, REGISTRY)
    assert found.activates == "tutorial_generation"
    assert found.paths == ("intent.confidence", "utterance")
    ran = Memory((Past(4, "query_order", True),), 5)
    for values, memory, truth in (
        ({"intent": {"confidence": 0.9}, "utterance": "How to return it?"}, ran, Truth.TRUE),
        ({"intent": {"confidence": 0.9}, "utterance": "What are the STEPS"}, ran, Truth.TRUE),
        ({"intent": {"confidence": 0.9}, "utterance": "How to return it?"}, Memory((), 5), Truth.FALSE),
        ({"intent": {"confidence": 0.9}, "utterance": "where is it"}, ran, Truth.FALSE),
        ({"intent": {"confidence": 0.5}, "utterance": "How to return it?"}, ran, Truth.FALSE),
        ({"utterance": "How to return it?"}, ran, Truth.UNKNOWN),
    ):
        assert found.judge(View(values, memory, datetime.now(UTC))).truth is truth


@pytest.mark.meets("S10")
def test_words_signs_and_groups() -> None:
    text = "IF NOT (intent_confidence <> 0.5 OR turn.count \u2265 3) AND utterance == 'AND so OR' THEN activate x"
    expression, skill = to_expression(text)
    assert " ".join(expression.split()) == (
        "! (intent.confidence != 0.5 || turn.count >= 3) && utterance == 'AND so OR'"
    )
    assert skill == "x"
    assert to_expression("a == 1") == ("a == 1", None)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("IF (intent_confidnce > 1) THEN activate x", (1, 5), "intent_confidnce is not known"),
        (SEED.replace("2_turns == False", "2_turns == 3"), (3, 52), "can't be compared with a number"),
        ("IF (a)\nAND (b) THEN activate x", (1, 5), "a is not known"),
        ("IF (intent_confidence > 0.5", (1, 28), "ends with THEN activate"),
        ("IF (intent_confidence > 0.5\n THEN activate x", (2, 1), "expected ')'"),
        ("IF intent_confidence > 0.5 AND\nturn.cont > 1 THEN activate x", (2, 1), "did you mean turn.count?"),
    ],
)
def test_faults_are_placed_in_the_text_as_it_was_written(text: str, place: tuple[int, int], said: str) -> None:
    with pytest.raises(ConditionError) as caught:
        compile_condition(text, REGISTRY)
    assert said in caught.value.reason
    assert (caught.value.line, caught.value.column) == place
