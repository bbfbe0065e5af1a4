"""The lean output paints the same screen as Textual's own, cell by cell, and says nothing twice (TERMINAL 3.8)."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.lean import CLEAR, PLAIN, Look, Shown, look_of

COLUMNS, ROWS = 20, 5
SIZE = (COLUMNS, ROWS)
ENTER = "\x1b[?1049h"

_codes = st.sampled_from(
    ["0", "1", "2", "7", "31", "32", "91", "39", "49", "39;49", "1;31", "38;5;200", "48;2;1;2;3", "44", "4", "3;9",
     "107", "1;38;2;9;8;7;48;5;3"]
)  # fmt: skip
_texts = st.text(st.sampled_from("abc  ─●xyz漢字é"), min_size=1, max_size=12)


@st.composite
def frames(draw: st.DrawFn) -> str:
    """A frame as Textual writes one: runs of styled text at places, and the cursor's place at the end."""
    out = ""
    for _ in range(draw(st.integers(1, 5))):
        x, y = draw(st.integers(0, COLUMNS - 1)), draw(st.integers(1, ROWS))
        out += f"\x1b[{y};{x + 1}H"
        left = COLUMNS - x
        for _ in range(draw(st.integers(0, 3))):
            text = draw(_texts)
            while cell_len(text) > left:
                text = text[:-1]
            left -= cell_len(text)
            if text:
                out += f"\x1b[{draw(_codes)}m{text}\x1b[0m" if draw(st.booleans()) else text
        out += draw(st.sampled_from(["", "\n"])) if y < ROWS else ""
    return out + "\x1b[1;1H"


class Eye:
    """A terminal that is looked at: characters, colours and styles of every cell."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.screen.set_mode(pyte.modes.DECAWM)
        self._stream = pyte.Stream(self.screen)

    def feed(self, output: str) -> None:
        self._stream.feed(output)

    def cells(self) -> list[list[object]]:
        return [[self.screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]


@given(st.lists(frames(), min_size=1, max_size=6), st.data())
def test_both_paint_the_same_cells(painted: list[str], data: st.DataObject) -> None:
    stock, lean, shown = Eye(), Eye(), Shown()
    lean.feed(shown.sent(ENTER, SIZE))
    for frame in painted:
        if data.draw(st.integers(0, 5)) == 0:
            shown.forget()
        stock.feed(frame)
        lean.feed(shown.sent(frame, SIZE))
        assert stock.cells() == lean.cells()


@given(st.lists(st.sampled_from(["plain", "─●", "漢字", " "]), min_size=1, max_size=5), _codes)
def test_what_is_shown_is_not_sent_again(texts: list[str], codes: str) -> None:
    frame = (
        "".join(f"\x1b[{y};3H\x1b[{codes}m{text}\x1b[0m left\n" for y, text in enumerate(texts[:4], 1)) + "\x1b[1;1H"
    )
    shown = Shown()
    shown.sent(ENTER, SIZE)
    shown.sent(frame, SIZE)
    assert shown.sent(frame, SIZE) == ""


def test_only_the_cells_that_differ_are_sent() -> None:
    shown = Shown()
    shown.sent(ENTER, SIZE)
    shown.sent("\x1b[2;1H\x1b[31mscore 12.50 of 99\x1b[0m\x1b[1;1H", SIZE)
    assert shown.sent("\x1b[2;1H\x1b[31mscore 13.50 of 99\x1b[0m\x1b[1;1H", SIZE) == "\x1b[2;8H\x1b[31m3\x1b[m\x1b[1;1H"


def test_blanks_to_the_edge_are_erased_in_the_plain_style() -> None:
    shown = Shown()
    shown.sent(ENTER, SIZE)
    shown.sent("\x1b[2;1H\x1b[44mfull width of it all\x1b[0m\x1b[1;1H", SIZE)
    assert shown.sent("\x1b[2;1H\x1b[44mfull\x1b[0m                \x1b[1;1H", SIZE) == "\x1b[2;5H\x1b[K\x1b[1;1H"


def test_a_frame_that_changes_nothing_needs_no_frame_around_it() -> None:
    shown = Shown()
    shown.sent(ENTER, SIZE)
    frame = "\x1b[1;1Hhello\x1b[1;1H"
    whole = [shown.sent(data, SIZE) for data in ("\x1b[?2026h", frame, "\x1b[?2026l")]
    assert whole == ["", "\x1b[?2026hhello\x1b[1G", "\x1b[?2026l"]
    assert [shown.sent(data, SIZE) for data in ("\x1b[?2026h", frame, "\x1b[?2026l")] == ["", "", ""]


@pytest.mark.parametrize(
    ("between", "forgets"),
    [
        ("\x07", False),
        ("\x1b[?2004h", False),
        ("\x1b]52;c;aGk=\x07", False),
        ("\x1b[2J", True),
        ("text of somebody else", True),
        ("\x1b[9;1Hbeyond the last row\x1b[1;1H", True),
        (CLEAR, True),
    ],
)
def test_it_forgets_what_it_cannot_be_sure_of(between: str, forgets: bool) -> None:
    shown = Shown()
    shown.sent(ENTER, SIZE)
    frame = "\x1b[3;1Hhello\x1b[1;1H"
    shown.sent(frame, SIZE)
    assert shown.sent(between, SIZE) == between
    assert ("hello" in shown.sent(frame, SIZE)) == forgets


def test_another_size_makes_everything_new() -> None:
    shown = Shown()
    shown.sent(ENTER, SIZE)
    frame = "\x1b[3;1Hhello\x1b[1;1H"
    shown.sent(frame, SIZE)
    assert "hello" in shown.sent(frame, (COLUMNS, ROWS + 1))


def test_odd_widths_are_never_cut_and_cost_what_stands_beside_them() -> None:
    shown = Shown()
    shown.sent(ENTER, SIZE)
    shown.sent("\x1b[1;1Hleft\x1b[1;11Hright\x1b[1;1H", SIZE)
    assert "漢字 a" in shown.sent("\x1b[1;1H漢字 a\x1b[1;1H", SIZE)
    assert "right" in shown.sent("\x1b[1;11Hright\x1b[1;1H", SIZE)
    assert "漢字 b" in shown.sent("\x1b[1;1H漢字 b\x1b[1;1H", SIZE)
    assert shown.sent("\x1b[1;1H漢字 b\x1b[1;1H", SIZE) == ""


@pytest.mark.parametrize(
    ("codes", "look"),
    [
        ("", PLAIN),
        ("39;49", PLAIN),
        ("1;31", Look(("1",), "31")),
        ("31;1;39", Look(("1",))),
        ("38;2;1;2;3;48;5;7", Look((), "38;2;1;2;3", "48;5;7")),
        ("97;100", Look((), "97", "100")),
        ("31;0;7", Look(("7",))),
    ],
)
def test_styles_are_known_by_what_they_come_to(codes: str, look: Look) -> None:
    assert look_of(codes) == look
