"""The schema that a function, its docstring and its tests make, beside the written one (S57)."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest

from core.strategy.documents.skill import FailureMode
from core.strategy.schema.canonical import canonical
from core.strategy.schema.define import (
    DefinitionError,
    Outputs,
    Range,
    definition_of,
    domain,
    phrase,
    rule,
    schema_of,
    skill_definition,
)
from core.strategy.schema.directory import read_schema
from core.strategy.schema.failures import collect
from core.strategy.schema.sync import check, compare, compare_all, derived_from
from core.strategy.schema.writing import to_yaml

WRITTEN = """skill: apply_refund
side_effects: irreversible
idempotent: true
typical_ms: 800
signature:
  inputs:
    order_id: {type: string, role: domain_constraint}
    amount: {type: number, role: business_rule, min: 0, max: 10000}
    reason: {type: string, role: domain_constraint, optional: true, enum: [late, broken]}
  outputs:
    type: object
    required: [amount, status]
    properties:
      status: {enum: [ok, rejected]}
      amount: {type: number}
      title: {type: [string, "null"]}
context: {needs: [order.id, payment_method], provides: [refund.status], providers: {payment_method: get_payment_info}}
failure_modes:
  - {code: INVALID_SKU, severity: medium, auto_recovery: none, fallback_skill: suggest_similar_products}
  - {code: NETWORK_TIMEOUT, severity: high, auto_recovery: retry_with_backoff, fallback_skill: check_order_status}
"""

CODE = '''
from __future__ import annotations

from typing import Annotated, Any, Literal

from core.strategy.schema.define import Outputs, domain, rule, skill_definition

CONTRACT = {
    "type": "object",
    "required": ["status", "amount"],
    "properties": {
        "status": {"type": "string", "enum": ["rejected", "ok"]},
        "amount": {"type": "number", "description": "what was paid back"},
        "title": {"type": ["null", "string"]},
    },
}


@skill_definition(
    side_effects="irreversible",
    idempotent=True,
    typical_ms=800,
    needs=["payment_method", "order.id"],
    provides=["refund.status"],
    providers={"payment_method": "get_payment_info"},
)
async def apply_refund(
    order_id: Annotated[str, domain()],
    amount: Annotated[float, rule()],
    reason: Annotated[Literal["broken", "late"] | None, domain()] = None,
    call: Any = None,
) -> Annotated[dict[str, Any], Outputs(CONTRACT)]:
    """Pay an order back.

    Args:
        order_id: The order.
        amount: What is paid back. Range: 0 to 10000.
        reason: Why. One of: broken, late.
    """
    return {"status": "ok", "amount": amount}
'''

TESTS = """
import pytest


@pytest.mark.failure("NETWORK_TIMEOUT", skill="apply_refund", severity="high", recovery="retry_with_backoff",
                     fallback="check_order_status")
def test_the_payment_service_times_out() -> None:
    assert True


@pytest.mark.failure("INVALID_SKU", skill="apply_refund", severity="medium", fallback="suggest_similar_products")
@pytest.mark.failure("NETWORK_TIMEOUT", skill="apply_refund", severity="high", recovery="retry_with_backoff",
                     fallback="check_order_status")
def test_the_article_is_unknown() -> None:
    assert True
