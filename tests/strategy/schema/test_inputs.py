"""Inputs by their role, outputs by their contract (S47 to S50)."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategy.schema.directory import read_schema
from core.strategy.schema.inputs import check_inputs
from core.strategy.schema.outputs import check_output, contract_fault

SEARCH = """
skill: search_product
side_effects: read
idempotent: true
signature:
  inputs:
    query: {type: string, role: user_intent_phrase}
    category_filter: {type: string, role: domain_constraint, optional: true, enum: [phones, laptops]}
    price_range: {type: range, role: business_rule, optional: true, min: 0, max: 10000}
  outputs: {type: object, required: [items], properties: {items: {type: array}}}
context: {needs: [], provides: []}
failure_modes: []
"""
SCHEMA, _ = read_schema(SEARCH, "search_product/skill.yaml")


def codes(arguments: dict[str, Any], said: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(wrong.path, wrong.code) for wrong in check_inputs(SCHEMA, arguments, said=said)]


@pytest.mark.meets("S47", "S48")
def test_the_accounts_signature_loads_with_its_three_roles() -> None:
    assert [one.role for one in SCHEMA.signature.inputs.values()] == [
        "user_intent_phrase",
        "domain_constraint",
        "business_rule",
    ]
    arguments = {"query": "phone", "category_filter": "phones", "price_range": {"min_price": 0, "max_price": 10000}}
    assert check_inputs(SCHEMA, arguments) == ()
    assert check_inputs(SCHEMA, {"query": "phone", "price_range": [0, 500]}) == ()


@pytest.mark.meets("S49")
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({}, [("query", "MISSING_INPUT")]),
        ({"query": None}, [("query", "MISSING_INPUT")]),
        ({"query": "x", "colour": "red"}, [("colour", "UNKNOWN_INPUT")]),
        ({"query": 3}, [("query", "INPUT_TYPE")]),
        ({"query": " "}, [("query", "MISSING_INPUT")]),
        ({"query": "x", "category_filter": "boats"}, [("category_filter", "INPUT_VOCABULARY")]),
        ({"query": "x", "price_range": {"min_price": -1, "max_price": 5}}, [("price_range", "INPUT_RANGE")]),
        ({"query": "x", "price_range": [0, 10001]}, [("price_range", "INPUT_RANGE")]),
        ({"query": "x", "price_range": [9, 3]}, [("price_range", "INPUT_RANGE")]),
        ({"query": "x", "price_range": [1, "2"]}, [("price_range", "INPUT_TYPE")]),
        ({"query": "x", "price_range": [0, float("nan")]}, [("price_range", "INPUT_TYPE")]),
        ({"query": "x", "price_range": {"min_a": 1, "min_b": 2}}, [("price_range", "INPUT_TYPE")]),
    ],
)
def test_each_role_is_checked_in_its_own_way(arguments: dict[str, Any], found: list[tuple[str, str]]) -> None:
    assert codes(arguments) == found


@pytest.mark.meets("S49")
def test_a_users_phrase_is_what_the_user_said() -> None:
    said = ("Hello", "I want a cheap iPhone, please!")
    assert codes({"query": "cheap iphone"}, said) == []
    assert codes({"query": "I want a cheap iPhone, please!"}, said) == []
    assert codes({"query": "most expensive iphone"}, said) == [("query", "INPUT_NOT_SAID")]


def test_reasons_say_what_would_do() -> None:
    wrong = check_inputs(SCHEMA, {"query": "x", "category_filter": "boats", "price_range": [0, 99999]})
    assert [str(one) for one in wrong] == [
        "category_filter: is 'boats'; there are phones, laptops",
        "price_range: is 0 to 99999, not 0 to 10000",
    ]


@given(st.dictionaries(st.sampled_from(["query", "category_filter", "price_range", "z"]), st.from_type(object)))
def test_no_arguments_break_the_check(arguments: dict[str, Any]) -> None:
    check_inputs(SCHEMA, arguments, said=("x",))


CONTRACT = {
    "type": "object",
    "required": ["status", "amount"],
    "properties": {
        "status": {"enum": ["ok", "rejected"]},
        "amount": {"type": "number"},
        "number": {"type": "string", "pattern": "^(JD|SF)[0-9]+$"},
        "due": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "slow": {"type": "string", "pattern": "(a+)+$"},
    },
}


@pytest.mark.meets("S50")
@pytest.mark.parametrize(
    ("output", "paths"),
    [
        ({"status": "ok", "amount": 3}, []),
        ({"status": "ok"}, ["output"]),
        ({"status": "fine", "amount": "3"}, ["status", "amount"]),
        (None, ["output"]),
        ({"status": "ok", "amount": 3, "number": "XX1"}, ["number"]),
        ({"status": "ok", "amount": 3, "due": "soon", "at": "2026-13-01T00:00:00Z"}, ["due", "at"]),
        ({"status": "ok", "amount": 3, "due": "2026-12-01", "at": "2026-12-01T00:00:00Z"}, []),
    ],
)
def test_outputs_are_checked_by_their_contract(output: Any, paths: list[str]) -> None:
    assert sorted(wrong.path for wrong in check_output(CONTRACT, output)) == sorted(paths)


def test_no_pattern_takes_long() -> None:
    began = time.process_time()
    assert check_output(CONTRACT, {"status": "ok", "amount": 1, "slow": "a" * 1_999 + "b"})
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("contract", "path"),
    [
        ({"type": "objekt"}, ("type",)),
        ({"properties": {"a": {"$ref": "https://example.org/x.json"}}}, ("properties", "a", "$ref")),
        ({"properties": {"a": {"pattern": "("}}}, ("properties", "a", "pattern")),
    ],
)
def test_what_is_no_contract_is_named(contract: dict[str, Any], path: tuple[str, ...]) -> None:
    fault = contract_fault(contract)
    assert fault is not None
    assert fault[0] == path
    with pytest.raises(ValueError, match=path[-1].replace("$", r"\$") if path else ""):
        check_output(contract, {})
