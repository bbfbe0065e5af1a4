"""No identifier is left in what is stored, and the text stays useful (S98)."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategy.feedback.anonymise import PLACEHOLDER, Anonymiser, anonymise
from core.strategy.feedback.folding import fold

FIXTURES = Path(__file__).parents[2] / "fixtures" / "anonymise"
ROWS = [json.loads(line) for line in (FIXTURES / "identifiers.jsonl").read_text("utf-8").splitlines()]
CLEAN = (FIXTURES / "clean.txt").read_text("utf-8").splitlines()
PIECE = 5
"""So many characters of an identifier in a row are a leak."""


def leaks(identifier: str, text: str) -> str:
    """Return a piece of the identifier that a text still holds, "" where none is left."""
    left, wanted = (_bare(PLACEHOLDER.sub("\n", part)) for part in (text, identifier))
    size = min(PIECE, len(wanted))
    return next((wanted[at : at + size] for at in range(len(wanted) - size + 1) if wanted[at : at + size] in left), "")


def _bare(text: str) -> str:
    return re.sub(r"[^\w\n]|_", "", fold(text).text).casefold()


@pytest.mark.meets("S98")
def test_none_of_the_corpus_is_left() -> None:
    assert len({row["identifier"] for row in ROWS}) >= 200
    left = [(row["text"], anonymise(row["text"])) for row in ROWS if leaks(row["identifier"], anonymise(row["text"]))]
    assert left == []


def test_the_measure_of_a_leak_sees_one() -> None:
    assert all(leaks(row["identifier"], row["text"]) for row in ROWS)


@pytest.mark.meets("S98")
def test_what_is_no_identifier_stays() -> None:
    hit = [(line, anonymise(line)) for line in CLEAN if anonymise(line) != line]
    assert hit == []


@pytest.mark.meets("S98")
def test_the_rest_of_a_text_stays_and_one_identifier_has_one_placeholder() -> None:
    text = "我叫王小明，手机13812345678（或 +86 138-1234-5678），mail me@example.com. 订单 SF1234567890123 没到"
    assert anonymise(text) == "我叫<name-1>，手机<phone-1>（或 <phone-1>），mail <email-1>. 订单 <order-1> 没到"


def test_names_of_the_session_go_whole_and_in_parts() -> None:
    told = anonymise("alice SMITH ordered; Ms Smith called. 小明说王先生是王小明", ["Alice Smith", "王小明"])
    assert told == "<name-1> ordered; Ms <name-1> called. <name-2>说<name-2>是<name-2>"


def test_values_are_walked_and_what_keys_tell_is_known_in_texts() -> None:
    anonymiser = Anonymiser()
    value = {"user_id": "u-77ab", "order": {"order_id": "P-1001", "amount": 299, "paid": True}, "to": [13812345678]}
    anonymiser.learn(value)
    assert anonymiser.text("user u-77ab asks for p-1001") == "user <user-1> asks for <order-1>"
    assert anonymiser.value(value) == {
        "user_id": "<user-1>",
        "order": {"order_id": "<order-1>", "amount": 299, "paid": True},
        "to": ["<phone-1>"],
    }


def test_placeholders_that_a_text_brings_along_keep_their_meaning() -> None:
    assert anonymise("<phone-1> and 13812345678") == "<phone-1> and <phone-2>"
    assert "13812345678" not in anonymise("<phone-13812345678>")


separators = st.sampled_from(["", " ", "-", ".", "\u00a0", "\u2013"])
mobiles = st.from_regex(r"1[3-9][0-9]{9}", fullmatch=True)


@st.composite
def written(draw: st.DrawFn) -> tuple[str, str]:
    """A mobile number as somebody may write it, and its digits."""
    digits = draw(mobiles)
    separator = draw(separators)
    text = (
        draw(st.sampled_from(["", "+86", "0086", "86"]))
        + separator
        + separator.join([digits[:3], digits[3:7], digits[7:]])
    )
    wide = draw(st.booleans())
    return ("".join(chr(ord(c) + 0xFEE0) if "0" <= c <= "9" else c for c in text) if wide else text), digits


@pytest.mark.meets("S98")
@given(
    written(), st.sampled_from(["", "电话", "me: ", "(", "tel."]), st.sampled_from(["", "。", ", thanks", ")", "吧"])
)
@settings(max_examples=300, deadline=None)
def test_a_phone_is_found_however_it_is_written(number: tuple[str, str], before: str, behind: str) -> None:
    text, digits = number
    assert leaks(digits, anonymise(before + text + behind)) == ""


pieces = st.one_of(
    st.text(alphabet="0123456789 .-+()xX@<>abAB_/:：号，\u0661\uff11\u200b\n", max_size=12),
    st.sampled_from([row["text"] for row in ROWS] + CLEAN),
    st.text(max_size=6),
)


@pytest.mark.meets("S98")
@given(st.lists(pieces, max_size=4).map("".join))
@settings(max_examples=300, deadline=None)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = anonymise(text)
    assert anonymise(once) == once


@pytest.mark.meets("S98")
@given(st.lists(st.sampled_from(ROWS), min_size=2, max_size=4), st.sampled_from([" ", "，", " and ", "; ", "\n", ". "]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_identifiers_beside_each_other_leave_none(rows: list[dict[str, str]], between: str) -> None:
    told = anonymise(between.join(row["text"] for row in rows))
    assert [row["identifier"] for row in rows if row["kind"] != "name" and leaks(row["identifier"], told)] == []


@pytest.mark.parametrize("piece", ["1 ", "a@", "A1", "0", "1-", "(at) ", "order ", "my name is "])
def test_a_text_made_long_on_purpose_takes_no_time(piece: str) -> None:
    """The work grows with the length, not with its square: eight times the text takes well below 64 times as long."""

    def spent(count: int) -> float:
        began = time.process_time()
        anonymise(piece * count)
        return time.process_time() - began

    short = min(spent(600) for _ in range(3))
    assert spent(4800) < 24 * short + 0.05
    assert anonymise(piece * 30_000).endswith(" [cut]")
