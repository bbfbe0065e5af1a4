"""One form for what users say (S19)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategy.conditions.utterance import holds, normal


@pytest.mark.meets("S19")
@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("How to?", "how to"),
        ("  HOW\tto \u2026", "how to"),
        ("how-to", "how to"),
        ("Don\u2019t pay 3.50$!", "dont pay 3.50"),
        ("\uff28\uff4f\uff57 to", "how to"),
        ("\u600e\u4e48\u9000\u6b3e\uff1f", "\u600e\u4e48\u9000\u6b3e"),
        ("zero\u200bwidth", "zerowidth"),
        ("?!", ""),
    ],
)
def test_case_punctuation_and_width_fall_away(said: str, form: str) -> None:
    assert normal(said) == form


@pytest.mark.meets("S19")
@given(st.text(max_size=60))
def test_the_normal_form_is_normal(text: str) -> None:
    assert normal(normal(text)) == normal(text)


@pytest.mark.meets("S12")
@pytest.mark.parametrize(
    ("text", "phrase", "there"),
    [
        ("How to return?", "how to", True),
        ("show tomorrow", "how to", False),
        ("refunded", "refund", False),
        ("refunded", "refund*", True),
        ("prerefund", "refund*", False),
        ("\u6211\u8981\u9000\u6b3e", "\u9000\u6b3e", True),
        ("a refund, a refunded refund", "refund", True),
        ("anything", "?", False),
    ],
)
def test_phrases_are_whole_words(text: str, phrase: str, there: bool) -> None:
    assert holds(text, phrase) is there
