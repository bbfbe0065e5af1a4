"""Conditions: truth, unknown and defects; what is refused, and where (S9 to S13, S20, S81, X3)."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.strategy.conditions.condition import Condition, ConditionError, Judgement, compile_condition
from core.strategy.conditions.functions import FUNCTIONS
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.registry import SESSION, Registry
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View, hollow

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
REGISTRY = Registry(
    {
        **SESSION,
        "order.status": "string",
        "order.amount": "number",
        "order.paid_amount": "number",
        "order.due": "date",
        "order.items": "list",
        "order.gift": "boolean",
        "results.query-order": "map",
        "results.query_logistics": "map",
        "loose": "any",
        "p": "boolean",
        "q": "boolean",
    },
    {"tracking": "^(JD|SF)[0-9]{10}$", "slow": "(a+)+$", "broken": "("},
)
MEMORY = Memory((Past(3, "query_order", True), Past(4, "refund", False, "TIMEOUT"), Past(5, "refund", True)), 5, None)
T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN


def condition(text: str, **extra: str) -> Condition:
    return compile_condition(text, REGISTRY, extra=extra)


def judged(text: str, values: dict[str, Any] | None = None, memory: Memory = MEMORY) -> Judgement:
    return condition(text).judge(View(values or {}, memory, NOW, REGISTRY.patterns))


def refused(text: str, **extra: str) -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        condition(text, **extra)
    return caught.value


def known(p: Truth, q: Truth) -> dict[str, Any]:
    return {name: value is T for name, value in (("p", p), ("q", q)) if value is not U}


@pytest.mark.meets("X3")
@pytest.mark.parametrize(
    ("p", "q", "both", "either"),
    [
        *((T, T, T, T), (T, F, F, T), (F, T, F, T), (F, F, F, F)),
        *((T, U, U, T), (U, T, U, T), (F, U, F, U), (U, F, F, U), (U, U, U, U)),
    ],
)
def test_unknown_in_and_and_or(p: Truth, q: Truth, both: Truth, either: Truth) -> None:
    assert judged("p && q", known(p, q)).truth is both
    assert judged("p || q", known(p, q)).truth is either
    assert judged("!(p && q)", known(p, q)).truth is {T: F, F: T, U: U}[both]
    assert judged("!(p || q)", known(p, q)).truth is {T: F, F: T, U: U}[either]


@pytest.mark.meets("X3")
@pytest.mark.parametrize(
    "text",
    [
        'order.status == "paid"',
        'order.status != "paid"',
        '!(order.status == "paid")',
        'order.status in ["paid"]',
        '!(order.status in ["paid"])',
        "order.amount < 5",
        "!(order.amount < 5)",
        "order.amount == order.paid_amount",
        "order.gift ? true : false",
        "order.gift ? true : true",
        "is_empty(order.status)",
        "size(order.items) == 0",
        "within(order.amount, 1, 5)",
        'contains_any(order.status, ["x"])',
        'matches_named(order.status, "tracking")',
        "days_from_now(order.due) > 0",
        "order.items[0] == 1",
        '"a" in order.items',
    ],
)
def test_a_missing_name_or_key_is_unknown_and_named(text: str) -> None:
    without: tuple[dict[str, Any], ...] = ({}, {"order": {}})
    for values in without:
        found = judged(text, values)
        assert found.truth is U
        assert found.defect == ""
        assert set(found.unknown) <= set(condition(text).paths)
        assert found.unknown


@pytest.mark.meets("X3")
def test_null_is_known_to_be_empty_but_compares_with_nothing() -> None:
    null = {"order": {"status": None, "amount": None}}
    assert judged("is_empty(order.status)", null).truth is T
    assert judged("order.status == null", null).truth is T
    assert judged("order.amount > 5", null) == Judgement(U, ("order.amount",))
    assert judged("within(order.amount, 1, 5)", null) == Judgement(U, ("order.amount",))


def test_a_field_is_asked_for_by_has() -> None:
    assert judged("has(order.status)", {"order": {"status": "paid"}}).truth is T
    assert judged("has(order.status)", {"order": {}}).truth is F
    assert judged("has(order.status)") == Judgement(U, ("order.status",))


def test_a_value_of_another_kind_is_a_defect_and_unknown() -> None:
    found = judged("order.amount > 5", {"order": {"amount": "lots"}})
    assert found.truth is U
    assert found.unknown == ()
    assert "order.amount > 5" in found.defect
    assert "needs a date, not 'soon'" in judged("days_from_now(order.due) > 0", {"order": {"due": "soon"}}).defect
    assert "instead of true or false" in judged("loose", {"loose": "yes"}).defect
    assert judged("loose > 1 || p", {"loose": "yes", "p": True}).truth is T  # what it hides does not matter


@pytest.mark.meets("S9", "S11", "S12", "S13")
def test_the_three_families_of_variables() -> None:
    text = 'intent.confidence > 0.85 && contains_any(utterance, ["how to", "steps"]) && successes(2) == 1'
    values = {"intent": {"confidence": 0.9}, "utterance": "How-to: pay?"}
    assert judged(text, values).truth is T
    assert judged(text, {**values, "intent": {"confidence": 0.8}}).truth is F
    assert judged(text, {**values, "utterance": "show tomorrow"}).truth is F
    assert judged(text, values, Memory(MEMORY.past, 6)).truth is T
    assert judged(text, values, Memory(MEMORY.past, 8)).truth is F


@pytest.mark.meets("S13")
def test_the_last_turns_are_those_before_this_one() -> None:
    assert judged("successes(1) == 0 && failures(1) == 1 && successes(2) == 1").truth is T  # turn 5's own doesn't count
    assert judged('calls("refund", 3) == 1').truth is T


@pytest.mark.meets("S20")
def test_stability_is_unknown_until_it_has_been_measured() -> None:
    assert judged("stability() < 0.6") == Judgement(U, ("stability()",))
    assert judged("!(stability() == 0.5)").truth is U
    assert judged("stability() < 0.6", None, Memory((), 1, 0.4)).truth is T
    assert judged("stability() < 0.6 || p", {"p": True}).truth is T


@pytest.mark.meets("S36")
def test_dates() -> None:
    for due, days in (("2026-12-02", "== 1"), ("2026-12-01", "== 0"), ("2026-11-30", "== -1")):
        assert judged(f"days_from_now(order.due) {days}", {"order": {"due": due}}).truth is T
    assert judged("days_from_now(order.due) == 0.5", {"order": {"due": "2026-12-02T00:00:00+00:00"}}).truth is T
    assert judged("days_from_now(order.due) == 0.5", {"order": {"due": datetime(2026, 12, 2, tzinfo=UTC)}}).truth is T


@pytest.mark.meets("S35", "S37")
def test_values_of_a_set_and_named_patterns() -> None:
    assert judged('order.status in ["paid", "shipped"]', {"order": {"status": "paid"}}).truth is T
    text = 'matches_named(order.status, "tracking")'
    assert judged(text, {"order": {"status": "SF1234567890"}}).truth is T
    assert judged(text, {"order": {"status": "SF123"}}).truth is F
    evil = judged('matches_named(order.status, "slow")', {"order": {"status": "a" * 1_999 + "b"}})
    assert evil.truth is F  # a backtracking engine would not come back from this
    long = judged('matches_named(order.status, "slow")', {"order": {"status": "a" * 2_001}})
    assert long.truth is U
    assert "2000 characters" in long.defect


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('order.staus == "paid"', (1, 1), "order.staus is not known; did you mean order.status?"),
        ('p\n && order.staus == "paid"', (2, 5), "did you mean order.status?"),
        ("nothing_like_it > 3", (1, 1), "nothing_like_it is not known: no skill provides it"),
        ("order.status.length == 3", (1, 1), "order.status.length is not known"),
        ('contain_any(utterance, ["x"])', (1, 1), "no function contain_any; did you mean contains_any?"),
        ('order.amount == "5"', (1, 14), "order.amount is a number and can't be compared with a text"),
        ('"5" < order.amount', (1, 5), "order.amount is a number and can't be compared with a text"),
        ("order.gift < true", (1, 12), "order.gift is true or false and can't be compared with true or false by <"),
        ("order.due > 5", (1, 11), "days_from_now(order.due) > 0"),
        ('order.amount in [1, "2"]', (1, 21), "order.amount is a number, and this is a text"),
        ("order.amount", (1, 1), "a condition is true or false, and this is a number"),
        ("p && order.amount", (1, 6), "each side of && is true or false"),
        ("!order.amount", (1, 2), "what ! turns round"),
        ("order.amount + 1 > 2", (1, 14), "no arithmetic"),
        ("-order.amount > 2", (1, 1), "no arithmetic"),
        ("p AND q", (1, 3), "'AND' is written '&&' here"),
        ("p = q", (1, 3), "did you mean '=='?"),
        ("p && ", (1, 6), "expected a value, found the end"),
        ("(p && q", (1, 8), "expected ')'"),
        ('order.status == "paid', (1, 17), "does not end on this line"),
        ("p // maybe", (1, 3), "comments"),
        ("order.in == 1", (1, 7), 'write ["in"]'),
        ('utterance.matches("x")', (1, 11), "functions stand before their brackets"),
        ("order.items.exists(x, x == 1)", (1, 13), "over a list isn't part of conditions"),
        ("{1: 2} == {}", (1, 1), "maps can't be written"),
        ("1u == 1", (1, 1), "isn't a number as it is written"),
        ("order.amount > 9007199254740993", (1, 16), "numbers lie between"),
        ("successes(0) == 1", (1, 11), "a number of turns, 1 to 100"),
        ("successes(order.amount) == 1", (1, 11), "written out"),
        ("within(order.status, 1, 2)", (1, 8), "takes a number here, and this is a text"),
        ("contains_any(utterance, utterance)", (1, 25), "list of texts"),
        ('contains_any(utterance, ["?!"])', (1, 25), "has no word"),
        ('matches_named(utterance, "trackin")', (1, 26), "did you mean tracking?"),
        ('matches_named(utterance, "broken")', (1, 26), "unclosed group"),
        ('utterance == "How to?"', (1, 14), "normal form: write 'how to'"),
        ("has(p)", (1, 5), "has asks for a field"),
        ("", (1, 1), "is empty"),
        ("(" * 30 + "p" + ")" * 30, (1, 25), "nested deeper than 24"),
        ("!" * 30 + "p", (1, 1), "nested deeper than 24"),
        ("p && " * 400 + "p", (1, 1), "longer than 2000"),
        ("||".join("p" * 301), (1, 901), "more than 300 parts"),
        (r'order.status == "\d"', (1, 17), "two backslashes"),
        ('order["a.b"] == 1', (1, 1), "has no point"),
    ],
)
@pytest.mark.meets("S81")
def test_what_is_refused_says_where_and_what_to_do(text: str, place: tuple[int, int], said: str) -> None:
    error = refused(text)
    assert said in error.reason
    assert (error.line, error.column) == place


def test_the_path_of_a_typo_is_told() -> None:
    assert refused('order.staus == "paid"').path == "order.staus"


def test_names_that_are_known_only_here() -> None:
    assert condition("pre.decision == 1", pre="map").paths == ("pre.decision",)
    assert "pre.decision" in refused("pre.decison == 1", **{"pre.decision": "string"}).reason
    assert condition('results["query-order"].x == 1 && order.items[0] == 2').paths == (
        "results.query-order.x",
        "order.items[0]",
    )


def test_what_a_condition_reads_is_known_without_asking_it() -> None:
    found = condition('p && contains_any(utterance, ["x"]) && p && order.amount > successes(2)')
    assert found.paths == ("p", "utterance", "order.amount")
    assert found.functions == ("contains_any", "successes")


def test_what_a_view_needs_for_a_condition() -> None:
    found = condition('has(order.status) && order.amount > 1 && utterance_raw != "x"')
    assert found.paths == ("order.status", "order.amount", "utterance_raw")
    assert set(found.reads) == {"order", "order.amount", "utterance"}
    assert condition("has(order.status) && order.status == 'x'").reads == ("order", "order.status")
    assert condition("is_empty(order.items) && p").reads == ("order.items?", "p")
    assert condition("is_empty(order.items) && size(order.items) > 1").reads == ("order.items",)
    for value in ([], {}, [1, 2], {"a": 1}, "", "x", None, 0, False):
        same = [condition("is_empty(loose)").judge(View({"loose": one}, MEMORY, NOW)) for one in (value, hollow(value))]
        assert same[0] == same[1]


@pytest.mark.meets("S28")
def test_a_condition_reads_what_its_view_holds() -> None:
    one = condition('order.status == "shipped"')
    assert [
        one.judge(View({"order": {"status": status}}, MEMORY, NOW)).truth for status in ("paid", "shipped", "paid")
    ] == [F, T, F]


def test_values_that_no_condition_can_read_are_unknown() -> None:
    view = View({"order": {"amount": float("nan"), "paid_amount": 2**70, "items": {1, 2}, "status": "x"}}, MEMORY, NOW)
    assert view.unreadable == ("order.amount", "order.paid_amount", "order.items")
    assert condition("order.amount < 5").judge(view) == Judgement(U, ("order.amount",))
    assert condition('order.status == "x"').judge(view).truth is T


def test_the_documentation_has_the_language_as_it_is() -> None:
    text = (Path(__file__).parents[3] / "docs" / "strategies.md").read_text(encoding="utf-8")
    examples = text.partition("```cel\n")[2].partition("```")[0].splitlines()
    known = Registry({**REGISTRY.types, "order": "map", "results.query_logistics": "map", "results.query-order": "map"})
    assert {name for line in examples for name in compile_condition(line, known).functions} < set(FUNCTIONS)
    for name, function in FUNCTIONS.items():
        row = next(line for line in text.splitlines() if line.startswith("| `") and f"`{name}(" in line)
        assert row.count(",", 0, row.index(")")) + 1 >= len(function.arguments)


def test_a_truth_has_no_boolean_value() -> None:
    with pytest.raises(TypeError):
        bool(U)


def test_the_binding_is_loaded_late_and_without_its_command_line() -> None:
    script = (
        "import sys\n"
        "from core.strategy.conditions.condition import compile_condition\n"
        "from core.strategy.conditions.registry import Registry\n"
        "assert not [name for name in sys.modules if name == 'cel']\n"
        "assert compile_condition('true', Registry({})).text == 'true'\n"
        "print(sorted({'rich', 'typer', 'prompt_toolkit', 'click'} & set(sys.modules)))\n"
        "import cel\n"
        "print(cel.evaluate('1 < 2'))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True"]
