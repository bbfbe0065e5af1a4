"""JSON is read strictly everywhere: what is no finite number, too deep or no UTF-8 is a ValueError and nothing else."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.foundation.strict_json import dumps, is_number, parse

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "text",
    ["NaN", "-Infinity", "1e400", "1" + "0" * 320, "9" * 5_000, DEEP, '{"a": ' + DEEP, "", b"\xff", b"\0" * 9],
    ids=lambda text: repr(text)[:12],
)  # fmt: skip
def test_what_no_number_or_text_can_be_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


@pytest.mark.parametrize("more", ["", "x" * 400])
def test_integers_are_read_up_to_what_a_float_holds_in_a_text_of_any_length(more: str) -> None:
    for number in (2**1023, -(2**1023), 10**307 - 1):
        assert parse(f'[{number},"{more}"]') == [number, more]
    for beyond in (2**1023 + 1, -(2**1023) - 1, 10**308 - 1):
        for text in (f"{beyond}", f"[{beyond}]", f'[{beyond},"{more}"]'):
            with pytest.raises(ValueError, match="out of range"):
                parse(text)


def test_a_key_that_is_there_twice_is_refused_where_asked() -> None:
    assert parse('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="'a' is there twice"):
        parse('[{"b": 0, "a": 1, "a": 2}]', unique=True)


@pytest.mark.parametrize("value", [True, False, math.nan, math.inf, 10**400, -(10**400), "1", None])
def test_what_is_no_number(value: object) -> None:
    assert not is_number(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=())),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)  # fmt: skip
def test_what_is_written_reads_back_and_can_be_written(value: object) -> None:
    raw = dumps(value).encode("utf-8")
    assert json.loads(json.dumps(value)) == parse(raw)
