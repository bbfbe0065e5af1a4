"""`exuvia strategy import|schema`: a draft becomes a file; a skill's schema is shown, checked, drafted."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.state.paths import ProjectPaths
from core.strategy.bank.bank import bank_of
from tests.cli.program import call, tree_hash
from tests.cli.strategy_home import AGENT, keep_turns, out, strategy

DRAFT = """IF is_empty(results.query_logistics) AND order.status == "paid" THEN
trigger_skill(contact_carrier, context={order_id: order.id})
set_timeout(5000)
fallback_to(estimate_delivery)
"""
ID = "aftersale.empty_logistics"


@pytest.fixture
def draft(tmp_path: Path) -> str:
    (tmp_path / "draft.txt").write_text(DRAFT)
    return str(tmp_path / "draft.txt")


def skills(home: Path) -> Path:
    return ProjectPaths(home / "default_project").agent(AGENT).skills


@pytest.mark.meets("S32")
def test_a_draft_in_the_text_form_becomes_a_strategy_that_checks(shop: Path, draft: str) -> None:
    words = (
        "import",
        draft,
        ID,
        "--purpose",
        "A carrier that knows nothing.",
        "--event",
        "skill_result:query_logistics",
    )
    before = tree_hash(shop)
    printed = out(shop, *words, "--print")
    assert tree_hash(shop) == before
    told = out(shop, *words)
    path = bank_of(ProjectPaths(shop / "default_project")).root / "aftersale" / f"{ID}.yaml"
    assert f"Written: {path}" in told
    assert path.read_text() == printed
    read = bank_of(ProjectPaths(shop / "default_project")).read(ID)
    assert read.owner == "aftersale-team"
    assert read.origin.kind == "imported"
    assert read.plan is not None
    assert read.plan.timeout_ms == 5000
    assert f"aftersale/{ID}.yaml" not in "".join(
        line for line in out(shop, "check", ID).splitlines() if line.startswith("error")
    )
    again = strategy(shop, *words)
    assert again.code == 1
    assert f"exuvia strategy show {ID}" in again.err


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("trigger_skill(a)\nwait(3)", ID, "Line 2 of the draft"),
        ('IF order.statsu == "paid" THEN\ntrigger_skill(send_sms)', ID, "order.statsu"),
        ("trigger_skill(send_sms)", "Nonsense", "id: "),
        ("", ID, "triggers no skill"),
    ],
)
def test_a_draft_that_cannot_be_taken_writes_nothing_and_names_the_place(
    shop: Path, tmp_path: Path, text: str, name: str, said: str
) -> None:
    (tmp_path / "draft.txt").write_text(text)
    before = tree_hash(shop)
    ended = strategy(shop, "import", str(tmp_path / "draft.txt"), name, "--purpose", "One.")
    assert ended.code == 2
    assert said in ended.err
    assert tree_hash(shop) == before


def test_a_skill_that_nobody_has_is_told(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "draft.txt").write_text("trigger_skill(fly)")
    ended = strategy(shop, "import", str(tmp_path / "draft.txt"), ID, "--purpose", "One.", "--json")
    assert ended.document["unknown_skills"] == ["fly"]


@pytest.mark.meets("S46", "S57")
def test_schemas_of_an_agent_are_shown_and_their_faults_told(shop: Path) -> None:
    told = out(shop, "schema", AGENT)
    line = next(line for line in told.splitlines() if line.startswith("apply_refund ")).split()
    assert line[1] == "irreversible"
    assert "Without a skill.yaml" not in told
    assert "skill: apply_refund" in out(shop, "schema", AGENT, "apply_refund")
    out(shop, "schema", AGENT, "--check")
    file = skills(shop) / "apply_refund" / "skill.yaml"
    file.write_text(file.read_text().replace("context:", "kontext:"))
    assert "FAULT apply_refund/skill.yaml:" in out(shop, "schema", AGENT)
    assert "context" in out(shop, "schema", AGENT, "--check", code=1)
    assert out(shop, "schema", AGENT, "send_sms", "--check")
    (skills(shop) / "bare").mkdir()
    (skills(shop) / "bare" / "SKILL.md").write_text("---\nname: bare\ndescription: Bare.\n---\nText.\n")
    assert "Without a skill.yaml, so not callable by strategies: bare" in out(shop, "schema", AGENT)
    missing = strategy(shop, "schema", AGENT, "bare")
    assert missing.code == 2
    assert f"exuvia strategy schema {AGENT} bare --draft" in missing.err


CODE = '''
from typing import Annotated, Any
from core.strategy.schema.define import Outputs, domain, skill_definition

@skill_definition(side_effects="read", idempotent=True, typical_ms=40)
async def weigh(parcel: Annotated[str, domain()]) -> Annotated[dict[str, Any], Outputs({"type": "object"})]:
    """Weigh a parcel.

    Args:
        parcel: Which.
    """
    return {}
'''
TESTS = """
import pytest

