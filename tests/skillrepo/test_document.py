"""The one reader of SKILL.md: three dialects, never a refusal in reading, strict in writing (DECISIONS 23)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.foundation.errors import UsageError
from core.skillrepo.document import installed, read_text, write_text

CURATED = "---\nname: tidy-rows\ndescription: Remove rows that occur twice.\n---\n\n# Tidy\n"


def test_two_keys_are_curated() -> None:
    document = read_text(CURATED, directory="tidy-rows")
    assert (document.dialect, document.name, document.valid) == ("curated", "tidy-rows", True)
    assert document.body.strip() == "# Tidy"


def test_more_known_keys_are_agent_skills() -> None:
    text = CURATED.replace("\n---\n\n", "\nlicense: MIT\nallowed-tools: read_file\n---\n\n")
    assert read_text(text).dialect == "agent-skills"


def test_foreign_keys_are_lenient_and_kept() -> None:
    document = read_text(CURATED.replace("\n---\n\n", "\nshort_description: Tidy\nversion: 3\n---\n\n"))
    assert document.dialect == "lenient"
    assert document.fields["version"] == "3"


def test_an_unquoted_colon_is_named_with_its_place_and_a_suggestion() -> None:
    """FAULTS: frontmatter parse."""
    document = read_text("---\nname: tidy-rows\ndescription: Use when: rows occur twice\n---\n")
    assert document.description == "Use when: rows occur twice"
    assert not document.valid
    assert any(
        'description: "Use when: rows occur twice"' in str(found) and found.line == 3 for found in document.diagnostics
    )


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"\xef\xbb\xbf" + CURATED.encode(), "byte order mark"),
        (CURATED.replace("\n", "\r\n").encode(), "CR line ends"),
        (CURATED.replace("twice", "tw\xeece").encode("latin-1"), "not UTF-8"),
        (CURATED.replace("twice", "tw\0ice").encode(), "control character"),
        (CURATED.replace("twice", "\x1b]0;x\x07").encode(), "control character"),
        (b"# no head\n", "front matter"),
        (b"---\nname: x\n", "not closed"),
        (b"", "front matter"),
        (b"---\n- a\n---\n", "not a mapping"),
        (CURATED.replace("tidy-rows", "Tidy Rows").encode(), "lower-case"),
        (CURATED.replace("Remove rows that occur twice.", "x" * 1025).encode(), "longer"),
    ],
)
def test_what_is_off_is_said_and_the_rest_is_read(raw: bytes, word: str) -> None:
    assert any(word in str(found) for found in read_text(raw).diagnostics)


def test_the_directory_wins_over_the_name() -> None:
    document = read_text(CURATED, directory="other")
    assert document.name == "other"
    assert any("differs from its directory" in str(found) for found in document.diagnostics)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    for text in (raw, b"---\n" + raw + b"\n---\n"):
        lines = text.count(b"\n") + text.count(b"\r") + 1
        assert all(1 <= found.line <= lines and found.column >= 1 for found in read_text(text).diagnostics)


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=80), st.text("abc #\n", max_size=40))
def test_what_is_written_reads_back(description: str, body: str) -> None:
    document = read_text(write_text("a-skill", description, body), directory="a-skill")
    assert document.description == description
    assert document.valid


def test_a_strict_writer_refuses_with_the_reason() -> None:
    with pytest.raises(UsageError, match="lower-case"):
        write_text("Not A Name", "x", "y")
    with pytest.raises(UsageError, match="no description"):
        write_text("a-skill", "", "y")


def test_installed_lists_directories_that_hold_a_skill(tmp_path: Path) -> None:
    for name in ("b-skill", "a-skill", ".hidden", "empty"):
        (tmp_path / name).mkdir()
    for name in ("b-skill", "a-skill", ".hidden"):
        (tmp_path / name / "SKILL.md").write_text(write_text("a-skill", "x", "y"), encoding="utf-8")
    assert [skill.name for skill in installed(tmp_path)] == ["a-skill", "b-skill"]
    assert installed(tmp_path / "missing") == ()
