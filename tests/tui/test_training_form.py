"""The Training pane acts: its form and its keys change real files, ask first where they must, and say what is wrong."""

from __future__ import annotations

import threading

import pytest

from core.curation import jobs, promotion, training_presets
from core.curation.training_presets import Preset
from core.foundation import strict_json
from core.foundation.errors import UsageError
from core.state import approvals
from core.state.paths import ProjectPaths
from tests.curation.training_files import ENDED, RUN, GiveTrainer, TrainingFiles
from tests.tui.driving import console, foot, until
from tui import commands_training
from tui.messages import Outcome
from tui.stores import forms
from tui.widgets import prompt


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


async def test_without_torch_it_names_the_command_that_installs_it(
    empty: ProjectPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.curation import training

    monkeypatch.setattr(training, "can_train", lambda: False)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "pip install 'exuvia[trainer]'" in text)
        await pilot.press("S")
        await until(app, pilot, lambda text: "torch, which is not installed" in text)


async def test_p_pauses_c_goes_on_and_k_stops_after_a_y(
    live: TrainingFiles, empty: ProjectPaths, give_trainer: GiveTrainer
) -> None:
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "step 34 of 60" in text)
        await pilot.press("P")
        await until(app, pilot, lambda text: "pausing" in text)
        assert jobs.ordered(live.job.root) == "pause"
        live.event("pause", 99)
        await until(app, pilot, lambda text: "paused" in text)
        await pilot.press("C")
        await until(app, pilot, lambda text: jobs.ordered(live.job.root) == "run")
        live.event("resume", 100, step=34)
        await until(app, pilot, lambda text: "running" in text)
        await pilot.press("K")
        await until(app, pilot, lambda text: "Stop training" in text)
        await pilot.press("n")
        assert jobs.alive(live.job.root)
        await pilot.press("K", "y")
        await until(app, pilot, lambda text: not jobs.alive(live.job.root))
        await until(app, pilot, lambda text: "is stopped" in text)


async def test_a_checkpoint_is_proposed_and_the_inbox_puts_it_in_use(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8", "down", "c")
        await until(app, pilot, lambda text: "Propose a checkpoint" in text and "the best" in text)
        await pilot.press("enter", "y")
        await until(app, pilot, lambda text: "1 to decide" in text)
        (asked,) = approvals.pending(empty)
        assert asked.kind == "promotion"
        await until(app, pilot, lambda text: "6 Inbox(1)" in text)
        await pilot.press("6")
        text = await until(app, pilot, lambda text: "this checkpoint" in text and "no memory" in text)
        assert "42.9 %" in text
        assert "No curator is in use now." in text
        await pilot.press("a", "y")
        await until(app, pilot, lambda text: "It is the curator in use now" in text)
        used = promotion.in_use(empty)
        assert used is not None
        assert (used.run_id, used.step, used.actor) == (ENDED, 50, "console")
        await pilot.press("8", "down")
        await until(app, pilot, lambda text: "step 50 is the curator in use" in text)


async def test_a_promotion_is_rejected_with_a_reason(live: TrainingFiles, empty: ProjectPaths) -> None:
    promotion.propose(empty, ENDED)
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("6")
        await until(app, pilot, lambda text: "this checkpoint" in text)
        await pilot.press("x", *"too few", "enter")
        await until(app, pilot, lambda text: "It is not used" in text)
    assert promotion.in_use(empty) is None


PRESETS = (
    Preset("cpu-demo", "A small one, here.", "", {"steps": 60, "executor.name": "weak", "seed": 0}),
    Preset("large", "A large one.", "a GPU", {"steps": 50, "seed": 1}),
)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None, dict[str, object]]]:
    found: list[tuple[str, int | None, dict[str, object]]] = []

    def start(project: ProjectPaths, preset: str, seed: int | None, settings: dict[str, object]) -> Outcome:
        found.append((preset, seed, settings))
        return Outcome("Started.")

    monkeypatch.setattr(training_presets, "presets", lambda: PRESETS)
    monkeypatch.setattr(commands_training, "start", start)
    return found


