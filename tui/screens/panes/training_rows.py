"""Rows of the Training pane's pages: all figures of a run, the charts, two runs beside each other. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.curation.training_records import SPLITS
from core.curation.training_run import TrainingRun
from tui.curves import sparkline
from tui.screens.panes.training_lines import ARMS, figure_line
from tui.stores.training_catalogue import CATALOGUE, CHARTS, Chart
from tui.stores.training_figures import (
    FEW,
    Compared,
    Figure,
    axis,
    charted,
    compared,
    figures,
    settings_differ,
    shown,
)
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, short, width_of

_NAME = 18
_COLUMN = 12
"""Cells of a column of two runs beside each other."""


def figure_rows(run: TrainingRun, width: int) -> list[Row]:
    """Return every figure of a run in its group, then the held-out measurements by family."""
    places, _ = axis(run)
    rows: list[Row] = []
    group = ""
    for figure in figures(run):
        if figure.group != group:
            group = figure.group
            head = f"{group:<{_NAME + 1}}" + fit(f"last {FEW}", 9, right=True) + fit(f"first {FEW}", 10, right=True)
            rows.append(Row(f"group:{group}", (((head, "title"),),), selectable=False))
        line = figure_line(figure, places, width, _NAME)
        rows.append(Row(f"figure:{figure.key}", (line,), find=f"{figure.group} {figure.name} {figure.key}"))
    return [*rows, *family_rows(run, width)]


def family_rows(run: TrainingRun, width: int) -> list[Row]:
    """Return what each arm solved of each family of the run's held-out tasks."""
    found = {arm: None if arm == "trained" and run.untrained else run.heldout(arm) for arm, _ in ARMS}
    families = sorted({family for one in found.values() if one for family in one.by_family})
    if not families:
        return []
    head = fit(f"Family, {SPLITS[run.split]}", _NAME + 1) + "".join(fit(name, 11, right=True) for _, name in ARMS)
    rows = [Row("group:families", (((short(head, width), "title"),),), selectable=False)]
    for family in families:
        line: list[Span] = [(" " + fit(family, _NAME), "plain")]
        for arm, _ in ARMS:
            one = found[arm]
            line.append((fit(shown(one.by_family.get(family) if one else None, "share"), 11, right=True), "plain"))
        rows.append(Row(f"family:{family}", (tuple(line),), find=f"family {family}"))
    return rows


def says_of(run: TrainingRun, key: str) -> tuple[str, str]:
    """Return the name of what stands in a row of figures, and what it means."""
    kind, _, rest = key.partition(":")
    if kind == "family":
        return rest, f"Share of the {SPLITS[run.split]} tasks of this family that each arm solved, on the mixed stream."
    figure = next((figure for figure in figures(run) if figure.key == rest), None)
    if figure is None:
        return "", ""
    wanted = {"up": "It should rise.", "down": "It should fall.", "": ""}[figure.good]
    return f"{figure.group}: {figure.name.strip()}", f"{figure.says} {wanted}".rstrip()


def chart_rows(found: Sequence[Figure], places: int, width: int) -> list[Row]:
    """Return the charts that there is something to draw for."""
    rows: list[Row] = []
    for chart in CHARTS:
        drawn = charted(chart, found)
        if not drawn:
            continue
        room = max(0, min(40, width - 62))
        line: Line = (
            (fit(chart.name, 22), "plain"),
            (fit(sparkline(drawn[0].values, places, room), room), "accent") if room else ("", "plain"),
            ("  " + short(chart.says, max(8, width - 24 - room)), "dim"),
        )
        rows.append(Row(chart.name, (line,), find=f"{chart.name} {chart.says}"))
    return rows


def chart_of(key: str, found: Sequence[Figure]) -> Chart:
    """Return the chart of a row, else the first that has something to draw."""
    drawable = [chart for chart in CHARTS if charted(chart, found)]
    return next((chart for chart in drawable if chart.name == key), (drawable or [CHARTS[0]])[0])


def chart_with(figure_key: str) -> str:
    """Return the name of the chart that draws a figure, "" where none does."""
    return next((chart.name for chart in CHARTS if figure_key in chart.keys), "")


def compared_rows(left: TrainingRun, right: TrainingRun, width: int) -> list[Row]:
    """Return two runs beside each other: what was set otherwise, what came on held-out tasks, and each figure."""
    name = max(18, min(36, width - 56))
    differ = settings_differ(left, right)
    room = _settings_room(differ, name, width)
    rows = [_settings_heading(name, room)]
    rows += [_settings(key, one, other, name, room) for key, one, other in differ]
    if not differ:
        rows.append(Row("same", (((" nothing: the two runs have the same settings", "dim"),),), selectable=False))
    group = ""
    for one in compared(left, right):
        if one.group != group and one.group == CATALOGUE[0][0]:
            told = f"The figures below are means of the last {FEW} steps of each run."
            rows.append(Row("means", (((told, "dim"),),), selectable=False))
        if one.group != group:
            group = one.group
            rows.append(_heading(group, ("marked", "selected", "difference"), name))
        rows.append(_compared(one, name, width))
    return rows


def _heading(title: str, columns: tuple[str, ...], name: int) -> Row:
    words = "".join(fit(word, _COLUMN, right=True) for word in columns)
    return Row(f"heading:{title}", (((fit(title, name + 1), "title"), (words, "dim")),), selectable=False)


def _settings_room(differ: Sequence[tuple[str, str, str]], name: int, width: int) -> int:
    """Return the cells of a column of settings: those of the figures below where the values fit, else what is left."""
    longest = max((width_of(value) for _, *values in differ for value in values), default=0)
    return _COLUMN if longest < _COLUMN else max(_COLUMN, min(longest, (width - name - 3) // 2))


def _settings_heading(name: int, room: int) -> Row:
    words = _two("marked", "selected", room)
    line: Line = ((fit("Set otherwise", name + 1), "title"), (words[0], "dim"), (words[1], "dim"))
    return Row("heading:Set otherwise", (line,), selectable=False)


def _settings(key: str, left: str, right: str, name: int, room: int) -> Row:
    words = _two(left, right, room)
    line: Line = ((" " + fit(key, name), "plain"), (words[0], "dim"), (words[1], "plain"))
    return Row(f"setting:{key}", (line,), find=f"set {key} {left} {right}")


def _two(left: str, right: str, room: int) -> tuple[str, str]:
    """Return two columns: numbers and words to the right as the figures are, long values from the left."""
    if room == _COLUMN:
        return fit(left, room, right=True), fit(right, room, right=True)
    return " " + fit(left, room), " " + short(right, room)


def _compared(one: Compared, name: int, width: int) -> Row:
    label = dict(ARMS).get(one.name, one.name.strip())
    line: list[Span] = [
        (" " + fit(label, name), "plain"),
        (fit(shown(one.left, one.unit), _COLUMN, right=True), "dim"),
        (fit(shown(one.right, one.unit), _COLUMN, right=True), "plain"),
        (fit(_signed(one), _COLUMN, right=True), "dim" if one.note else "strong"),
        ("  " + short(one.note, max(4, width - name - 39)), "dim"),
    ]
    return Row(f"compared:{one.group}:{one.name}", (tuple(line),), find=f"{one.group} {label} {one.note}")


def _signed(one: Compared) -> str:
    difference = one.difference
    if difference is None:
        return "-"
    sign = "+" if difference >= 0 else "-"
    if one.unit == "share":
        return f"{sign}{100 * abs(difference):.1f} pts"
    return f"{sign}{shown(abs(difference), one.unit)}"
