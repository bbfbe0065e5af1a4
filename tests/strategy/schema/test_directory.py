"""skill.yaml beside SKILL.md: what is read and what is refused, with the path (S46, S53, S54, X1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.strategy.documents.reading import FaultyFileError
from core.strategy.schema.directory import read_schema, skills_in

GOOD = """skill: apply_refund
side_effects: irreversible
idempotent: true
signature:
  inputs:
    order_id: {type: string, role: domain_constraint}
    amount: {type: number, role: business_rule, min: 0, max: 10000}
  outputs: {type: object, required: [status]}
context: {needs: [order.id, payment_method], provides: [refund.status], providers: {payment_method: get_payment_info}}
failure_modes:
  - {code: NETWORK_TIMEOUT, severity: high, auto_recovery: retry_with_backoff, fallback_skill: check_order_status}
  - {code: INVALID_SKU, severity: medium, auto_recovery: none, fallback_skill: suggest_similar_products}
"""


def refused(text: str) -> list[str]:
    with pytest.raises(FaultyFileError) as caught:
        read_schema(text, "skill.yaml")
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.meets("S51", "S53", "S54")
def test_the_accounts_rows_are_read() -> None:
    schema, _ = read_schema(GOOD, "skill.yaml")
    row = schema.failure("NETWORK_TIMEOUT")
    assert row is not None
    assert (row.severity, row.auto_recovery, row.fallback_skill) == ("high", "retry_with_backoff", "check_order_status")
    assert schema.context.needs == ("order.id", "payment_method")
    assert schema.failure("SOMETHING_ELSE") is None


@pytest.mark.meets("S46")
@pytest.mark.parametrize("block", ["signature", "context", "failure_modes"])
def test_a_block_that_is_missing_is_named(block: str) -> None:
    lines, kept, inside = GOOD.splitlines(keepends=True), "", False
    for line in lines:
        inside = line.startswith(block) or (inside and line.startswith(" "))
        kept += "" if inside else line
    assert any(f"{block}: is missing" in said for said in refused(kept))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("min: 0, max: 10000", "min: 5, max: 1", "signature.inputs.amount.min: 5 lies above max, 1"),
        (", min: 0, max: 10000", "", "signature.inputs.amount.role: a business_rule is checked against min, max"),
        ("type: object, req", "type: objekt, req", "signature.outputs.type: isn't JSON Schema"),
        ("{payment_method: get", "{payment: get", "context.providers.payment: provides what the skill does not need"),
        ("role: domain_constraint", "role: domain", "signature.inputs.order_id.role"),
        ("suggest_similar_products", "apply_refund", "failure_modes[1].fallback_skill: a skill is no fallback"),
        ("side_effects: irreversible", "side_effects: some", "side_effects"),
    ],
)
@pytest.mark.meets("S46")
def test_what_cannot_be_right_is_refused_with_its_path(old: str, new: str, said: str) -> None:
    assert said in refused(GOOD.replace(old, new))[0]


@pytest.mark.meets("S2")
def test_a_directory_of_skills(tmp_path: Path) -> None:
    def skill(name: str, text: str | None) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text("---\nname: x\n---\n")
        if text is not None:
            (tmp_path / name / "skill.yaml").write_text(text)

    skill("apply_refund", GOOD)
    skill("check_order_status", None)
    skill("get_payment_info", GOOD)
    skill("broken", GOOD.replace("signature", "signatur"))
    (tmp_path / "notes").mkdir()
    found = skills_in(tmp_path)
    assert set(found.schemas) == {"apply_refund"}
    assert found.without == ("check_order_status",)
    said = [str(fault) for fault in found.faults]
    assert [line.partition(": ")[0].partition("/")[0] for line in said] == ["broken"] * 2 + [
        "get_payment_info",
        "apply_refund",
        "apply_refund",
    ]
    assert "its folder is get_payment_info" in said[2]
    assert "names suggest_similar_products, and there is no such skill" in said[3]
    assert skills_in(tmp_path / "nowhere").schemas == {}