async def test_the_form_starts_what_was_typed_after_a_y(
    empty: ProjectPaths, started: list[tuple[str, int | None, dict[str, object]]]
) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8", "S")
        await until(app, pilot, lambda text: "Start: training run" in text and "cpu-demo" in text)
        await pilot.press("pageup", "down", *"7", "down", *"20", "pagedown", "enter")
        await until(app, pilot, lambda text: "Train cpu-demo, seed 7, 20 steps?" in text)
        await pilot.press("y")
        await until(app, pilot, lambda text: "Started." in text)
    assert started == [("cpu-demo", 7, {"steps": 20})]
    assert forms.remembered("training")["seed"] == "7"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_a_refusal_of_the_trainer_is_shown_in_the_form_and_what_was_typed_is_kept(
    empty: ProjectPaths,
    started: list[tuple[str, int | None, dict[str, object]]],
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
) -> None:
    begin, asked, go = commands_training.start, threading.Event(), threading.Event()

    def refuse(project: ProjectPaths, preset: str, seed: int | None, settings: dict[str, object]) -> Outcome:
        asked.set()
        assert go.wait(20)
        if settings:
            raise UsageError("This can't be trained: 3 tasks are too few.", hint="Ask for fewer steps.")
        return begin(project, preset, seed, settings)

    monkeypatch.setattr(commands_training, "start", refuse)
    async with console(empty, size) as (app, pilot):
        await pilot.press("8", "S")
        await until(app, pilot, lambda text: "Start: training run" in text)
        await pilot.press("pageup", "down", *"7", "down", *"20", "pagedown", "enter", "y")
        await until(app, pilot, lambda text: "Asking the trainer whether this can begin" in text)
        await pilot.press("enter")  # one start at a time
        await until(app, pilot, lambda text: "asked already" in text)
        assert asked.is_set()
        go.set()
        text = await until(app, pilot, lambda text: "3 tasks are too few." in text)
        assert "Start: training run" in text
        assert "Ask for fewer steps." in text
        assert "What you typed is kept" in text
        assert "seed 7, steps 20" in text
        await pilot.press("pageup", "down", "down", "backspace", "backspace")  # the steps
        await until(app, pilot, lambda text: "too few" not in text)
        await pilot.press("pagedown", "enter", "y")
        await until(app, pilot, lambda text: "Started." in text and "Start: training run" not in text)
    assert started == [("cpu-demo", 7, {})]


