"""What contains what, what overlaps: certain or open, never wrong (S107, S123)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategy.conditions.condition import Condition, compile_condition
from core.strategy.conditions.containment import branches, containment, contains, narrower, overlap, proved_within
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.normalform import TooLargeError, Want, alternatives
from core.strategy.conditions.registry import SESSION, Registry
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.valueset import ALL, NONE, ValueSet, between, exactly, numbers
from core.strategy.conditions.view import View

REGISTRY = Registry(
    {**SESSION, "order": "map", "x": "any", "y": "any", "p": "any", "a.b": "any", "day": "date"}, {"letter": "^[a-z]"}
)
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def condition(text: str) -> Condition:
    return compile_condition(text, REGISTRY)


@pytest.mark.meets("S123")
@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ('intent.name == "refund"', 'intent.name == "refund" && intent.confidence > 0.85', True),
        ("intent.confidence > 0.7", "intent.confidence > 0.85", True),
        ("intent.confidence > 0.85", "intent.confidence >= 0.85", False),
        ('order.status in ["paid", "shipped"]', 'order.status == "paid"', True),
        ('order.status in ["paid"]', 'order.status in ["paid", "shipped"]', False),
        ('contains_any(utterance, ["refund", "money back"])', 'contains_any(utterance, ["money back"])', True),
        ('contains_any(utterance, ["money"])', 'contains_any(utterance, ["my money back"])', True),
        ('contains_any(utterance, ["money back"])', 'contains_any(utterance, ["money"])', False),
        ("successes(2) < 1", "successes(2) == 0", True),
        ("successes(2) == 0", "successes(2) < 1", True),
        ("successes(2) >= 0", 'x == "anything"', True),
        ("x < 5 || x >= 5", "true", False),  # x may not be there
        ("x < 5 || x >= 5", "within(x, 1, 9)", True),
        ("x != 1", "x == 2", True),
        ("has(a.b)", "a.b == 3", True),
        ("a.b == 3", "has(a.b)", False),
        ("!is_empty(order.status)", 'order.status == "paid"', True),
        ("!(x == 1 || y == 1)", "!(x == 1) && y != 1", True),
        ("x > y", "y < x && p", True),
        ("x > y", "x >= y", None),
        ('matches_named(utterance, "letter") || p', 'matches_named(utterance, "letter")', True),
        ("p ? x == 1 : x == 2", "p && x == 1", True),
        ("p ? x == 1 : x == 2", "x == 1", False),
        ("days_from_now(day) > 0", "days_from_now(day) > 3", True),
        ("stability() < 0.6", "stability() < 0.5", True),
        ("(successes(2) == 0) == false", "successes(2) >= 1", True),
        ("p", "x == 1 && x == 2", True),  # what is never true is in everything
    ],
)
def test_cases_of_containment(a: str, b: str, answer: bool | None) -> None:
    assert contains(condition(a), condition(b)) is answer


def test_no_comes_with_an_example() -> None:
    found = containment(condition('order.status == "paid"'), condition("order.amount > 5"))
    assert found.answer is False
    assert found.example is not None
    assert found.example["order"]["amount"] > 5


def test_the_narrower_one_is_proved_to_be() -> None:
    wide, narrow = condition("x > 1"), condition("x > 1 && p")
    assert narrower(narrow, wide)
    assert not narrower(wide, narrow)
    assert not narrower(wide, condition("!(x <= 1)"))
    assert proved_within(narrow, wide)


@pytest.mark.meets("S123")
@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ('intent.name == "refund"', "intent.confidence > 0.5", True),
        ('intent.name == "refund"', 'intent.name == "exchange"', False),
        ("x > 3", "x < 3", False),
        ("x > 3", "x < 5", True),
        ("successes(2) > 0", "successes(2) < 1", False),
        ('contains_any(utterance, ["refund"])', '!contains_any(utterance, ["a refund"])', True),
        ('contains_any(utterance, ["a refund"])', '!contains_any(utterance, ["refund"])', False),
        ('matches_named(utterance, "letter")', 'utterance == "1"', None),
        ("is_empty(x)", 'x == "a"', False),
        ("days_from_now(day) > 3", "days_from_now(day) < 5", True),
        ("successes(2) == 3", "stability() > 0.5", True),
    ],
)
def test_whether_two_can_hold_at_once(a: str, b: str, answer: bool | None) -> None:
    found = overlap(condition(a), condition(b))
    assert found.answer is answer
    assert (found.example is not None) == (answer is True)


@pytest.mark.meets("S107")
def test_alternatives_are_counted() -> None:
    assert branches(condition("x == 1 && p")) == 1
    assert branches(condition('x == 1 || y == 2 || contains_any(utterance, ["a", "b"])')) == 4
    assert branches(condition("x == 1 && x == 2")) == 0
    wide = " && ".join(f"(x == {n} || y == {n} || p == {n})" for n in range(12))
    assert branches(condition(f"!({wide.replace('==', '!=')})")) == 12
    with pytest.raises(TooLargeError):
        alternatives(condition(wide.replace("==", "!=")).tree, Want.TRUE)
    assert branches(condition(wide.replace("==", "!="))) is None
    assert contains(condition("p"), condition(wide.replace("==", "!="))) is None


ATOMS = st.sampled_from(
    [
        *("x == 1", "x == 2", "x < 2", "x <= 1", "1 < x", "x != 1", "x == y", "x < y", "x >= y", 'x == "a"', 'x < "b"'),
        *('x in [1, "a"]', "x == null", "is_empty(x)", "within(x, 0, 1)", "size(x) == 0", "size(x) < 1", "y > 0", "p"),
        *("p == true", "p == false", "has(a.b)", "a.b == 1", "a.b < 2", "successes(1) == 0", "successes(1) < 2"),
        *('contains_any(x, ["a", "b"])', 'contains_any(x, ["a b"])', 'contains_any(x, ["a*"])', "stability() > 0.5"),
        *('"a" >= x', "x == true", "true", "false", 'matches_named(x, "letter")', "days_from_now(x) > 0", "!p"),
        *("(x < 2) == false", "y in [0, 1]", "x == 0.5", 'calls("s", 1) >= 1'),
    ]
)
TEXTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda text: f"!({text})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} ? {parts[1]} : {parts[2]})"),
    ),
    max_leaves=4,
)
ANYTHING = st.sampled_from(
    [0, 1, 2, 1.5, 0.5, -1, "a", "", "b", "ab", "a b", True, False, None, [], [1], {}, {"b": 1}, "2027-01-01"]
)


@st.composite
def views(draw: st.DrawFn) -> View:
    values: dict[str, Any] = {}
    for name in draw(st.sets(st.sampled_from(["x", "y", "p"]))):
        values[name] = draw(ANYTHING)
    held: Any = draw(st.sampled_from([None, {}, {"b": 0}, {"b": 1}, {"b": 5}, {"b": None}, {"b": "a"}, "text", []]))
    if held is not None:
        values["a"] = held
    past = tuple(Past(1, "s", ok) for ok in draw(st.lists(st.booleans(), max_size=3)))
    memory = Memory(past, 2, draw(st.sampled_from([None, 0.2, 0.9])))
    return View(values, memory, NOW + timedelta(hours=1), REGISTRY.patterns)


@pytest.mark.meets("S123")
@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, st.lists(views(), min_size=6, max_size=6))
def test_no_context_refutes_what_is_said(one: str, other: str, contexts: list[View]) -> None:
    a, b = condition(one), condition(other)
    contained, together = contains(a, b), overlap(a, b).answer
    assert proved_within(b, a) is (contained is True)
    for view in contexts:
        first, second = a.judge(view).truth, b.judge(view).truth
        if contained:
            assert not (second is Truth.TRUE and first is not Truth.TRUE), view.values
        if together is False:
            assert not (first is Truth.TRUE and second is Truth.TRUE), view.values


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_every_condition_contains_itself_and_what_adds_to_it(text: str) -> None:
    a = condition(text)
    assert contains(a, a) is True
    assert contains(a, condition(f"({text}) && (y > 3)")) is True
    assert contains(condition(f"({text}) || (y > 3)"), a) is True


POINTS = st.sampled_from([-1, 0, 0.5, 1, 2, "a", "b", True, False, None])
SETS = st.recursive(
    st.one_of(
        st.builds(numbers, st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from([0, 0.5, 1])),
        st.lists(POINTS, max_size=3).map(exactly),
        st.builds(between, st.sampled_from([0, 1]), st.sampled_from([0, 1, 2])),
        st.just(ALL),
        st.just(NONE),
    ),
    lambda inner: st.one_of(inner.map(lambda s: ~s), st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1])),
    max_leaves=6,
)


def within(value: Any, values: ValueSet) -> bool:
    return not (exactly([value]) & values).has_none()


@given(SETS, SETS, POINTS)
def test_sets_are_exact(one: ValueSet, other: ValueSet, value: Any) -> None:
    assert within(value, ~one) is not within(value, one)
    assert within(value, one & other) == (within(value, one) and within(value, other))
    assert ~~one == one
    assert (one & ~one).has_none()
