"""The figures of a run, by name: one list for the page, the plots and the comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.curation import training
from core.curation.training_records import OPERATIONS, TERMS
from core.curation.training_run import TrainingRun
from core.curation.training_samples import read_samples
from core.state.paths import ProjectPaths
from tests.curation.training_files import RUN, TrainingFiles, run_in_its_middle, whole_run
from tui.curves import live, named, still
from tui.screens.panes.training_lines import overview
from tui.screens.panes.training_rows import compared_rows
from tui.stores.training_book import SampleBook, changes, diff, previous
from tui.stores.training_catalogue import CATALOGUE, CHARTS
from tui.stores.training_figures import axis, charted, compared, figures, settings_differ, shown
from tui.stores.views import TrainingView

OTHER = "cpu-demo-20260102-100000-bbbb"


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path / "home" / "default_project")
    found.root.mkdir(parents=True)
    return found


@pytest.fixture
def run(project: ProjectPaths) -> TrainingRun:
    whole_run(project)
    return training.read_run(project, RUN)


@pytest.mark.meets("K17", "K18")
def test_every_figure_that_is_asked_for_is_there_with_its_meaning(run: TrainingRun) -> None:
    found = {figure.key: figure for figure in figures(run)}
    assert {*TERMS, *OPERATIONS} <= set(found)
    assert {"entropy", "clip", "gradient", "zero variance", "advantage", "measured", "speed", "rss"} <= set(found)
    assert {"coverage", "meta", "used", "heading workflow", "heading failure"} <= set(found)
    assert all(len(figure.says) > 20 and figure.says.endswith(".") for figure in found.values())
    assert found["insert"].first is not None
    assert found["insert"].last is not None
    assert found["insert"].first > 0.6 > found["insert"].last


def test_no_two_figures_share_a_key_and_every_chart_draws_some() -> None:
    keys = [entry.key for _, entries in CATALOGUE for entry in entries]
    assert len(keys) == len(set(keys))
    assert {key for chart in CHARTS for key in chart.keys} <= set(keys)


def test_what_was_not_measured_is_a_dash_and_never_zero(run: TrainingRun) -> None:
    found = {figure.key: figure for figure in figures(run)}
    assert found["kl"].now is None
    assert shown(found["kl"].now, "fine") == "-"
    assert charted(next(c for c in CHARTS if c.name == "Entropy"), figures(run))
    assert figures(TrainingRun("r", "running"))[0].first is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.1234, "share", "12.3 %"), (1.5, "number", "1.50"), (1234.0, "count", "1,234"), (2.13, "seconds", "2.1 s"),
        (812e6, "bytes", "812 MB"), (139e9, "bytes", "139.0 GB"), (4000.4, "rate", "4,000/s"),
        (0.0004, "fine", "4.0e-04"), (22.47, "fine", "22.5"), (0.0, "fine", "0.000"), (None, "share", "-"),
    ],
)  # fmt: skip
def test_values_read_as_people_write_them(value: float | None, unit: str, text: str) -> None:
    assert shown(value, unit) == text  # type: ignore[arg-type]  # one of the units


def test_two_runs_stand_beside_each_other_with_what_was_set_otherwise(project: ProjectPaths, run: TrainingRun) -> None:
    files = TrainingFiles(project, OTHER, seed=3)
    files.begin()
    files.train(1, 20)
    other = training.read_run(project, OTHER)
    assert settings_differ(run, other) == (("seed", "0", "3"),)
    found = {(one.group, one.name): one for one in compared(run, other)}
    trained = found["Solved", "trained"]
    assert (trained.left, trained.right, trained.difference) == (0.707, None, None)
    none = found["Solved", "none"]
    assert none.difference == 0
    assert none.note.startswith("noise <")  # 420 tasks can't show a difference of nothing
    insert = found["Operations", "insert"]
    assert insert.difference is not None
    assert insert.difference > 0.2


def test_curves_of_a_run_of_which_only_some_steps_were_read_lie_where_they_belong(run: TrainingRun) -> None:
    assert axis(run) == (60, 1.0)
    steps = tuple(replace(step, step=100 * step.step, steps=12_000) for step in run.history.steps)
    long = replace(run, history=replace(run.history, steps=steps), passed_lines=5940)
    assert axis(long) == (120, 100.0)  # it is half done, and each value stands for a hundred steps
    (line,) = [line for line in overview(long, TrainingView(), 100, 60) if line and line[0][0].strip() == "task"]
    assert 28 <= len(line[-1][0]) <= 32  # of 60 cells
    curves = named([("reward", figures(long)[0].values)])
    assert "step 12000" in "".join(text for text, _ in live(curves, 120, 80, 12, str, 100.0)[-2])
    assert any("12000" in text for line in still(curves, 120, 80, 14, str, 100.0) for text, _ in line)


@pytest.mark.parametrize("width", [78, 118, 198])
@pytest.mark.parametrize("path", ["0.7", "/models/a-long-name/of-a-policy/that-does-not-fit/into-a-column-of-figures"])
def test_headings_of_two_runs_stand_over_their_values(
    project: ProjectPaths, run: TrainingRun, width: int, path: str
) -> None:
    files = TrainingFiles(project, OTHER, seed=3)
    files.begin()
    files.train(1, 20)
    other = replace(training.read_run(project, OTHER), spec={**run.spec, "seed": 3, "curator": path})
    rows = ["".join(text for text, _ in row.lines[0]) for row in compared_rows(run, other, width)]
    assert all(len(row) <= width for row in rows)
    title, *settings = rows[: rows.index(next(row for row in rows if row.startswith("Solved")))]
    assert title.startswith("Set otherwise")
    if path == "0.7":  # short values end where their heading ends, and where those of the figures do
        assert [row.rstrip()[-3:] for row in settings] == ["0.7", "  3"]
        assert {len(row.rstrip()) for row in settings} == {len(title.rstrip())}
        figures_title = next(row for row in rows if row.startswith("Solved"))
        assert figures_title.index("selected") == title.index("selected")
    else:  # long ones begin where their heading begins
        assert {row[title.index("selected") - 1 :][:2] for row in settings} == {" /", " 3"}
        assert {row[title.index("marked") - 1 :][:2] for row in settings} == {" -", " 0"}


def test_a_difference_that_the_tasks_can_show_is_not_called_noise(project: ProjectPaths, run: TrainingRun) -> None:
    files = TrainingFiles(project, OTHER)
    files.arm("trained", 60, 0.45, 23.0, 3.0)
    other = training.read_run(project, OTHER)
    (found,) = [one for one in compared(run, other) if (one.group, one.name) == ("Solved, held-out", "trained")]
    assert found.note == ""


def test_runs_on_different_tasks_are_not_subtracted(project: ProjectPaths) -> None:
    for run_id, split, success in ((RUN, "test", 0.705), (OTHER, "validation", 0.678)):
        TrainingFiles(project, run_id).event(
            "evaluation", 99, step=60, arm="trained", stream="mixed", split=split, success_micro=success,
            success_macro=success, steps_mean=19.0, streams=3, tasks=420, seconds=9.0, by_family={},
        )  # fmt: skip
    (found,) = compared(*(training.read_run(project, run_id) for run_id in (RUN, OTHER)))
    assert (found.left, found.right, found.difference) == (0.705, 0.678, None)
    assert found.note == "test, validation: not the same tasks"


# Samples


def book_of(project: ProjectPaths) -> SampleBook:
    files = run_in_its_middle(project)
    run = training.read_run(project, RUN)
    book = SampleBook(RUN).at(tuple(sample.step for sample in run.history.samples))
    for sample in run.history.samples:
        book = book.with_samples(sample.step, read_samples(files.job.root / sample.file))
    return book


def test_a_book_opens_at_the_newest_step_and_follows_it_until_somebody_turns_back(project: ProjectPaths) -> None:
    book = book_of(project)
    assert (book.steps, book.step, book.before) == ((1, 10, 20, 30), 30, 20)
    assert book.at((*book.steps, 40)).step == 40
    back = book.turned(-1)
    assert back.step == 20
    assert back.at((*book.steps, 40)).step == 20
    assert back.turned(-9).step == 1
    assert back.turned(9).step == 30
    assert book.other_rollout(1).rollout == 1
    assert book.other_rollout(2).rollout == 0


def test_what_a_position_changed_is_told_skill_by_skill(project: ProjectPaths) -> None:
    book = book_of(project)
    rollout = book.chosen
    assert rollout is not None
    first, second = rollout.positions[:2]
    assert previous(rollout, first) is None
    assert [(change.title, change.how) for change in changes(None, first)] == [("heat things", "new")]
    (change,) = changes(first, second)
    assert change.how == "changed"
    assert ("+ 3. Put it where it belongs, then look again (2).", "added") in change.lines
    counterpart = book.counterpart(rollout.positions[3])
    assert counterpart is not None
    assert (counterpart.position, counterpart.task) == (4, rollout.positions[3].task)
    other = book.counterpart(replace(first, task="heat another thing"))
    assert other is not None
    assert (other.family, other.position) == (first.family, 1)  # of its family, where no task is the same
    assert book.counterpart(replace(first, family="dance")) is None
    gone = changes(second, rollout.positions[0])
    assert {one.how for one in gone} <= {"changed", "same", "gone"}


def test_a_diff_marks_what_went_and_what_came() -> None:
    assert diff("a\nb\nc", "a\nB\nc") == (
        ("  a", "plain"), ("- b", "removed"), ("+ B", "added"), ("  c", "plain"),
    )  # fmt: skip


def test_a_step_that_cannot_be_read_is_said_and_the_others_stand(project: ProjectPaths) -> None:
    book = book_of(project)
    hurt = SampleBook(RUN).at(book.steps).with_samples(30, "step-00030.json cannot be read")
    assert hurt.samples is None
    assert hurt.wanted == (20,)
    assert hurt.faults[30].startswith("step-00030")
