"""Strategies as files: what is read, and what a fault says (S4, S21, S22, S29, S46, S81)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.strategy.documents.model import Record
from core.strategy.documents.reading import FaultyFileError, read
from core.strategy.documents.release import Release
from core.strategy.documents.skill import SkillSchema
from core.strategy.documents.strategy import Strategy

EXAMPLE = Path(__file__).parents[1] / "fixtures" / "strategies" / "aftersale.paid_no_parcel.yaml"
HEAD = "schema: strategy/v1\nid: shop.one\nversion: 1\npurpose: One.\ndomain: shop\nowner: someone\n"


def faults(text: str, kind: type[Record] = Strategy) -> list[str]:
    with pytest.raises(FaultyFileError) as caught:
        read(text, kind, "one.yaml")
    return [str(fault) for fault in caught.value.faults]


def test_the_worked_example_is_read_whole_with_the_lines_of_its_nodes() -> None:
    strategy, _ = read(EXAMPLE.read_text(), Strategy, EXAMPLE.name)
    assert strategy.layers == ("trigger", "plan", "validate")
    assert strategy.plan is not None
    skip, check, choice = strategy.plan.children
    assert (skip.skip, check.run, check.alias, choice.kind) == ("query_logistics", "refund_precheck", "pre", "switch")
    assert [skip.line, check.line] == [38, 39]
    loop = choice.children[1]
    assert loop.loop is not None
    assert (loop.loop.max_iterations, loop.loop.do.run) == (3, "collect_evidence")


@pytest.mark.meets("S4")
@pytest.mark.parametrize(
    "layer",
    ["trigger: {when: 'true'}", "plan: {run: look}", "validate: {level0: {checks: [{at: x, present: [a]}]}}"],
)
def test_each_layer_stands_alone(layer: str) -> None:
    strategy, _ = read(f"{HEAD}{layer}\n", Strategy, "one.yaml")
    assert strategy.layers == (layer.partition(":")[0],)


def test_without_a_layer_it_is_refused() -> None:
    assert "at least one of trigger, plan, validate" in faults(HEAD)[0]


@pytest.mark.meets("S29")
def test_a_loop_needs_a_bound_of_three_at_most() -> None:
    plan = "plan:\n  loop:\n    do: {run: look}\n    until: x.done\n"
    assert faults(HEAD + plan) == ["one.yaml:8:3: plan.loop.max_iterations: is missing"]
    assert faults(HEAD + plan + "    max_iterations: 4\n")[0].startswith("one.yaml:11:5: plan.loop.max_iterations:")


@pytest.mark.meets("S21", "S22")
def test_modes_nest_freely() -> None:
    plan = """plan:
  parallel:
    branches:
      - switch:
          - if: order.status == "paid"
            do: {loop: {do: {sequence: [{run: look, as: a}]}, until: a.done, max_iterations: 2}}
          - else: {run: rest}
      - [{run: one}, {run: two}]
"""
    strategy, _ = read(HEAD + plan, Strategy, "one.yaml")
    assert strategy.plan is not None
    chosen, both = strategy.plan.children
    assert chosen.children[0].children[0].children[0].line == 12
    assert [child.run for child in both.children] == ["one", "two"]
    assert both.children[1].line == 14


@pytest.mark.meets("S81")
@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("trigger: {when: 'true', whenn: 1}", "one.yaml:7:25: trigger.whenn: is no key of this format"),
        ("plan: {run: look, call: shop.two}", "one.yaml:7:1: plan: a node has exactly one of"),
        ("plan: {run: look, timeout_ms: '5'}", "one.yaml:7:19: plan.timeout_ms:"),
        ("plan: [{run: look}, {run: Look}]", "one.yaml:7:22: plan[1].run:"),
        ("plan: {switch: [{else: {run: a}}, {if: x, do: {run: b}}]}", "only the last branch of a switch"),
        ("trigger: {when: 'true', event: sometime}", "one.yaml:7:25: trigger.event:"),
        ("plan: {run: look", "one.yaml:8:1:"),
    ],
)
def test_a_fault_names_line_column_and_key(written: str, said: str) -> None:
    assert said in faults(f"{HEAD}{written}\n")[0]


def test_every_fault_is_told_at_once() -> None:
    assert len(faults(f"{HEAD}trigger: {{when: 1, foo: 2}}\nplan: {{}}\n")) == 3


SKILL = """skill: apply_refund
side_effects: irreversible
idempotent: true
signature:
  inputs: {amount: {type: number, role: business_rule, min: 0, max: 10000}}
  outputs: {type: object}
context: {needs: [order.id], providers: {order.id: query_order}}
failure_modes:
  - {code: NETWORK_TIMEOUT, severity: high, auto_recovery: retry_with_backoff, fallback_skill: check_order_status}
  - {code: INVALID_SKU, severity: medium, auto_recovery: none, fallback_skill: suggest_similar_products}
"""


@pytest.mark.meets("S46", "S53", "S54", "X1")
def test_a_skill_schema_has_its_three_blocks() -> None:
    schema, _ = read(SKILL, SkillSchema, "skill.yaml")
    row = schema.failure("NETWORK_TIMEOUT")
    assert row is not None
    assert (row.severity, row.auto_recovery, row.fallback_skill) == ("high", "retry_with_backoff", "check_order_status")
    assert schema.writes
    assert schema.failure("NEVER_HEARD") is None


@pytest.mark.meets("S46")
@pytest.mark.parametrize("block", ["signature", "context", "failure_modes"])
def test_a_missing_block_is_named(block: str) -> None:
    lines = SKILL.splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{block}:"))
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))
    assert f"{block}: is missing" in faults("".join(lines[:start] + lines[end:]), SkillSchema)[0]


def test_stages_may_not_let_anybody_out_again() -> None:
    head = "schema: release/v1\nid: shop.one\nversion: 2\nrollout:\n  stages:\n"
    read(head + "    - {percent: 1, device: [ios]}\n    - {percent: 10}\n", Release, "one.release.yaml")
    for second in ("{percent: 0.5, device: [ios]}", "{percent: 10, device: [android]}"):
        assert "stages" in faults(f"{head}    - {{percent: 1, device: [ios]}}\n    - {second}\n", Release)[0]
