"""What a model may say, and nothing else (S92)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategy.execution.suggestion import KEYS, Suggestion, read


@pytest.mark.meets("S92", "S11")
def test_a_suggestion_is_read_from_a_mapping_or_a_text() -> None:
    said = {
        "intent": "refund",
        "confidence": 0.91,
        "intended_skill": "apply_refund",
        "required_context": ["order.id", "reason_code"],
        "arguments": {"amount": 12.5},
    }
    expected = Suggestion("refund", 0.91, "apply_refund", ("order.id", "reason_code"), {"amount": 12.5})
    assert read(said) == (expected, ())
    assert read('{"intent": "refund", "confidence": 1}') == (Suggestion("refund", 1.0), ())


@pytest.mark.meets("S92")
def test_what_a_model_invents_is_dropped_and_named() -> None:
    suggestion, dropped = read(
        {"intent": "refund", "strategy": "aftersale.mine", "failure_modes": [{"code": "X"}], "confidence": 7}
    )
    assert suggestion == Suggestion("refund")
    assert dropped == (
        "failure_modes: no key of a suggestion",
        "strategy: no key of a suggestion",
        "confidence: not a number from 0 to 1",
    )


@pytest.mark.parametrize("text", ["I think you should refund", "[1]", '{"intent": "a", "intent": "b"}', '{"x": NaN}'])
def test_a_text_that_is_no_object_gives_an_empty_suggestion(text: str) -> None:
    suggestion, dropped = read(text)
    assert suggestion == Suggestion()
    assert dropped[0].startswith("everything: ")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=6), ANYTHING) | ANYTHING)
def test_whatever_is_said_it_never_raises_and_confidence_stays_in_range(said: Any) -> None:
    suggestion, _ = read(said)
    assert suggestion.confidence is None or 0 <= suggestion.confidence <= 1
    assert all(suggestion.required_context)


def test_arguments_too_deep_to_be_written_down_are_dropped() -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"a": deep}
    found, dropped = read({"intent": "refund", "arguments": deep})
    assert (found.intent, found.arguments) == ("refund", {})
    assert dropped == ("arguments: nested deeper than 20",)