async def test_a_form_that_is_left_while_the_trainer_is_asked_hears_of_it_in_the_console(
    empty: ProjectPaths,
    started: list[tuple[str, int | None, dict[str, object]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()

    def refuse(project: ProjectPaths, preset: str, seed: int | None, settings: dict[str, object]) -> Outcome:
        assert go.wait(20)
        raise UsageError("This can't be trained.", hint="Ask for less.")

    monkeypatch.setattr(commands_training, "start", refuse)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8", "S")
        await until(app, pilot, lambda text: "Start: training run" in text)
        await pilot.press("enter", "y")
        await until(app, pilot, lambda text: "Asking the trainer" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "Start: training run" not in text)
        go.set()
        await until(app, pilot, lambda text: "This can't be trained." in text and "Ask for less." in text)
    assert started == []


async def test_the_form_says_what_is_wrong_beside_its_field(
    empty: ProjectPaths, started: list[tuple[str, int | None, dict[str, object]]]
) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8", "S")
        await until(app, pilot, lambda text: "Start: training run" in text)
        await pilot.press("pageup", "down", "down", *"many", "pagedown", "enter")
        await until(app, pilot, lambda text: "Steps: a whole number" in text)
        await pilot.press("ctrl+r", "pageup", "right")
        await until(app, pilot, lambda text: "A large one. Needs a GPU." in text)
        await pilot.press("down", "down", "down", *"nonsense=1", "pagedown", "enter")
        await until(app, pilot, lambda text: "the preset has no such key" in text)
        await pilot.press("escape")
    assert started == []


async def test_a_trainer_that_does_not_answer_is_said(empty: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.foundation.errors import ExuviaError

    def presets() -> tuple[Preset, ...]:
        raise ExuviaError("The trainer does not tell its presets: no module")

    monkeypatch.setattr(training_presets, "presets", presets)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8", "S")
        await until(app, pilot, lambda text: "does not tell its presets" in text)


async def test_read_only_looks_and_does_nothing(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (120, 40), read_only=True) as (app, pilot):
        await pilot.press("8", "P")
        await until(app, pilot, lambda text: "Opened read-only: pause is off" in text)
        await pilot.press("c")
        await until(app, pilot, lambda text: "propose is off" in text)
        await pilot.press("enter", "p", "e")
        await until(app, pilot, lambda text: "sampled" in text)
        assert not live.job.control.exists()


def test_the_request_of_a_run_is_what_the_form_made(empty: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.curation import training

    launched: list[str] = []
    monkeypatch.setattr(training, "_launch", lambda run: launched.append(run.id))
    outcome = commands_training.start(empty, "cpu-demo", 7, {"steps": 20})
    (run_id,) = launched
    assert run_id in outcome.text
    request = strict_json.parse((empty.training / run_id / "request.json").read_bytes())
    assert (request["preset"], request["seed"], request["settings"]) == ("cpu-demo", 7, {"steps": 20})


async def test_the_form_tells_the_time_what_trains_already_and_every_key_as_it_will_be(
    live: TrainingFiles, empty: ProjectPaths, started: list[tuple[str, int | None, dict[str, object]]]
) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8", "S")
        text = await until(app, pilot, lambda text: "Start: training run" in text)
        assert "Time: about 2 min, as" in text  # 60 steps of 2.1 s, and some seconds around them
        assert f"! {RUN} trains now" in text
        await pilot.press("pageup", "down", *"12", "down", *"0", "pagedown", "enter")
        await until(app, pilot, lambda text: "Steps: 1 or more" in text)
        await pilot.press("pageup", "down", "down", "backspace", *"30")
        text = await until(app, pilot, lambda text: "Keys: seed 12, steps 30, executor.name weak" in text)
        assert "Time: about 83 s" in text
        await pilot.press("down", "down", *"seed=high", "pagedown", "enter")
        await until(app, pilot, lambda text: "Other keys: seed: a whole number" in text)
        await pilot.press("escape")
    assert started == []


async def test_a_run_started_here_is_selected_once_it_is_listed(
    live: TrainingFiles, empty: ProjectPaths, give_trainer: GiveTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = "cpu-demo-20260102-100000-cccc"

    def start(project: ProjectPaths, preset: str, seed: int | None, settings: dict[str, object]) -> Outcome:
        give_trainer(TrainingFiles(project, new))
        return Outcome(f"Started {new}.", made=new)

    monkeypatch.setattr(training_presets, "presets", lambda: PRESETS)
    monkeypatch.setattr(commands_training, "start", start)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8", "down", "S")
        await until(app, pilot, lambda text: "Start: training run" in text)
        await pilot.press("enter", "y")
        await until(app, pilot, lambda text: f"── {new}" in text)


async def test_the_foot_offers_what_is_of_use_to_the_run_under_the_cursor(
    live: TrainingFiles, empty: ProjectPaths
) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "P pause   K stop run   S start" in foot(text))
        await pilot.press("down")
        text = await until(app, pilot, lambda text: "P pause" not in foot(text))
        assert "K stop" not in foot(text)
        live.event("pause", 99)
        await pilot.press("up")
        await until(app, pilot, lambda text: foot(text).startswith(" C go on   K stop run   S start"))
        await pilot.press("e")
        await until(app, pilot, lambda text: "step 30 (4 of 4 sampled)" in text and "] step" not in foot(text))
        await pilot.press("right_square_bracket")
        await until(app, pilot, lambda text: "This is the latest step that was sampled." in text)
        await pilot.press("left_square_bracket")
        await until(app, pilot, lambda text: foot(text).startswith(" s look   ] step   n rollout   C go on"))
