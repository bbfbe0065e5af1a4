"""Curves: the letters, the axes, and that a new step of a live one changes little."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.curves import Curve, bounds, legend, live, named, sparkline, still

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def rising(count: int) -> tuple[float | None, ...]:
    return tuple(0.1 + 0.8 * step / 60 for step in range(count))


def text(lines: list[tuple[tuple[str, str], ...]]) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines]


def test_every_curve_has_a_letter_of_its_own() -> None:
    curves = named([("task", rising(5)), ("tokens", rising(5)), ("t", rising(5)), ("ttt", rising(5))])
    assert len({curve.mark for curve in curves}) == 4
    assert curves[0].mark == "t"


@pytest.mark.parametrize("draw", [live, still])
def test_a_plot_has_its_size_its_axes_and_its_legend(draw: object) -> None:
    curves = named([("task", rising(34)), ("calls", tuple(1 - (v or 0) for v in rising(34)))])
    lines = text(draw(curves, 60, 70, 16, percent))  # type: ignore[operator]  # one of the two
    assert len(lines) <= 16
    assert all(len(line) <= 70 for line in lines)
    whole = "\n".join(lines)
    assert "60" in whole
    assert "0 %" in whole
    assert f"t task {percent(rising(34)[-1] or 0)}" in lines[-1]
    assert "\x1b" not in whole
    assert sum(line.count("t") for line in lines[:-1]) >= 1  # the letter stands on the curve too


def test_a_still_plot_keeps_its_colours_as_tones() -> None:
    curves = named([("one", rising(30)), ("two", rising(20))])
    tones = {tone for line in still(curves, 30, 60, 12, percent) for _, tone in line}
    assert {"accent", "good"} <= tones


def test_a_new_step_changes_a_few_cells_of_a_live_plot() -> None:
    before, after = (
        text(live([Curve("task", "t", "accent", rising(count))], 60, 70, 16, percent))[:-1] for count in (40, 41)
    )
    changed = sum(a != b for one, other in zip(before, after, strict=True) for a, b in zip(one, other, strict=False))
    assert 0 < changed <= 6


@pytest.mark.parametrize("draw", [live, still])
def test_what_cannot_be_drawn_is_said(draw: object) -> None:
    curves = named([("task", (None, None))])
    assert text(draw(curves, 60, 70, 16, percent)) == ["Nothing to draw yet."]  # type: ignore[operator]
    assert text(draw(named([("task", rising(3))]), 60, 10, 3, percent)) == ["Too little room for a plot."]  # type: ignore[operator]


def test_gaps_are_left_out_and_never_drawn_as_zero() -> None:
    curve = Curve("task", "t", "accent", (0.5, None, 0.6))
    assert curve.points == ((0, 0.5), (2, 0.6))
    drawn = text(live([curve], 3, 60, 12, percent))[:-3]
    assert not any(line.lstrip().startswith("0 %") for line in drawn)
    assert legend([curve], percent)[-2][0] == "60 %"


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_bounds_hold_all_values_and_are_round(values: list[float]) -> None:
    low, high, step = bounds(values)
    assert low <= min(values) + 1e-6 * step
    assert high >= max(values) - 1e-6 * step
    assert low < high
    assert (high - low) / step <= 12
    digits = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(digits - nice) for nice in (1, 2, 5, 10)) < 1e-6


@given(st.lists(st.one_of(st.none(), NUMBERS), max_size=80), st.integers(1, 100), st.integers(0, 60))
def test_a_sparkline_fits_and_is_as_long_as_what_is_known(values: list[float | None], places: int, width: int) -> None:
    drawn = sparkline(values, max(places, len(values)), width)
    assert len(drawn) <= width
    if all(value is None for value in values):
        assert drawn == ""


def test_a_sparkline_of_half_a_run_is_half_as_long() -> None:
    assert len(sparkline(rising(30), 60, 40)) == 20
    assert sparkline(rising(60), 60, 8) == "▁▂▃▄▅▆▇█"
