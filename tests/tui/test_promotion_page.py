"""The page of a promotion: which figures stand beside each other, and what it warns of."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.curation import promotion, training
from core.state import approvals
from core.state.paths import ProjectPaths
from tests.curation.training_files import RUN, STEPS, TrainingFiles
from tests.tui.driving import console, until
from tui.screens.panes.inbox_lines import page_lines
from tui.screens.panes.training_lines import plain_text
from tui.stores.inbox import InboxStore, Item
from tui.stores.training import TrainingStore
from tui.stores.views import TrainingView
from tui.widgets import prompt


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectPaths:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)
    project = ProjectPaths(tmp_path / "home" / "default_project")
    project.agents.mkdir(parents=True)
    return project


def measured(files: TrainingFiles, split: str, arm: str, step: int, success: float, tasks: int = 360) -> None:
    files.event(
        "evaluation", 20 + step, step=step, arm=arm, stream="mixed", split=split, success_micro=success,
        success_macro=success, steps_mean=20.0, streams=3, tasks=tasks, seconds=1.0, by_family={},
    )  # fmt: skip


def stopped(project: ProjectPaths, run_id: str = RUN) -> TrainingFiles:
    """A run that was stopped with a checkpoint which is hardly better than nothing."""
    files = TrainingFiles(project, run_id)
    measured(files, "validation", "none", 0, 0.439)
    measured(files, "validation", "base", 0, 0.419)
    files.checkpoint(0, 0.419)
    for step in (39, 40, 41):
        files.step(step)
    files.checkpoint(40, 0.45)
    measured(files, "validation", "trained", 40, 0.45)
    files.event("end", 200, state="stopped", reason="asked to", summary=None)
    return files


def page(project: ProjectPaths, asked: str) -> str:
    item = InboxStore(project).load().item(asked)
    assert item is not None
    return _text(item, TrainingStore(project).load())


def _text(item: Item, view: TrainingView) -> str:
    return plain_text(page_lines(item, view))


def test_it_warns_of_noise_of_a_stopped_run_and_of_a_better_one_that_it_replaces(empty: ProjectPaths) -> None:
    better = TrainingFiles(empty, "cpu-demo-20251231-100000-bbbb")
    better.step(STEPS)
    better.checkpoint(STEPS, 0.672)
    first = promotion.propose(empty, better.job.id)
    promotion.decide(empty, first.id, "approve", actor="ada")
    stopped(empty)
    text = page(empty, promotion.propose(empty, RUN).id)
    assert "No better than no memory as far as these tasks tell: 45.0 % against 43.9 %, noise < 10 pts" in text
    assert "No better than the untrained policy" in text
    assert f"The run ended before its time, at step 41 of {STEPS}" in text
    assert "replaces a better one: step 60 of cpu-demo-20251231-100000-bbbb solved 67.2 %" in text
    assert "On 360 validation tasks" in text
    assert "this checkpoint           45.0 %" in text
    assert "test tasks" not in text
    assert "sha256 sha256" not in text


def test_figures_of_test_and_validation_tasks_stand_apart(empty: ProjectPaths) -> None:
    files = TrainingFiles(empty)
    for split, none, trained, tasks in (("validation", 0.439, 0.672, 360), ("test", 0.395, 0.705, 420)):
        measured(files, split, "none", 0 if split == "validation" else 60, none, tasks)
        files.step(60) if split == "validation" else None
        measured(files, split, "trained", 60, trained, tasks)
    files.checkpoint(60, 0.672)
    files.event("end", 200, state="finished", reason="", summary={})
    text = page(empty, promotion.propose(empty, RUN).id)
    at_test, at_validation = text.index("On 420 test tasks"), text.index("On 360 validation tasks")
    assert at_test < text.index("70.5 %") < at_validation < text.index("67.2 %")
    assert at_test < text.index("39.5 %") < at_validation < text.index("43.9 %")
    assert " ! " not in text


def test_the_untrained_policy_is_called_that(empty: ProjectPaths) -> None:
    stopped(empty)
    text = page(empty, promotion.propose(empty, RUN, 0).id)
    assert "the policy as it was before any step" in text
    assert "this checkpoint           41.9 %" in text
    assert "the untrained policy  " not in text


async def test_a_decided_page_offers_no_decision_and_says_what_came_of_it(empty: ProjectPaths) -> None:
    stopped(empty)
    asked = promotion.propose(empty, RUN)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("6")
        await until(app, pilot, lambda text: "No curator is in use now." in text and "a approve" in text)
        await pilot.press("a", "y")
        await until(app, pilot, lambda text: "Decided lately" in text)
        await pilot.press("enter")
        text = await until(app, pilot, lambda text: "It is the curator in use. No other was in use then." in text)
        assert "No curator is in use now." not in text
        assert "a approve" not in text
    assert approvals.get(empty, asked.id)[1] is not None
    assert training.read_run(empty, RUN).state == "stopped"


async def test_the_list_opens_at_what_waits_not_at_what_was_decided(empty: ProjectPaths) -> None:
    stopped(empty)
    promotion.decide(empty, promotion.propose(empty, RUN).id, "reject", "too few", actor="ada")
    files = stopped(empty, "cpu-demo-20251231-100000-bbbb")
    files.checkpoint(41, 0.46)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("6")
        await until(app, pilot, lambda text: "> rejected" in text)
        await pilot.press("8")
        for step in (40, 41):
            promotion.propose(empty, files.job.id, step)
        await until(app, pilot, lambda text: "2 to decide" in text)
        await pilot.press("6")
        await until(app, pilot, lambda text: "> promotion" in text)
