"""Comparing lines: hunks lead from one text to the other, pairs hold every line, words are exactly what differs."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.state.hunks import DiffLine, Hunk, hunks, marks, paired, partners
from core.state.linematch import common
from core.state.statediff import diff, patch
from core.state.words import Spans, changed

LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "\n", "a b\n", "x = 1\n", "x = 2\n", "\u6f22\u5b57\n", "e\r\n"]), max_size=14
)
TEXTS = st.builds(lambda lines, tail: [*lines, *tail], LINES, st.sampled_from([[], ["end"], ["a"]]))


def applied(old: list[str], parts: tuple[Hunk, ...]) -> list[str]:
    """Return what the hunks make of `old`, holding every line of theirs against it."""
    new: list[str] = []
    at = 0
    for part in parts:
        start = part.old[0] - 1 if part.old[1] else part.old[0]
        new += old[at:start]
        at = start
        for line in part.lines:
            whole = line.text + ("\n" if line.ended else "")
            if line.sign != "+":
                assert old[at] == whole
                assert line.old == at + 1
                at += 1
            if line.sign != "-":
                new.append(whole)
                assert line.new == len(new)
        assert at - start == part.old[1]
    return new + old[at:]


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_the_hunks_lead_from_the_left_side_to_the_right(old: list[str], new: list[str], context: int) -> None:
    parts = hunks(old, new, context=context)
    assert applied(old, parts) == new
    assert (parts == ()) == (old == new)


@given(TEXTS, TEXTS)
def test_common_lines_are_common_in_order_and_do_not_overlap(old: list[str], new: list[str]) -> None:
    at = there = 0
    for one, other, size in common(old, new):
        assert size > 0
        assert one >= at
        assert other >= there
        assert old[one : one + size] == new[other : other + size]
        at, there = one + size, other + size
    assert at <= len(old)
    assert there <= len(new)


@given(TEXTS, TEXTS)
def test_side_by_side_rows_hold_every_line_once_and_in_order(old: list[str], new: list[str]) -> None:
    for part in hunks(old, new):
        rows = paired(part)
        assert [row[0] for row in rows if row[0]] == [line for line in part.lines if line.sign != "+"]
        assert [row[1] for row in rows if row[1]] == [line for line in part.lines if line.sign != "-"]
        for left, right in rows:
            assert left or right
            if left and right and (left.sign == " " or right.sign == " "):
                assert left is right


WORDS = st.text(st.sampled_from("ab1 ._-\u6f22\u5b57\t("), max_size=30)


def without(text: str, spans: Spans) -> str:
    kept, at = [], 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


@given(WORDS, WORDS)
def test_what_is_left_of_two_lines_without_the_changed_words_is_the_same(old: str, new: str) -> None:
    gone, come = changed(old, new)
    assert without(old, gone) == without(new, come)
    assert bool(gone or come) == (old != new)


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ("max_turns: 8", "max_turns: 20", ["8"], ["20"]),
        ("read the file first", "read the whole file first", [], ["whole "]),
        ("\u8aad\u3080\u524d\u306b\u66f8\u304f", "\u8aad\u3080\u5f8c\u306b\u66f8\u304f", ["\u524d"], ["\u5f8c"]),
        ("alpha beta", "12 34", ["alpha beta"], ["12 34"]),
    ],
)
def test_the_words_that_differ(old: str, new: str, gone: list[str], come: list[str]) -> None:
    left, right = changed(old, new)
    assert [old[start:end] for start, end in left] == gone
    assert [new[start:end] for start, end in right] == come


def test_highlights_mark_the_changed_word_of_a_pair_and_nothing_of_a_line_that_is_new() -> None:
    (part,) = hunks(["one\n", "turns 8\n", "two\n"], ["one\n", "turns 20\n", "quite another thing\n", "two\n"])
    found = {line.text: marks(line, other) for line, other in partners(part).items()}
    marked = {text: spans for text, spans in found.items() if spans}
    assert marked == {"turns 8": ((6, 7),), "turns 20": ((6, 8),)}


def test_alike_lines_stand_beside_each_other() -> None:
    old = ["keep the header line\n", "sort by name\n"]
    new = ["something new altogether\n", "keep the header row\n", "sort by date\n"]
    (part,) = hunks(old, new)
    texts = [(left.text if left else None, right.text if right else None) for left, right in paired(part)]
    assert texts == [
        (None, "something new altogether"),
        ("keep the header line", "keep the header row"),
        ("sort by name", "sort by date"),
    ]


def test_a_missing_newline_is_a_difference_and_told() -> None:
    (part,) = hunks(["a\n", "b\n"], ["a\n", "b"])
    assert [(line.sign, line.ended) for line in part.lines] == [(" ", True), ("-", True), ("+", False)]
    assert part.text().endswith("+b\n\\ No newline at end of file\n")


@pytest.mark.parametrize("kind", ["shuffled", "repeated", "edited", "apart"])
def test_ten_thousand_lines_are_compared_in_seconds(kind: str) -> None:
    """The worst that may come: a file turned over, one line again and again, many small edits, nothing in common."""
    rng = random.Random(7)
    old = [f"line {number}\n" for number in range(10_000)]
    new = list(old)
    if kind == "shuffled":
        rng.shuffle(new)
    elif kind == "repeated":
        old, new = [f"{n % 3}\n" for n in range(10_000)], [f"{n % 4}\n" for n in range(10_000)]
    elif kind == "edited":
        new = [f"{line[:-1]}!\n" if rng.random() < 0.2 else line for line in old]
    else:
        new = [f"other {number}\n" for number in range(10_000)]
    begun = time.monotonic()
    parts = hunks(old, new)
    assert applied(old, parts) == new
    assert time.monotonic() - begun < 20  # a guard against minutes, not a measurement


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch(1)")
def test_patch_takes_what_is_exported(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for root, files in (
        (
            before,
            {"AGENTS.md": "one\ntwo\nthree\n", "skills/a b/SKILL.md": "x\n", "gone.md": "bye\n", "end.md": "a\nb"},
        ),
        (
            after,
            {"AGENTS.md": "one\n2\nthree\n", "skills/a b/SKILL.md": "x\ny\n", "come.md": "hi\n", "end.md": "a\nb\n"},
        ),
    ):
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    text = patch(diff(before, after))
    subprocess.run(["patch", "-p1", "-s", "-d", before], input=text.encode(), check=True, timeout=20)
    assert diff(before, after) == ()


def test_equal_lines_elsewhere_are_not_taken_for_each_other() -> None:
    part = hunks(["a\n"], ["a\n", "a\n"])[0]
    assert [line for line in part.lines if line.sign == "+"] == [DiffLine("+", "a", None, 2)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("version: 3\n", "version: 4\n", (3, 4)),
        ("version: 4  # raised by hand\r\n", "version: 3\r\n", (4, 3)),
        ("", "version: 2\n", (1, 2)),
        ("version: 3\nmax_turns: 9\n", "version: 4\nmax_turns: 10\n", None),
        ("version: 3\n", "version: four\n", None),
        ("tools:\n  version: 3\n", "tools:\n  version: 4\n", None),
        ("version: 3\nversion: 5\n", "version: 4\n", None),
    ],
)
def test_a_version_number_that_was_raised_is_told_from_a_change(
    tmp_path: Path, before: str, after: str, told: tuple[int, int] | None
) -> None:
    for side, text in (("a", before), ("b", after)):
        for name in ("system_config.yaml", "notes.yaml"):
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / name).write_bytes(f"system_prompt: x\n{text}".encode())
    notes, config = diff(tmp_path / "a", tmp_path / "b")
    assert config.only_version == told
    assert bool(config.note) is (told is not None)
    assert notes.note == ""
