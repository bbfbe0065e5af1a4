"""Arguments are read by the schema, and what is off is said so that a model can mend it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.arguments import ArgumentsError, read_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "rate": {"type": "number"},
        "deep": {"type": "boolean"},
        "level": {"type": "string", "enum": ["low", "high"]},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"points": {"type": "number"}}, "required": ["points"]},
        },
        "either": {"type": ["string", "null"]},
    },
    "required": ["name"],
}


def test_good_arguments_come_through() -> None:
    given_ = {"name": "x", "count": 2.0, "rate": 1, "deep": False, "items": [{"points": 0.5}], "extra": [1]}
    read = read_arguments(json.dumps(given_), SCHEMA)
    assert read == given_
    assert isinstance(read["count"], int)


def test_null_is_left_out_where_it_may_be() -> None:
    assert read_arguments('{"name": "x", "count": null}', SCHEMA) == {"name": "x"}
    assert read_arguments("", {"type": "object"}) == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{}", "missing: name"),
        ('{"name": null}', "name must be string, not null"),
        ('{"name": "x", "count": true}', "count must be integer, not boolean"),
        ('{"name": "x", "count": 1.5}', "count must be integer, not number"),
        ('{"name": "x", "deep": "yes"}', "deep must be boolean, not string"),
        ('{"name": "x", "level": "mid"}', 'level must be one of "low", "high"'),
        ('{"name": "x", "items": [{"points": 1}, {}]}', "missing: items[1].points"),
        ('{"name": "x", "items": {}}', "items must be array, not object"),
        ('"x"', "must be a JSON object, not string"),
        ("{'name': 'x'}", "not valid JSON"),
        ('{"name": "x"', "not valid JSON"),
    ],
)
def test_bad_arguments_are_told(arguments: str, said: str) -> None:
    with pytest.raises(ArgumentsError, match=said.replace("[", r"\[").replace("(", r"\(")):
        read_arguments(arguments, SCHEMA)


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=20).map(json.dumps))
def test_nothing_but_an_arguments_error_comes_out(text: str) -> None:
    with contextlib.suppress(ArgumentsError):
        assert "name" in read_arguments(text, SCHEMA)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "1" + "0" * 350, "9" * 5000])
def test_a_number_is_finite(number: str) -> None:
    with pytest.raises(ArgumentsError):
        read_arguments(f'{{"name": "x", "rate": {number}}}', SCHEMA)


def test_a_key_that_is_there_twice_is_told() -> None:
    with pytest.raises(ArgumentsError, match="'rate' is there twice"):
        read_arguments('{"name": "x", "rate": 1, "rate": 100}', SCHEMA)


def test_half_a_character_does_not_get_further() -> None:
    read = read_arguments('{"name": "a\\ud800b", "items": [{"points": 1, "\\udfff": "\\ud83d\\ude00"}]}', SCHEMA)
    assert read == {"name": "a\ufffdb", "items": [{"points": 1, "\ufffd": "\U0001f600"}]}
    json.dumps(read, ensure_ascii=False).encode("utf-8")