"""


def files(tmp_path: Path, code: str = CODE, tests: str = TESTS) -> tuple[Path, Path]:
    (tmp_path / "refund.py").write_text(code)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_refund.py").write_text(tests)
    return tmp_path / "refund.py", tmp_path / "tests"


@pytest.mark.meets("S57")
def test_written_and_derived_are_equal(tmp_path: Path) -> None:
    code, tests = files(tmp_path)
    derived = derived_from(code, collect(tests))
    written, _ = read_schema(WRITTEN, "skill.yaml")
    assert compare(written, derived["apply_refund"]) == ()
    assert compare_all({"apply_refund": written, "a_text_only": written}, derived) == ()
    assert derived["apply_refund"].signature.inputs["amount"].description == "What is paid back."
    again, _ = read_schema(to_yaml(derived["apply_refund"]), "skill.yaml")
    assert compare(again, derived["apply_refund"]) == ()


@pytest.mark.meets("S57")
@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("max: 10000", "max: 5000", "signature.inputs.amount.max"),
        ("enum: [late, broken]", "enum: [late]", "signature.inputs.reason.enum"),
        ("reason: {type: string,", "reason: {type: integer,", "signature.inputs.reason.type"),
        ("optional: true, ", "", "signature.inputs.reason.optional"),
        ("side_effects: irreversible", "side_effects: write", "side_effects"),
        ("enum: [ok, rejected]", "enum: [ok]", "signature.outputs.properties.status.enum"),
        ("severity: medium", "severity: low", "failure_modes.INVALID_SKU.severity"),
        ("needs: [order.id, ", "needs: [", "context.needs"),
    ],
)
def test_what_parts_them_is_named(tmp_path: Path, old: str, new: str, path: str) -> None:
    code, tests = files(tmp_path)
    derived = derived_from(code, collect(tests))["apply_refund"]
    written, _ = read_schema(WRITTEN.replace(old, new), "skill.yaml")
    assert [difference.path for difference in compare(written, derived)] == [path]


@pytest.mark.meets("S57")
def test_a_directory_is_checked_against_code_and_tests(tmp_path: Path) -> None:
    code, tests = files(tmp_path)
    for name in ("apply_refund", "get_payment_info", "check_order_status", "suggest_similar_products"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text("---\nname: x\n---\n")
    (tmp_path / "skills" / "apply_refund" / "skill.yaml").write_text(WRITTEN)
    assert check(tmp_path / "skills", [code], tests).in_order
    report = check(tmp_path / "skills", [code])
    assert not report.in_order
    assert {difference.path.partition(".")[0] for difference in report.differences} == {"failure_modes"}
    (tmp_path / "skills" / "apply_refund" / "skill.yaml").unlink()
    assert [str(one) for one in check(tmp_path / "skills", [code], tests).differences] == [
        "apply_refund: skill.yaml: written -, derived a schema"
    ]


def test_a_failure_case_without_a_row_and_a_skill_without_a_file_are_differences(tmp_path: Path) -> None:
    more = '\n\n@pytest.mark.failure("GONE", skill="apply_refund", severity="low")\ndef test_gone() -> None: ...\n'
    code, tests = files(tmp_path, tests=TESTS + more)
    derived = derived_from(code, collect(tests))
    written, _ = read_schema(WRITTEN, "skill.yaml")
    assert {difference.written for difference in compare(written, derived["apply_refund"])} == {"-"}
    assert [str(difference) for difference in compare_all({}, derived)] == [
        "apply_refund: skill.yaml: written -, derived a schema"
    ]


def test_markers_that_cannot_be_read_have_their_line(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        "import pytest\nCODE = 'X'\n"
        "@pytest.mark.failure(CODE, skill='s', severity='low')\ndef test_a(): ...\n"
        "@pytest.mark.failure('X', skill='s', severity='bad')\ndef test_b(): ...\n"
        "@pytest.mark.failure('X', severity='low')\ndef test_c(): ...\n"
        "@pytest.mark.failure('X', skill='s', severity='low', retry=1)\ndef test_d(): ...\n"
        "@pytest.mark.failure('X', skill='s', severity='low')\ndef test_e(): ...\n"
        "@pytest.mark.failure('X', skill='s', severity='high')\ndef test_f(): ...\n"
    )
    found = collect(tmp_path)
    assert found.rows == {"s": (FailureMode(code="X", severity="low"),)}
    assert [fault.line for fault in found.faults] == [3, 5, 7, 9, 0]
    assert "two tests say different things" in str(found.faults[-1])


def test_pytest_knows_the_marker(tmp_path: Path) -> None:
    _, tests = files(tmp_path)
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        "-c",
        "/dev/null",
    ]
    for plugin, code in ((["-p", "core.strategy.schema.marker"], 0), ([], 2)):
        done = subprocess.run([*command, *plugin, str(tests)], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout


class Found(TypedDict):
    items: list[str]
    total: int


@dataclass
class Money:
    amount: float
    currency: Literal["EUR", "USD"]


@skill_definition(side_effects="read", idempotent=True)
def search_product(
    query: Annotated[str, phrase()],
    category_filter: Annotated[str, domain("phones", "laptops")] = "phones",
    price_range: Annotated[Range | None, rule(0, 10_000)] = None,
    size: Annotated[int | float, rule(1)] = 1,
) -> Found:
    """Find products."""
    return {"items": [query], "total": 1}


@pytest.mark.meets("S48", "S57")
def test_the_accounts_search_is_derived_and_still_callable() -> None:
    schema = schema_of(search_product)
    assert {name: (one.type, one.role, one.optional) for name, one in schema.signature.inputs.items()} == {
        "query": ("string", "user_intent_phrase", False),
        "category_filter": ("string", "domain_constraint", True),
        "price_range": ("range", "business_rule", True),
        "size": ("number", "business_rule", True),
    }
    assert schema.signature.outputs == {
        "type": "object",
        "required": ["items", "total"],
        "properties": {"items": {"type": "array", "items": {"type": "string"}}, "total": {"type": "integer"}},
    }
    assert search_product("x") == {"items": ["x"], "total": 1}
    assert definition_of(search_product) is not None


def test_a_dataclass_is_a_contract_too() -> None:
    @skill_definition(side_effects="none", idempotent=True)
    def price() -> Annotated[Money, "of the day"]:
        return Money(1.0, "EUR")

    assert canonical(schema_of(price).signature.outputs)["properties"]["currency"] == {"enum": ["EUR", "USD"]}


Anything = Annotated[dict[str, Any], Outputs({"type": "object"})]


def no_role(a: str) -> Anything:
    raise NotImplementedError


def no_output(a: Annotated[str, domain()]) -> dict[str, Any]:
    raise NotImplementedError


def anything(*a: str) -> Anything:
    raise NotImplementedError


def odd(a: Annotated[bytes, domain()]) -> Anything:
    raise NotImplementedError


def two_ranges(a: Annotated[int, rule(0, 5)]) -> Anything:
    """Do.

    Args:
        a: Some. Range: 0 to 6.
    """
    raise NotImplementedError


def stray(a: Annotated[int, rule(0, 5)]) -> Anything:
    """Do.

    Args:
        b: Some.
    """
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_role, "a has no role"),
        (no_output, "what comes back"),
        (anything, "named one by one"),
        (odd, "an input is one of array, boolean"),
        (two_ranges, "different ranges"),
        (stray, "speaks of b"),
    ],
)
def test_what_makes_no_schema_is_named(function: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match="not decorated"):
        schema_of(function)
    with pytest.raises(DefinitionError) as caught:
        schema_of(skill_definition(side_effects="read", idempotent=True)(function))
    assert said in str(caught.value)
