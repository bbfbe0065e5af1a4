"""Who depends on whom, and what a change makes red and mandatory (S108 to S110)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategy.documents.reading import read
from core.strategy.documents.strategy import Strategy
from core.strategy.governance.graph import Edge, Graph, affected, graph, mandatory
from core.strategy.shop.banks import bank_files
from tests.strategy.feedback.making import strategy

SHOP = [read(text, Strategy, name)[0] for name, text in bank_files().items()]
EXAMPLE = "examples: {fire: [{utterance: a}], no_fire: [{utterance: b}, {utterance: c}]}"
BANK = [
    strategy("plan: [{run: look}, {run: pay, recover: {TIMEOUT: {do: {call: shop.late}}}}, {emit: paid}]", "shop.pay"),
    strategy("plan: {call: shop.pay}", "shop.order"),
    strategy("plan: {run: tell}", "shop.late"),
    strategy(f"trigger: {{event: 'skill_result:look', when: 'results.look.empty', {EXAMPLE}}}", "shop.empty"),
    strategy("trigger: {event: 'strategy_failed:shop.order', when: 'true'}\nplan: {run: tell}", "shop.stand_in"),
    strategy("trigger: {event: 'emitted:paid', when: 'true'}\nplan: {run: thank}", "shop.thank"),
    strategy("plan: {run: other}", "shop.alone"),
]


@pytest.mark.meets("S108")
def test_edges_are_calls_fallbacks_and_conditional_dependencies() -> None:
    assert {(edge.source, edge.target, edge.kind) for edge in graph(BANK).edges} == {
        ("shop.pay", "shop.late", "fallback"),
        ("shop.order", "shop.pay", "call"),
        ("shop.empty", "shop.pay", "conditional"),
        ("shop.stand_in", "shop.order", "fallback"),
        ("shop.thank", "shop.pay", "conditional"),
    }


@pytest.mark.meets("S109")
def test_a_change_marks_all_that_depend_on_it() -> None:
    found = affected(graph(BANK), ["shop.late"])
    assert found.marked == ("shop.empty", "shop.late", "shop.order", "shop.pay", "shop.stand_in", "shop.thank")
    assert found.through["shop.pay"].why == "recover TIMEOUT"
    assert affected(graph(BANK), ["shop.thank"]).marked == ("shop.thank",)


@pytest.mark.meets("S110")
def test_their_examples_become_mandatory() -> None:
    found = mandatory(BANK, ["shop.pay"])
    assert found.strategies == ("shop.empty", "shop.order", "shop.pay", "shop.stand_in", "shop.thank")
    assert (found.examples, found.untested) == (3, ("shop.stand_in", "shop.thank"))


@pytest.mark.meets("S109")
def test_of_the_shop() -> None:
    marked = affected(graph(SHOP), ["aftersale.pay_back"]).marked
    assert "aftersale.paid_no_parcel" in marked
    assert "presale.find_product" not in marked


names = st.sampled_from("abcdef")


@pytest.mark.meets("S109")
@given(st.sets(st.tuples(names, names), max_size=15), st.sets(names, min_size=1, max_size=3))
def test_marked_is_the_smallest_closed_set(pairs: set[tuple[str, str]], changed: set[str]) -> None:
    found = Graph(tuple("abcdef"), tuple(Edge(a, b, "call", "plan") for a, b in sorted(pairs)))
    marked = set(affected(found, changed).marked)
    assert changed <= marked
    assert not [(a, b) for a, b in pairs if b in marked and a not in marked]
    closed = set(changed)
    while more := {a for a, b in pairs if b in closed} - closed:
        closed |= more
    assert marked == closed
