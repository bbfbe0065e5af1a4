"""YAML 1.2 core against the traps of the 1.1 reader underneath, and writing that both understand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from core.state import yaml12
from core.state.yaml12 import YamlError, compose, construct, load
from core.state.yaml_text import flow, folded, literal, number, scalar

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("1e-7", 1e-7),
        ("5e-05", 5e-05),
        ("5e3", 5000.0),
        ("yes", "yes"),
        ("off", "off"),
        ("No", "No"),
        ("none", "none"),
        ("010", 10),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("0x10", 16),
        ("12:30:45", "12:30:45"),
        ("~", None),
        ("", None),
        ("Null", None),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        (".5", 0.5),
        ("1.", 1.0),
        ("-.inf", -math.inf),
        ("1e400", math.inf),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("!own 5", "5"),
        ("!!timestamp 2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
    ],
)
def test_scalars_are_typed_by_the_core_schema(written: str, read: object) -> None:
    value = load(f"k: {written}\n")["k"]
    assert value == read
    assert type(value) is type(read)


def test_nan_loads_as_a_float_for_the_caller_to_refuse() -> None:
    assert math.isnan(load("k: .nan")["k"])


def test_a_merge_key_is_a_plain_key() -> None:
    assert load("<<: {a: 1}\nb: 2") == {"<<": {"a": 1}, "b": 2}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1),
        ("x: {a: 1, a: 2}", 1, 11),
        ("a: 1\n---\nb: 1", 2, 1),
        ("a: *nowhere", 1, 4),
        ("a: &x [*x]", 1, 4),
        ("a:\n\tb: 1", 2, 1),
        ("? [a]\n: b", 1, 3),
        ("a: !!int x", 1, 4),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_what_is_refused_is_refused_with_its_place(text: str, line: int, column: int, exact: bool) -> None:
    with pytest.raises(YamlError) as refused:
        construct(compose(text, exact=exact))
    assert (refused.value.line, refused.value.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000 + "a",
        "\n".join(" " * depth + "a:" for depth in range(1500)),
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)),
    ],
    ids=["brackets", "dashes", "indents", "aliases"],
)
def test_texts_that_aim_at_the_stack_or_the_memory_are_refused(text: str) -> None:
    with pytest.raises(YamlError):
        load(text)


def test_control_characters_and_foreign_line_ends_stay_text() -> None:
    text = "a: red \x1b[31m next \x85 line \u2028 x\nb: 1\n"
    assert load(text) == {"a": "red \x1b[31m next \x85 line \u2028 x", "b": 1}


def test_a_byte_order_mark_and_crlf_are_fine() -> None:
    assert load("\ufeffa: 1\r\nb: >-\r\n  x\r\n  y\r\n") == {"a": 1, "b": "x y"}


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_scalar_reads_back_in_both_versions_inside_and_outside_brackets(text: str) -> None:
    written = scalar(text)
    assert "\n" not in written
    assert load(f"k: {written}\nz: [{written}, {{ a: {written} }}]\n") == {"k": text, "z": [text, {"a": text}]}
    old = yaml.safe_load(f"k: {written}\n")["k"]
    assert old == text or not isinstance(old, str)  # only a full timestamp may come back as a date
    if not isinstance(old, str):
        assert text.count(":") >= 2
        assert "T" in text


@pytest.mark.parametrize("text", ["yes", "5e3", "on", "y", "=", "12:30", "0b1", "1_0", "2026-01-01", "~", "null", "-"])
def test_what_one_reader_would_retype_is_quoted(text: str) -> None:
    assert scalar(text) == f'"{text}"'


@settings(max_examples=300, deadline=None)
@given(TEXTS | st.lists(st.text("ab :#-'\"\u00e9\u4e2d", max_size=9), max_size=30).map(" ".join))
def test_folded_and_literal_texts_read_back_to_the_letter(text: str) -> None:
    for written in (folded(text, 6), literal(text, 6)):
        document = f"k:\n  - s: {written}\n    z: 1\n"
        assert load(document) == {"k": [{"s": text, "z": 1}]}
        assert construct(compose(document, exact=True)) == {"k": [{"s": text, "z": 1}]}


def test_a_long_text_is_folded_into_lines() -> None:
    text = "word " * 60 + "end"
    written = folded(text, 4)
    assert written.startswith(">-\n    word")
    assert max(map(len, written.split("\n"))) <= 104


@given(st.floats(min_value=0, max_value=1e15, allow_nan=False))
def test_numbers_have_no_exponent_and_lose_nothing(value: float) -> None:
    written = number(value)
    assert "e" not in written
    assert float(load(f"k: {written}")["k"]) == value


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=8,
    )
)
def test_flow_values_read_back(value: Any) -> None:
    assert load("k: " + flow(value)) == {"k": value}


def test_the_fast_and_the_exact_reader_agree_on_the_sample_files() -> None:
    from tests.state.golden import FIXTURES

    for path in sorted(FIXTURES.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        try:
            fast = yaml12.construct(compose(text))
        except YamlError:
            with pytest.raises(YamlError):
                construct(compose(text, exact=True))
            continue
        assert construct(compose(text, exact=True)) == fast
