"""The check of a bank: every part finds its own faults, says where, and the exit code follows (S63 to S66, X5)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from core.foundation.errors import UsageError
from core.strategy.bank.answers import Hints, answers_of
from core.strategy.bank.bank import Bank
from core.strategy.bank.check import CheckReport, Finding, Subject, check_bank
from core.strategy.bank.simulate import simulate
from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema
from core.strategy.execution.compiler import compile_bank
from core.strategy.schema.outputs import check_output
from tests.strategy.bank.banks import ADA, make, release_text, strategy_text, to_active, write
from tests.strategy.bank.test_records import execution

EXAMPLES = """trigger:
  when: intent.name == "refund" && order.status == "paid"
  examples:
    fire: [{utterance: money back, set: {intent.name: refund, order.status: paid}}]
    no_fire: [{utterance: where is it, set: {intent.name: track, order.status: paid}}]
"""


def schema(name: str, outputs: dict[str, Any] | None = None, **more: Any) -> SkillSchema:
    return SkillSchema.model_validate(
        {
            "skill": name,
            "side_effects": "read",
            "idempotent": True,
            "signature": {"inputs": {}, "outputs": outputs or {"type": "object"}},
            "context": {"provides": ["order.status"]},
            "failure_modes": [],
            **more,
        }
    )


DECISION = {
    "type": "object",
    "required": ["decision", "amount"],
    "properties": {"decision": {"enum": ["reject", "approve"]}, "amount": {"type": "number", "minimum": 0}},
}
TIMED_OUT = {"code": "TIMED_OUT", "severity": "high"}
SCHEMAS = {
    one.skill: one
    for one in (
        schema("refund", side_effects="irreversible"),
        schema("check", DECISION, failure_modes=[TIMED_OUT]),
        schema("hand_off"),
    )
}
PLAN = """
  - {run: check, as: pre, timeout_ms: 100, recover: {"*": {do: {run: hand_off, timeout_ms: 100}}}}
  - switch: [{if: 'pre.decision == "approve"', do: {run: refund, timeout_ms: 100}}]"""


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    made = make(tmp_path)
    write(made, strategy_text(more=EXAMPLES, plan=PLAN))
    return made


def check(bank: Bank, **more: Any) -> CheckReport:
    return check_bank(bank, SCHEMAS, **more)


def errors(report: CheckReport, part: str = "") -> list[str]:
    return [str(one) for one in report.findings if one.level == "error" and part in ("", one.part)]


@pytest.mark.meets("S63", "S64", "S65", "S66")
def test_a_good_bank_passes_with_its_paths_its_routing_and_its_impact(bank: Bank) -> None:
    report = check(bank, executions=[execution(1), execution(2, strategy_id="shop.other")])
    assert errors(report) == []
    assert report.exit_code == 0
    (walked,) = report.walked
    assert any("run refund" in path for path in walked.paths)
    assert walked.reached == ("check", "hand_off", "refund")
    assert any("run check (TIMED_OUT)" in path for path in walked.paths)
    assert any("run check (TIMEOUT)" in path for path in walked.paths)
    assert [one.ok for one in report.routed] == [True, True]
    (impact,) = report.impact
    assert (impact.paths.value, impact.turns.value) == (1.0, 0.5)
    told = json.loads(json.dumps(report.to_json()))
    assert (told["ok"], told["changed"]) == (True, ["shop.refund"])
    assert told["impact"][0]["paths"]["share"] == 1.0
    assert "routing tests: 2 of 2 pass" in report.lines()


def test_the_impact_is_of_what_is_not_published(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    assert check(bank).changed == ()
    assert check(bank).impact == ()
    assert check(bank, only=[]).walked == ()


@pytest.mark.meets("S64", "S81")
def test_syntax_faults_have_file_and_line(bank: Bank) -> None:
    write(bank, strategy_text("shop.broken", plan="{run: nowhere}"), "shop.broken")
    write(bank, strategy_text("shop.typo", more="trigger: {when: 'intent.nam == 1'}\n"), "shop.typo")
    (bank.root / "bank.yaml").write_text("schema: bank/v1\nturn: {max_step: 3}\n")
    report = check(bank)
    assert report.exit_code == 1
    found = errors(report, "syntax")
    assert any(one.startswith("error: shop/shop.broken.yaml:7: ") and "nowhere" in one for one in found)
    assert any(one.startswith("error: shop/shop.typo.yaml:7: ") and "intent.nam" in one for one in found)
    assert any(one.startswith("error: bank.yaml:2: ") for one in found)


@pytest.mark.meets("S63")
def test_the_bank_itself_is_checked(bank: Bank) -> None:
    bank.publish("shop.refund", ADA)
    to_active(bank)
    write(bank, strategy_text(more=EXAMPLES, plan="{run: check}"))  # changed, its number not
    write(bank, release_text(9), ending=".release.yaml")
    text = strategy_text("shop.late", more='effective_from: "tomorrow"\nconflict_resolution: {priority: 90}\n')
    write(bank, text, "shop.late")
    (bank.root / "bank.yaml").write_text(
        "schema: bank/v1\ndomains: {shop: {owner: ada, highest: 60, reviewed: yesterday}}\n"
    )
    version = bank.root / ".versions" / "shop.refund" / "1.yaml"
    version.chmod(0o644)
    version.write_text("other")
    with (bank.root / "state.jsonl").open("a") as file:
        file.write('{"event": "moved"}\n')
    found = "\n".join(errors(check(bank), "bank"))
    for said in (
        "version 1 is published with another text; set version: 2 and parent_version: 1",
        "version 9 is neither published nor written",
        "priority 90 is outside 0 to 60",
        "effective_from",
        "domains.shop.reviewed",
        ".versions/shop.refund/1.yaml: version 1 of shop.refund is not what was published",
        "error: state.jsonl: line 6: is no event",
    ):
        assert said in found


@pytest.mark.meets("X5")
def test_routing_tests_fail_with_the_reason(bank: Bank) -> None:
    text = EXAMPLES.replace("order.status: paid}}]\n    no", "order.status: shipped}}]\n    no")
    write(bank, strategy_text(more=text))
    assert any("its condition does not hold" in one for one in errors(check(bank), "routing"))
    write(bank, strategy_text(more=EXAMPLES.replace("refund, order.status: paid", "refund")))
    assert any("not known there: order.status; set it" in one for one in errors(check(bank), "routing"))
    write(bank, strategy_text(more=EXAMPLES.replace("intent.name: track", "intent.name: refund")))
    assert any("must not fire on 'where is it': it does" in one for one in errors(check(bank), "routing"))
    weak = EXAMPLES.replace("set: {intent.name: track, order.status: paid}", "set: {intent.name: refund}")
    write(bank, strategy_text(more=weak))
    report = check(bank)
    assert errors(report, "routing") == []
    assert any("only because something isn't known" in one.message for one in report.findings)


@pytest.mark.meets("X5", "S124", "S125")
def test_a_new_strategy_that_takes_anothers_turns_breaks_its_routing_tests(bank: Bank) -> None:
    wide = "conflict_resolution: {priority: 80}\ntrigger: {when: 'intent.name == \"refund\"'}\n"
    write(bank, strategy_text("shop.wide", more=wide), "shop.wide")
    (found,) = errors(check(bank, only=[]), "routing")
    assert "shop.refund must fire on 'money back': shop.wide goes before it" in found
    assert check(bank, only=["shop.wide"]).impact[0].strategy_id == "shop.wide"


@pytest.mark.meets("S65", "S29")
def test_a_path_that_spends_the_budget_is_an_error_and_a_skill_without_a_limit_a_warning(bank: Bank) -> None:
    (bank.root / "bank.yaml").write_text("schema: bank/v1\nturn: {max_steps: 4}\n")
    loop = "{loop: {do: [{run: check, as: pre}, {run: hand_off}], until: 'pre.amount < 0.0', max_iterations: 3}}"
    write(bank, strategy_text(more=EXAMPLES, plan=loop))
    report = check(bank)
    assert any("budget of 4 steps and 20000 ms is spent" in one for one in errors(report, "simulation"))
    assert any("never answers" in one.message and one.level == "warning" for one in report.findings)


@pytest.mark.meets("S65")
def test_a_skill_that_no_run_reaches_is_told(bank: Bank) -> None:
    plan = "[{run: check, as: pre}, {switch: [{if: 'pre.decision == \"maybe\"', do: {run: refund}}]}]"
    write(bank, strategy_text(more=EXAMPLES, plan=plan))
    report = check(bank)
    assert any("no simulated run reaches refund" in one.message for one in report.findings)


def test_two_files_of_one_id_are_told(bank: Bank) -> None:
    (bank.root / "other").mkdir()
    (bank.root / "other" / "shop.refund.yaml").write_text(strategy_text(more=EXAMPLES))
    (found,) = errors(check(bank))
    assert "other/shop.refund.yaml: another file has the id shop.refund too" in found


def test_laws_plug_in(bank: Bank) -> None:
    def law(subject: Subject) -> Iterable[Finding]:
        for entry in subject.entries:
            yield Finding(
                "error", "law 1", entry.file.name, 0, entry.id, f"{len(subject.compiled.strategies)} too many"
            )

    report = check(bank, laws=[law])
    assert [one.message for one in report.findings if one.part == "law 1"] == ["1 too many"]
    assert report.exit_code == 1


def test_without_a_bank_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no bank"):
        check_bank(tmp_path / "none", SCHEMAS)


def test_simulated_answers_keep_to_the_schema() -> None:
    outputs = {
        "type": "object",
        "required": ["status", "when", "items", "more"],
        "properties": {
            "status": {"enum": ["a", "b"]},
            "when": {"type": "string", "format": "date"},
            "items": {"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 1},
            "more": {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}},
            "note": {"type": ["string", "null"], "minLength": 6},
            "count": {"type": "integer", "minimum": 0, "maximum": 1},
        },
    }
    made = schema("check", outputs)
    answers = answers_of(made, Hints(words=("paid",), numbers=(0.0, 7.0)))
    for answer in (answers.first, *answers.sweep()):
        assert not check_output(outputs, answer)
    assert answers.fields["count"] == [1, 0]
    assert len(answers.sweep()) == 4


def test_a_simulation_is_the_same_each_time(bank: Bank) -> None:
    texts = {"shop/shop.refund.yaml": bank.text("shop.refund")}
    compiled = compile_bank(texts, BankSettings(), SCHEMAS)
    one = compiled.strategies["shop.refund"]
    assert simulate(compiled, one) == simulate(compiled, one)


def test_a_file_where_nothing_is_read_is_told(bank: Bank) -> None:
    (bank.root / "shop.lost.yaml").write_text("x: 1\n")
    (bank.root / "shop" / "more").mkdir()
    (bank.root / "shop" / "more" / "shop.deep.yaml").write_text("x: 1\n")
    found = [one for one in check(bank).findings if "no part of a bank" in one.message]
    assert [(one.level, one.file) for one in found] == [
        ("warning", "shop.lost.yaml"),
        ("warning", "shop/more/shop.deep.yaml"),
    ]
