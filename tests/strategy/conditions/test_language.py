"""What our parser lets through, the binding takes, and both mean the same by it (X3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategy.conditions.binding import compiled
from core.strategy.conditions.condition import ConditionError, compile_condition
from core.strategy.conditions.memory import Memory
from core.strategy.conditions.parser import parse
from core.strategy.conditions.registry import Registry
from core.strategy.conditions.tree import And, Choice, Compare, ListOf, Literal, Not, Or, Path, Tree
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View

REGISTRY = Registry({"p": "any", "q": "any", "r": "any"})
PIECES = st.sampled_from(
    [
        *"pqr()[]!,.?:<>+-",
        "&&",
        "||",
        "==",
        "!=",
        "<=",
        " in ",
        "1",
        "1.5",
        '"a"',
        "'b'",
        "true",
        "null",
        "has",
        " ",
        "\n",
        "\\",
        "2e3",
    ]
)


def refusal(attempt: Callable[[], object]) -> ConditionError | None:
    try:
        attempt()
    except ConditionError as error:
        return error
    return None


@settings(max_examples=1_000, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_what_is_read_compiles(text: str) -> None:
    error = refusal(lambda: parse(text))
    if error is None:
        compiled(text)
    else:
        assert 1 <= error.line <= text.count("\n") + 1
        assert error.column >= 1


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    error = refusal(lambda: compile_condition(text, REGISTRY))
    assert error is None or (error.reason and "engine refuses" not in error.reason)


LEAVES = st.sampled_from(["p", "q", "r", "p == 1", "q != r", "r < 2", "true", "false", "p in [1, true]", "q == null"])
TEXTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda three: f"({' '.join(three)})"),
        inner.map(lambda text: f"!({text})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} ? {three[1]} : {three[2]})"),
    ),
    max_leaves=6,
)
VALUES = st.dictionaries(st.sampled_from("pqr"), st.sampled_from([True, False, 0, 1, 2.5, "a", None]))
UNKNOWN = object()


def meaning(tree: Tree, values: dict[str, Any]) -> Any:
    """The three-valued meaning, written down once more: true, false, a value, or UNKNOWN."""
    match tree:
        case Literal(value=value):
            return value
        case Path(parts=(str(name),)):
            return values.get(name, UNKNOWN)
        case Not(inner=inner):
            found = meaning(inner, values)
            return not found if isinstance(found, bool) else UNKNOWN
        case And(parts=parts) | Or(parts=parts):
            ends = isinstance(tree, Or)
            each = [meaning(part, values) for part in parts]
            if any(one is ends for one in each):
                return ends
            return (not ends) if all(isinstance(one, bool) for one in each) else UNKNOWN
        case Choice(test=test, yes=yes, no=no):
            found = meaning(test, values)
            return meaning(yes if found else no, values) if isinstance(found, bool) else UNKNOWN
        case Compare(operator=operator, left=left, right=right):
            if isinstance(right, ListOf):
                found = meaning(left, values)
                listed = [meaning(one, values) for one in right.items]
                return UNKNOWN if found is UNKNOWN else any(same(found, one) for one in listed)
            a, b = meaning(left, values), meaning(right, values)
            if a is UNKNOWN or b is UNKNOWN:
                return UNKNOWN
            if operator == "<":
                return a < b if number(a) and number(b) else UNKNOWN
            return same(a, b) == (operator == "==")
    raise AssertionError(tree)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


@pytest.mark.meets("X3")
@settings(max_examples=600, deadline=None)
@given(TEXTS, VALUES)
def test_the_binding_means_what_the_language_says(text: str, values: dict[str, Any]) -> None:
    condition = compile_condition(text, REGISTRY)
    expected = meaning(condition.tree, values)
    wanted = Truth.TRUE if expected is True else Truth.FALSE if expected is False else Truth.UNKNOWN
    assert condition.judge(View(values, Memory(), datetime(2026, 1, 1, tzinfo=UTC))).truth is wanted
