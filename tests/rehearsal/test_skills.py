"""The four built-in skills speak of the tools that there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from core.evolution import builder_freeze, builder_tools, evaluator_tools, optimizer_tools
from core.evolution.builder_arguments import (
    CreateAgentArguments,
    DeclareContractArguments,
    DispatchArguments,
    RecordBaselineArguments,
    RecordReviewArguments,
    RequestFreezeArguments,
    StopRunArguments,
    SubmitRevisionArguments,
)
from core.skillrepo.document import read_skill

ROOT = Path(__file__).resolve().parents[2]
SKILLS = ROOT / "skills"
NAMES = ("agent-creation", "benchmark-design", "agent-evaluation", "agent-optimization")


def text(name: str) -> str:
    return (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")


def keys(schema: Mapping[str, Any]) -> set[str]:
    """Return every argument name in a JSON schema, nested ones too."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    parts = [*properties.values(), *schema.get("$defs", {}).values()]
    if isinstance(schema.get("items"), dict):
        parts.append(schema["items"])
    return set(properties).union(*(keys(part) for part in parts if isinstance(part, dict)))


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_valid_skill_with_its_front_matter(name: str) -> None:
    document = read_skill(SKILLS / name)
    assert document.valid
    assert document.name == name
    assert {"name", "description", "version", "updated"} <= set(document.fields)


def test_the_other_name_of_agent_creation_is_stated() -> None:
    assert "agent-initialization" in text("agent-creation")


@pytest.mark.parametrize(
    ("skill", "tool", "arguments"),
    [
        ("agent-creation", "create_agent", CreateAgentArguments),
        ("benchmark-design", "create_agent", CreateAgentArguments),
        ("benchmark-design", "declare_contract", DeclareContractArguments),
        ("benchmark-design", "submit_revision", SubmitRevisionArguments),
        ("benchmark-design", "record_review", RecordReviewArguments),
        ("benchmark-design", "dispatch", DispatchArguments),
        ("benchmark-design", "request_freeze", RequestFreezeArguments),
        ("benchmark-design", "record_baseline", RecordBaselineArguments),
        ("benchmark-design", "stop_run", StopRunArguments),
        ("agent-optimization", "read_trace", optimizer_tools.ReadTraceArguments),
        ("agent-optimization", "propose_candidate", optimizer_tools.ProposeArguments),
        ("agent-optimization", "evaluate_candidate", optimizer_tools.EvaluateArguments),
        ("agent-optimization", "decide", optimizer_tools.DecideArguments),
        ("agent-optimization", "stop_run", optimizer_tools.StopArguments),
    ],
)
def test_a_skill_names_a_tool_with_all_its_arguments(skill: str, tool: str, arguments: Any) -> None:
    told = text(skill)
    assert f"{tool}{{" in told.replace("{\n", "{")
    missing = {key for key in keys(arguments.model_json_schema(by_alias=True)) if not re.search(rf"\b{key}\b", told)}
    assert not missing


def test_the_evaluators_tools_are_named() -> None:
    told = text("agent-evaluation")
    for spec in (evaluator_tools.LAUNCH_TARGET, evaluator_tools.RUN_CHECKS, evaluator_tools.RECORD_ITEMS):
        assert f"{spec.name}{{" in told
        assert all(re.search(rf"\b{key}\b", told) for key in keys(spec.parameters))


def test_refusals_in_the_tables_are_refusals_of_the_engine() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "core" / "evolution").glob("*.py"))
    known = set(re.findall(r'"([a-z_]+)"', sources))
    assert known
    for name in NAMES:
        for line in text(name).splitlines():
            if line.startswith("| `") and line.count("|") >= 4:
                for code in re.findall(r"`([a-z_]+)`", line.split("|")[1]):
                    assert code in known, (name, code)


def test_every_refusal_of_the_builder_and_optimizer_is_told_of() -> None:
    for skill, names in (
        (
            "benchmark-design",
            ("builder_rules.py", "builder_preconditions.py", "builder_freeze_rules.py", "builder_freeze.py"),
        ),
        ("agent-optimization", ("optimizer_rules.py", "edits.py", "admissible.py", "optimizer_tools.py")),
    ):
        told = text(skill) + text("agent-creation")
        for name in names:
            source = (ROOT / "core" / "evolution" / name).read_text()
            for code in re.findall(r'Refusal\(\s*"([a-z_]+)"', source):
                assert f"`{code}`" in told, (skill, name, code)


def test_nothing_is_promised_that_the_modules_lack() -> None:
    doors = set(
        re.findall(
            r'door\("([a-z_]+)"',
            "".join(Path(m.__file__ or "").read_text() for m in (builder_tools, builder_freeze, optimizer_tools)),
        )
    )
    plain = {"read_file", "write_file", "edit_file", "exec_command", "launch_target", "run_checks", "record_items"}
    for name in NAMES:
        for tool in re.findall(r"`?([a-z]+_[a-z_]+)\{", text(name)):
            assert tool in doors | plain, (name, tool)
