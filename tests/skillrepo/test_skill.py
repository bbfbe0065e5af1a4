"""Curated SKILL.md, read strictly and written to read back: two keys, byte-safe, errors with a place (CURATION K1)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.foundation.errors import UsageError
from core.skillrepo.document import read_curated
from core.skillrepo.skill import problem_of, read, write

GOOD = "---\nname: Put it hot\ndescription: Use when a task wants it hot.\n---\n\n# Workflow\n1. Heat it.\n"


@pytest.mark.meets("K1")
def test_a_curated_skill_is_read_whole() -> None:
    skill = read(GOOD)
    assert (skill.title, skill.description) == ("Put it hot", "Use when a task wants it hot.")
    assert skill.body == "# Workflow\n1. Heat it."
    assert skill.content == GOOD
    assert read(write(skill.title, skill.description, skill.body).content) == skill


@pytest.mark.meets("K1")
@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        (GOOD.replace("\n---\n\n", "\ntags: hot\n---\n\n"), "4:1", "'tags'"),
        (GOOD.replace("\n---\n\n", "\nlicense: MIT\n---\n\n"), "4:1", "'license'"),
        (GOOD.replace("description: Use", "summary: Use"), "3:1", "'summary'"),
        (GOOD.replace("description: Use when a task wants it hot.\n", ""), "1:1", "no description"),
        (GOOD.replace("name: Put it hot\n", ""), "1:1", "title is empty"),
        (GOOD.replace("Put it hot", "x" * 65), "2:7", "65 characters"),
        (GOOD.replace("Put it hot", "'?'"), "2:7", "no word"),
        (GOOD.replace("Put it hot", "12"), "2:7", "no text"),
        (GOOD.replace("Put it hot", "[a, b]"), "2:7", "no text"),
        (GOOD.replace("Put it hot", "a\nname: b"), "3:1", "twice"),
        (GOOD.replace("Use when a", "Use when: a"), "3:22", "quote it"),
        (GOOD.replace("Use when a task wants it hot.", '"\\x1b[31m red"'), "3:14", "control character ␛"),
        (GOOD.replace("Use when a task wants it hot.", '"\\0"'), "3:14", "control character ␀"),
        (GOOD.replace("task", "t\0sk"), "3:26", "control character ␀"),
        (GOOD.replace("task", "x" * 1024), "3:1", "longer than 1024"),
        (GOOD.replace("Heat", "H\x9beat"), "7:5", "control character"),
        (GOOD[4:], "1:1", "front matter"),
        (GOOD.replace("---\n\n", ""), "1:1", "not closed"),
        (GOOD.partition("# W")[0], "4:1", "no body"),
        ("", "1:1", "front matter"),
    ],
)
def test_what_a_strict_reader_refuses_it_refuses_with_line_column_and_reason(text: str, place: str, word: str) -> None:
    with pytest.raises(UsageError, match=re.escape(place)) as refused:
        read(text)
    assert word in str(refused.value)
    assert problem_of(text)


@pytest.mark.meets("K1")
@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (GOOD.replace("task", "täsk").encode("latin-1"), "3:26"),
        (GOOD.replace("Heat", "é\xff").encode("latin-1"), "7:4"),
        (GOOD.encode("utf-16"), "1:1"),
        (b"---\nname: \xed\xa0\x80\n---\n", "2:7"),
    ],
)
def test_bytes_that_are_no_utf_8_have_a_place_too(raw: bytes, place: str) -> None:
    with pytest.raises(UsageError, match=place):
        read(raw)


def test_a_byte_order_mark_and_carriage_returns_are_taken_off() -> None:
    raw = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    assert read(raw) == read(GOOD)
    places = [(found.line, found.column, found.severity) for found in read_curated(raw).diagnostics]
    assert places == [(1, 1, "warning"), (1, 4, "warning")]


@pytest.mark.meets("K1")
@given(st.text(max_size=70), st.text(max_size=60), st.text(max_size=60))
def test_what_is_written_reads_back_or_is_refused(title: str, description: str, body: str) -> None:
    try:
        skill = write(title, description, body)
    except UsageError:
        return
    assert read(skill.content) == skill
    assert (skill.title, skill.description) == (title, description.strip())


@given(st.text("abZ 1-", min_size=1, max_size=30).map(str.strip).filter(lambda t: any(c.isalnum() for c in t)))
def test_plain_titles_are_never_refused(title: str) -> None:
    assert write(title, 'Use when: "it" isn\'t #1, {so}.', "Do it.").title == title


@pytest.mark.meets("K1")
@given(
    st.lists(
        st.sampled_from(["---\n", "name: ",
                         "description: ", "a b", "\n", ": ", '"', "'", "|", ">-", "\\x1b", "\t", "- ",
                         "{", "[", "&a ", "*a", "!!int ", "# W", "\ud800", "\0", "\r", "\ufeff", "é"]),
        max_size=25,
    ).map("".join)
    | st.binary(max_size=80)
)  # fmt: skip
def test_no_text_breaks_the_strict_reader(text: str | bytes) -> None:
    if problem := problem_of(text):
        assert re.match(r"\d+:\d+: ", problem)
        return
    skill = read(text)
    assert skill.title
    assert skill.description
    assert skill.body
