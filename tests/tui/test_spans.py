"""Text on its way to the screen: widths are exact, nothing is lost in wrapping, nothing unsafe gets through."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from tui.widgets.prompt import _with_short_paths
from tui.widgets.spans import clean, fit, middle, reflow, short, strip_of, two_sided, width_of, wrap

TEXTS = st.text(max_size=120)
WIDTHS = st.integers(min_value=1, max_value=60)
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(TEXTS, WIDTHS, st.booleans())
def test_fit_is_exact(text: str, width: int, right: bool) -> None:
    assert width_of(fit(text, width, right=right)) == width


@given(TEXTS, WIDTHS)
def test_short_and_middle_are_never_wider(text: str, width: int) -> None:
    assert width_of(short(text, width)) <= width
    assert width_of(middle(text, width)) <= width


@given(st.lists(st.tuples(TEXTS, st.just("plain")), max_size=4), WIDTHS)
def test_a_strip_has_its_width_and_nothing_unsafe(line: list[tuple[str, str]], width: int) -> None:
    strip = strip_of(tuple(line), width, Style())
    assert strip.cell_length == width
    assert not UNSAFE.search(strip.text)


@given(TEXTS, st.integers(min_value=4, max_value=60), st.integers(min_value=0, max_value=3))
def test_wrapping_loses_no_word_and_keeps_the_width(text: str, width: int, indent: int) -> None:
    lines = wrap(((text, "plain"),), width, indent)
    assert all(sum(width_of(part) for part, _ in line) <= width for line in lines)
    wrapped = "".join("".join(part for part, _ in line) for line in lines)
    assert clean(wrapped).replace(" ", "") == clean(text).replace(" ", "")


@given(TEXTS, st.text(max_size=10), WIDTHS)
def test_two_sides_fit(left: str, right: str, width: int) -> None:
    line = two_sided(((left, "plain"),), ((right, "plain"),), width)
    assert sum(width_of(text) for text, _ in line) <= max(width, width_of(right) + 1)


def test_reflow_joins_paragraphs_and_nothing_else() -> None:
    text = "# Title\nfirst\nsecond\n\n- item\n  goes on\n- next\n```\ncode\nmore\n```\n| a | b |"
    assert reflow(text) == [
        "# Title", "first second", "", "- item goes on", "- next", "```", "code", "more", "```", "| a | b |",
    ]  # fmt: skip


def test_a_long_path_loses_its_middle_and_the_words_around_it_stay() -> None:
    path = "/home/ada/" + "very/" * 30 + "agents/helper"
    (text, tone), hint = _with_short_paths(((f" {path} is opened read-only.", "bad"), ("  Open it again.", "dim")), 80)
    assert text.endswith("agents/helper is opened read-only.")
    assert len(text) + len(hint[0]) <= 80
    assert tone == "bad"
