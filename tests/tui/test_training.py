"""The Training pane: what it shows at each size, what each key does, and how it follows a run at work."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.agents.isolation import processes
from core.curation import jobs, promotion, training_presets
from core.curation.training_presets import Preset
from core.foundation import strict_json
from core.state import approvals
from core.state.paths import ProjectPaths
from tests.curation.training_files import RUN, TrainingFiles, run_in_its_middle, whole_run
from tests.tui.driving import console, until
from tui import commands_training
from tui.stores import forms
from tui.widgets import prompt

ENDED = "cpu-demo-20251231-100000-bbbb"
SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


@pytest.fixture
def empty(tmp_path: Path) -> ProjectPaths:
    project = ProjectPaths(tmp_path / "home" / "default_project")
    project.agents.mkdir(parents=True)
    return project


@pytest.fixture
def engine() -> Iterator[Callable[[TrainingFiles], subprocess.Popen[bytes]]]:
    """Let a harmless process stand for a trainer, so that a run counts as live."""
    started: list[subprocess.Popen[bytes]] = []

    def give(files: TrainingFiles) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "120"], start_new_session=True)
        processes.record(files.job.engine, process.pid)
        started.append(process)
        return process

    yield give
    for process in started:
        process.kill()
        process.wait()


GiveEngine = Callable[[TrainingFiles], "subprocess.Popen[bytes]"]


@pytest.fixture
def live(empty: ProjectPaths, engine: GiveEngine) -> TrainingFiles:
    """A run at work, and one that has ended."""
    whole_run(empty, ENDED, seed=1)
    files = run_in_its_middle(empty)
    engine(files)
    return files


@pytest.mark.meets("K17")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_shows_how_a_run_stands(live: TrainingFiles, empty: ProjectPaths, size: tuple[int, int]) -> None:
    async with console(empty, size) as (app, pilot):
        await pilot.press("8")
        text = await until(app, pilot, lambda text: "step 34 of 60" in text)
        for words in ("running", "finished", "34/60", "60/60", "no memory", "42.9 %", "zero variance, step 31"):
            assert words in text, words
        for words in ("reward", "task", "calls", "content", "compression", "insert", "update", "seed 0", "cpu 187 %"):
            assert words in text, words
        assert "420 held-out" in text
        assert "trained less base" not in text  # it was not measured yet
        assert "320 of 320 positions measured" in text
        assert "1 training" in text.split("\n")[0]
        assert all(len(line) <= size[0] for line in text.split("\n"))


async def test_it_follows_a_run_at_work_and_can_be_held(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "step 34 of 60" in text)
        live.step(35)
        await until(app, pilot, lambda text: "step 35 of 60" in text)
        await pilot.press("space")
        live.step(36)
        await until(app, pilot, lambda text: app.frame.view.training.runs[0].history.steps[-1].step == 36)
        text = await until(app, pilot, lambda text: "held, Space goes on" in text)
        assert "step 35 of 60" in text
        await pilot.press("space")
        await until(app, pilot, lambda text: "step 36 of 60" in text)


async def test_an_empty_pane_says_what_training_is_and_how_it_begins(empty: ProjectPaths) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "A curator decides" in text and "exuvia train --preset cpu-demo" in text)
        await pilot.press("e", "p", "enter", "d", "m", "c", "P", "K", "C")  # nothing to do any of it to
        await until(app, pilot, lambda text: "no training run" in text.lower())


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


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_enter_shows_every_figure_with_its_meaning(
    live: TrainingFiles, empty: ProjectPaths, size: tuple[int, int]
) -> None:
    async with console(empty, size) as (app, pilot):
        await pilot.press("8", "enter")
        await until(app, pilot, lambda text: "first 5" in text and "What GRPO raises" in text)
        await pilot.press("slash", *"entropy", "enter")
        await until(app, pilot, lambda text: "in nats" in text)
        await pilot.press("escape", "G")
        await until(app, pilot, lambda text: "Share of the held-out tasks of this family" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "step 34 of 60" in text)


async def test_p_draws_curves_and_a_run_that_ended_is_drawn_finely(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8", "p", "down")
        text = await until(app, pilot, lambda text: "Terms of the reward" in text and "t task" in text)
        assert "┌" not in text  # live: drawn cheaply
        await pilot.press("space")
        await until(app, pilot, lambda text: "┌" in text and "┤" in text)  # held: drawn by plotext
        await pilot.press("escape", "p", "down", "p")
        await until(app, pilot, lambda text: "┌" in text and ENDED in text)


async def test_a_figure_leads_to_the_chart_that_draws_it(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8", "enter", "slash", *"gradient", "enter", "enter")
        await until(app, pilot, lambda text: "34/60: Gradient norm" in text)


@pytest.mark.meets("K17")
async def test_samples_show_what_was_written_and_what_changed(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8", "e")
        text = await until(app, pilot, lambda text: "step 30 (4 of 4 sampled)" in text and "insert heat things" in text)
        assert "the curator was told: failed" in text
        await pilot.press("down")
        text = await until(app, pilot, lambda text: "update heat things" in text and "+ 3. Put it" in text)
        await pilot.press("s")
        await until(app, pilot, lambda text: "heat things  changed in this position" in text)
        await pilot.press("s")
        await until(app, pilot, lambda text: "Step 20, the same task: heat some object" in text)
        await pilot.press("n")
        await until(app, pilot, lambda text: "rollout 2/2" in text and "lost" in text)
        await pilot.press("left_square_bracket", "left_square_bracket", "left_square_bracket")
        text = await until(app, pilot, lambda text: "step 1 (1 of 4 sampled)" in text and "first step that" in text)
        await pilot.press("down", "s")
        text = await until(app, pilot, lambda text: "not valid: there is a skill 'cool things' already" in text)
        assert "not valid: insert cool" in text
        live.sample(40)
        await pilot.press("right_square_bracket")
        await until(app, pilot, lambda text: "of 5 sampled" in text)
        await pilot.press("escape")
        await until(app, pilot, lambda text: "step 34 of 60" in text)


async def test_a_sample_that_cannot_be_read_is_said(live: TrainingFiles, empty: ProjectPaths) -> None:
    (live.job.root / "samples" / "step-00030.json").write_text("{")
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8", "e")
        await until(app, pilot, lambda text: "step-00030.json cannot be read" in text)
        await pilot.press("left_square_bracket")
        await until(app, pilot, lambda text: "insert heat things" in text or "update heat things" in text)


async def test_a_sample_never_leads_out_of_its_run(live: TrainingFiles, empty: ProjectPaths) -> None:
    live.event("sample", 99, step=33, file="../../../secret.json")
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8", "e")
        await until(app, pilot, lambda text: "leads out of the run" in text)


async def test_two_runs_are_compared(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8", "d")
        await until(app, pilot, lambda text: "m marks a run" in text)
        await pilot.press("down", "m", "up", "d")
        text = await until(app, pilot, lambda text: "beside" in text and "difference" in text)
        assert "seed" in text
        await until(app, pilot, lambda text: "difference" in text and "marked" in text)
        await pilot.press("escape", "escape")
        await until(app, pilot, lambda text: "step 34 of 60" in text)


async def test_p_pauses_c_goes_on_and_k_stops_after_a_y(
    live: TrainingFiles, empty: ProjectPaths, engine: GiveEngine
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
    from tui.messages import Outcome

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


async def test_hurt_records_are_counted_and_a_hurt_curator_is_said(live: TrainingFiles, empty: ProjectPaths) -> None:
    with live.job.events.open("a") as file:
        file.write('{"event": "step", "time": "t", "step": true}\n\0\0\n')
    empty.curator.write_text("{")
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "2 lines of its events cannot be read" in text)
        await until(app, pilot, lambda text: "curator.json cannot be read" in text)


async def test_a_run_that_died_says_its_last_words(empty: ProjectPaths, engine: GiveEngine) -> None:
    files = run_in_its_middle(empty)
    process = engine(files)
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "running" in text)
        files.job.log.write_text("RuntimeError: out of memory\n")
        process.kill()
        process.wait()
        await until(app, pilot, lambda text: "dead" in text and "out of memory" in text)


async def test_what_is_shown_can_be_copied_and_read_at_length(live: TrainingFiles, empty: ProjectPaths) -> None:
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "step 34 of 60" in text)
        pane = app.frame.pane("training")
        assert pane.copied(whole=False) == (RUN, "the run's id")
        assert "gradient norm" in pane.reading()
        await pilot.press("e")
        await until(app, pilot, lambda text: "insert heat things" in text)
        assert "+ name: heat things" in pane.reading()


async def test_a_run_at_its_very_beginning_is_told_phase_by_phase(empty: ProjectPaths, engine: GiveEngine) -> None:
    files = TrainingFiles(empty)
    engine(files)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "loads what it computes with" in text)
        files.event("start", 0, spec=files.spec, parameters=1, device="cpu")
        await until(app, pilot, lambda text: "measures what no memory" in text)
        files.event("imitation", 1, step=100, steps=400, loss=1.5, seconds=2.0)
        await until(app, pilot, lambda text: "learns to imitate, step 100 of 400, loss 1.50" in text)
        await pilot.press("enter")
        await until(app, pilot, lambda text: "figures come with the first" in text)
        await pilot.press("p")
        await until(app, pilot, lambda text: "curves come with the first" in text)
        await pilot.press("e")
        await until(app, pilot, lambda text: "No sample yet" in text)


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
    live: TrainingFiles, empty: ProjectPaths, engine: GiveEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui.messages import Outcome

    new = "cpu-demo-20260102-100000-cccc"

    def start(project: ProjectPaths, preset: str, seed: int | None, settings: dict[str, object]) -> Outcome:
        engine(TrainingFiles(project, new))
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
        await until(app, pilot, lambda text: "P pause   K stop run   S start" in _foot(text))
        await pilot.press("down")
        text = await until(app, pilot, lambda text: "P pause" not in _foot(text))
        assert "K stop" not in _foot(text)
        live.event("pause", 99)
        await pilot.press("up")
        await until(app, pilot, lambda text: _foot(text).startswith(" C go on   K stop run   S start"))
        await pilot.press("e")
        await until(app, pilot, lambda text: "step 30 (4 of 4 sampled)" in text and "] step" not in _foot(text))
        await pilot.press("right_square_bracket")
        await until(app, pilot, lambda text: "This is the latest step that was sampled." in text)
        await pilot.press("left_square_bracket")
        await until(app, pilot, lambda text: _foot(text).startswith(" s look   ] step   n rollout   C go on"))


def _foot(text: str) -> str:
    return text.rstrip("\n").split("\n")[-1]


async def test_what_training_added_is_told_on_the_same_tasks_and_an_untrained_run_added_nothing(
    empty: ProjectPaths,
) -> None:
    whole_run(empty, ENDED, seed=1)
    files = TrainingFiles(empty, RUN)
    files.begin()
    files.arm("trained", 0, 0.474, 22.5, 13.0)
    files.event("end", 200, state="finished", reason="", summary={})
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8")
        text = await until(app, pilot, lambda text: "so there is no trained policy" in text)
        (row,) = [line for line in text.split("\n") if line.startswith(">")]
        assert row.split()[2:] == ["finished", "none", "-", "42.9", "%", "47.4", "%", "-"]
        await pilot.press("down")
        await until(app, pilot, lambda text: "trained less base +23.3 pts  trained less no memory +27.8 pts" in text)


async def test_why_a_run_died_is_told_to_its_end(empty: ProjectPaths) -> None:
    files = TrainingFiles(empty, RUN)
    reason = (
        "This can't be trained: there is no setting 'foo'. Known here are steps, seed and many a one more, up to this"
    )
    files.event("end", 1, state="failed", reason=reason, summary=None)
    async with console(empty, (80, 24)) as (app, pilot):
        await pilot.press("8")
        text = await until(app, pilot, lambda text: "up to this" in text)
        assert "no memory" not in text  # nothing was measured: no table of dashes
        assert "C go on" in _foot(text)
        assert "c propose" not in _foot(text)
