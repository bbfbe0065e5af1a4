"""What a matrix comes to: spread, noise, differences, counts, alarms, order and filters. Invalid is never zero."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.stores.matrix_bases import compared, of_page
from tui.stores.matrix_facts import (
    Base,
    alarm,
    counted,
    difference,
    error_of_mean,
    is_noise,
    spread,
    spread_name,
    time_left_ms,
)
from tui.stores.matrix_order import ORDERS, ordered, wanted
from tui.stores.matrix_page import Cell, MatrixPage, MatrixRow
from tui.widgets.grid_cells import TIGHT, cell_line, layout, sum_line
from tui.widgets.spans import width_of

scores = st.floats(min_value=0, max_value=100, allow_nan=False)


def row(case_id: str, *values: float | None, title: str = "", state: str = "failed") -> MatrixRow:
    """Return a Case whose Runs have these scores; None is a cell in `state`."""
    cells = tuple(
        Cell(case_id, run, state if value is None else "scored", value) for run, value in enumerate(values, 1)
    )
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else None
    return MatrixRow(case_id, title or case_id, cells, mean, spread(known, "range"))


def page(*rows: MatrixRow, columns: int = 0, against: str = "") -> MatrixPage:
    """Return a page of rows."""
    columns = columns or max((len(entry.cells) for entry in rows), default=1)
    return MatrixPage("k", "Round 1", "", 2, columns, rows, None, complete=False, against=against)


@given(scores, scores)
def test_a_difference_only_changes_its_sign_when_the_two_are_swapped(one: float, other: float) -> None:
    assert difference(one, other) == -(difference(other, one) or 0.0)
    assert (difference(one, other) or 0.0) * (one - other) >= 0


def test_nothing_is_said_of_what_is_not_known() -> None:
    assert difference(None, 3.0) is None
    assert difference(3.0, None) is None
    assert spread([], "sd") is None
    assert spread([70.0], "range") is None, "one Run has no spread; it is not 0"
    assert error_of_mean([[70.0, 80.0], [60.0]]) is None, "no interval below two Runs"
    assert is_noise(5.0, None, 1.0) is None
    assert error_of_mean([]) is None


def test_the_spread_says_what_it_is() -> None:
    assert spread_name(2) == "range"
    assert spread_name(10) == "sd"
    assert spread([60.0, 90.0], "range") == 30.0
    assert spread([60.0, 90.0], "sd") == pytest.approx(21.21)


def test_a_gain_inside_the_spread_is_noise_and_one_outside_is_not() -> None:
    noisy = error_of_mean([[40.0, 60.0], [50.0, 70.0]])
    assert is_noise(3.0, noisy, noisy) is True
    assert is_noise(60.0, noisy, noisy) is False
    assert is_noise(0.01, 0.0, 0.0) is False, "Runs that never differ have no noise"


def test_cells_are_counted_by_state() -> None:
    assert counted(["scored"] * 14 + ["failed", "running"]) == "14 scored, 1 failed, 1 running of 16"
    assert counted(["scored", "scored"]) == "2 scored"
    assert counted(["queued"]) == "1 queued of 1"
    assert counted([]) == "no cells"


def test_a_time_left_needs_two_finished_cells() -> None:
    assert time_left_ms([60_000], 3, 1) is None
    assert time_left_ms([60_000, 60_000], 0, 1) is None
    assert time_left_ms([60_000, 30_000], 4, 2) == 90_000


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ([[0.0], [0.0]], "all 2 scores are 0.00"),
        ([[50.0, 50.0], [50.0]], "all 3 scores are 50.00, the same"),
        ([[50.0, 50.0, 50.0]], ""),
        ([[50.0], [50.0]], ""),
        ([[50.0], [51.0], [50.0]], ""),
        ([[], []], ""),
        ([[0.0], []], ""),
        ([[50.0, 50.0], [50.0, 50.0], [], [], [], []], ""),
        ([[50.0, 50.0], [50.0, 50.0], [50.0], [], [], []], "all 5 scores are 50.00, the same"),
    ],
)
def test_a_matrix_that_is_all_zero_or_all_the_same_is_an_alarm(cases: list[list[float]], told: str) -> None:
    assert alarm(cases) == told


ROWS = (
    row("CASE-001-a", 80.0, 90.0, title="Register"),
    row("CASE-002-b", 20.0, None, title="Gateway log"),
    row("CASE-003-c", None, None),
    row("CASE-004-d", 50.0, 60.0),
)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("case", "1234"),
        ("mean", "2413"),
        ("spread", "1423"),
        ("failures", "3214"),
        ("delta", "1234"),
    ],
)
def test_each_order_puts_what_has_no_number_last(order: str, expected: str) -> None:
    assert "".join(entry.case_id[7] for entry in ordered(ROWS, order)) == expected
    assert order in ORDERS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1234"),
        ("register", "1"),
        ("!register", "234"),
        ("CASE-00", "1234"),
        ("<55", "2"),
        ("<=55", ""),
        (">54", "14"),
        ("state:failed", "23"),
        ("state:failed >1", "2"),
        ("!state:scored", "3"),
        ("[/nope]", ""),
        ("!", ""),
    ],
)
def test_a_filter_is_words_that_all_hold(text: str, expected: str) -> None:
    assert "".join(entry.case_id[7] for entry in ROWS if wanted(text)(entry)) == expected


def test_a_page_is_held_against_another_over_the_cases_that_both_have() -> None:
    old = page(row("CASE-001-a", 50.0), row("CASE-002-b", 10.0))
    new = compared(page(row("CASE-001-a", 60.0), row("CASE-003-c", 99.0), row("CASE-002-b", None)), of_page(old, "v1"))
    assert (new.delta, new.common, new.against) == (10.0, 1, "v1")
    assert [entry.delta for entry in new.rows] == [10.0, None, None]
    assert new.rows[0].cells[0] is not None
    assert new.rows[0].cells[0].before == 50.0
    assert new.noise is None, "one Run each"


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=6))
def test_swapping_two_pages_changes_only_the_sign(pairs: list[tuple[float, float]]) -> None:
    one = page(*(row(f"CASE-{n:03d}-x", pair[0]) for n, pair in enumerate(pairs)))
    other = page(*(row(f"CASE-{n:03d}-x", pair[1]) for n, pair in enumerate(pairs)))
    there, back = compared(one, of_page(other, "v1")), compared(other, of_page(one, "v2"))
    assert there.delta is not None
    assert there.delta == -(back.delta or 0.0)


def test_what_was_measured_by_another_model_is_not_compared() -> None:
    new = compared(page(row("CASE-001-a", 60.0)), Base("v1, the Reference", why_not="measured with a/b"))
    assert new.delta is None
    assert new.not_comparable == "measured with a/b"


@pytest.mark.parametrize("width", [40, 60, 78, 90, 118, 198])
@pytest.mark.parametrize("columns", [1, 2, 5, 10, 20])
def test_every_layout_fits_its_width(width: int, columns: int) -> None:
    entry = row("CASE-001-a", *[float(n * 5) for n in range(columns)], title="A long title of a Case, " * 3)
    at = layout(page(entry, against="v1"), [entry], width)
    assert 2 + at.name + at.shown * at.cell + at.sums <= max(width, 40)
    assert 1 <= at.shown <= columns
    for cell in entry.cells:
        inner = at.cell if at.cell == TIGHT else at.cell - 1
        assert sum(width_of(text) for text, _ in cell_line(cell, at.cell)) == inner
    assert sum(width_of(text) for text, _ in sum_line(entry, at)) == at.sums


@pytest.mark.parametrize("width", [16, 9, 7, 5, 4])
def test_a_cell_without_a_score_never_shows_a_digit(width: int) -> None:
    for state in ("failed", "running", "queued", "interrupted", "repairing", "planned"):
        text = "".join(part for part, _ in cell_line(Cell("CASE-001-a", 1, state), width))
        assert not any(character.isdigit() for character in text)
