"""Strategies and the choice of skills as parts of a Candidate (S3, S59, S81; EVOLUTION 3.5 no. 63)."""

from __future__ import annotations

import pytest

from core.evolution.edits import Edit, kind_of, problem

PATH = "strategies/shop/shop.late_parcel.yaml"


def text(version: int = 1, *, name: str = "shop.late_parcel", plan: str = "{run: look}") -> str:
    head = f"schema: strategy/v1\nid: {name}\nversion: {version}\npurpose: One.\ndomain: shop\nowner: someone\n"
    return f"{head}plan: {plan}\n"


STATE = {"AGENTS.md": b"# Role\n", "system_config.yaml": b"version: 1\n", PATH: text(3).encode()}


def code(*edits: Edit) -> str:
    refused = problem(edits, STATE, frozenset())
    return refused.code if refused else ""


@pytest.mark.meets("S3", "S59")
def test_a_new_strategy_and_the_next_version_of_one_are_taken() -> None:
    assert code(Edit("strategies/shop/shop.two.yaml", text(1, name="shop.two"))) == ""
    assert code(Edit(PATH, text(4))) == ""
    assert code(Edit(PATH, delete=True)) == ""
    assert kind_of(PATH) == "strategy"


def test_a_version_is_never_changed_in_place() -> None:
    for version in (3, 5):
        refused = problem([Edit(PATH, text(version, plan="{run: see}"))], STATE, frozenset())
        assert refused is not None
        assert refused.code == "strategy_version"
        assert "version 4" in refused.reason


@pytest.mark.meets("S81")
def test_a_fault_is_told_with_file_and_line() -> None:
    refused = problem([Edit(PATH, text(4, plan="{run: look, cal: x}"))], STATE, frozenset())
    assert refused is not None
    assert f"{PATH}:7:19: plan.cal" in refused.reason


@pytest.mark.parametrize(
    "path",
    [
        "strategies/shop/shop.late_parcel.release.yaml/",
        "strategies/bank.yaml",
        "strategies/shop/other.one.yaml",
        "strategies/shop/../shop/shop.x.yaml",
        "strategies/shop/shop.yaml",
        "strategies/.versions/shop.x/1.yaml",
    ],
)
def test_what_is_no_strategys_file_is_outside(path: str) -> None:
    assert code(Edit(path, text())) == "outside_surface"


def test_the_file_is_named_by_the_id() -> None:
    assert code(Edit("strategies/shop/shop.other.yaml", text())) == "strategy_invalid"


def test_who_chooses_skills_may_be_set() -> None:
    assert code(Edit("system_config.yaml", set={"skills.selection": "bm25", "skills.top_k": 3})) == ""
    assert code(Edit("system_config.yaml", set={"skills.selection": "luck"})) == "limit_range"
    assert code(Edit("system_config.yaml", set={"skills.top_k": 0})) == "limit_range"
    assert code(Edit("system_config.yaml", set={"skills.prompt": "x"})) == "outside_surface"