@pytest.mark.failure("NO_SCALE", skill="weigh", severity="low")
def test_no_scale(): ...
"""
WRITTEN = """skill: weigh
side_effects: read
idempotent: true
typical_ms: 40
signature:
  inputs: {parcel: {type: string, role: domain_constraint, description: Which.}}
  outputs: {type: object}
context: {needs: [], provides: []}
failure_modes:
  - {code: NO_SCALE, severity: low, auto_recovery: none}
"""


@pytest.mark.meets("S57")
def test_a_written_schema_is_held_to_code_and_tests(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "weighing.py").write_text(CODE)
    (tmp_path / "test_weighing.py").write_text(TESTS)
    words = ("schema", AGENT, "--check", "--code", str(tmp_path / "weighing.py"), "--tests",
             str(tmp_path / "test_weighing.py"))  # fmt: skip
    assert "DIFFERS weigh: skill.yaml: written -" in out(shop, *words, code=1)
    folder = skills(shop) / "weigh"
    folder.mkdir()
    (folder / "skill.yaml").write_text(WRITTEN)
    assert "1 skills derived, 0 differences, 0 faults." in out(shop, *words)
    (folder / "skill.yaml").write_text(WRITTEN.replace("typical_ms: 40", "typical_ms: 50"))
    told = strategy(shop, *words, "--json")
    assert told.code == 1
    assert told.document["differences"] == [{"skill": "weigh", "path": "typical_ms", "written": "50", "derived": "40"}]


@pytest.mark.meets("S2")
def test_a_schema_is_drafted_from_the_calls_that_were_seen(shop: Path) -> None:
    none = strategy(shop, "schema", AGENT, "query_order", "--draft")
    assert none.code == 2
    assert "no call of query_order was seen" in none.err
    keep_turns(ProjectPaths(shop / "default_project"))
    drafted = strategy(shop, "schema", AGENT, "query_order", "--draft", "--json").document
    assert drafted["calls"] > 0
    assert "signature.inputs.order_id" in drafted["guesses"]
    taken = strategy(shop, "schema", AGENT, "query_order", "--draft", "--write")
    assert taken.code == 1
    assert "has a skill.yaml already" in taken.err
    (skills(shop) / "query_order" / "skill.yaml").unlink()
    out(shop, "schema", AGENT, "query_order", "--draft", "--write")
    out(shop, "schema", AGENT, "query_order", "--check")
    which = strategy(shop, "schema", AGENT, "--draft")
    assert which.code == 2
    assert "query_order" in which.err


def test_words_that_do_not_belong_together_are_refused(shop: Path) -> None:
    for words in (("--check", "--draft"), ("--write",), ("--code", __file__)):
        ended = call("strategy", "schema", AGENT, *words, "--home", shop)
        assert ended.code == 2
        assert "exclude each other" in ended.err
