"""A view of what is read judges as a view of everything does."""

from __future__ import annotations

from hypothesis import given, settings

from core.strategy.conditions.view import View
from core.strategy.execution.paths import chosen, look
from tests.strategy.conditions.test_containment import TEXTS, condition, views


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS, views())
def test_what_is_left_out_changes_no_judgement(one: str, other: str, view: View) -> None:
    some = [condition(one), condition(other), condition("is_empty(a) && a.b == 1"), condition("has(a.b)")]
    reads = {name for each in some for name in each.reads}
    part = View(chosen(lambda path: look(view.values, path), reads), view.memory, view.now, view.patterns)
    for each in some:
        assert each.judge(part) == each.judge(view)
