"""The Training pane: what it shows at each size, and how it follows a run at work."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from core.curation import training
from core.evolution.specs import RunPaths
from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from tests.curation.training_files import ENDED, RUN, GiveTrainer, TrainingFiles, run_in_its_middle, whole_run
from tests.tui.driving import console, foot, until
from tests.tui.home import ask_for_freeze
from tui.stores.console import ConsoleStore
from tui.stores.glance import first_facts
from tui.stores.training_estimate import estimate
from tui.widgets import prompt

GiveEngine = Callable[[RunPaths], "subprocess.Popen[bytes]"]
SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "GUARD_S", 0.0)


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
        assert "training cpu-demo  running 34/60" in text.split("\n")[0]
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


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_home_that_only_trained_opens_on_training_and_is_headed_by_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    home = ensure_home(tmp_path / "new")
    whole_run(home, ENDED, seed=1)
    first = first_facts(home)
    assert first.trained_last
    async with console(home, size) as (app, pilot):
        text = await until(app, pilot, lambda text: "step 60 of 60" in text)
        assert app.frame.active == "training"
        head = text.split("\n")[0]
        assert "training cpu-demo  finished trained 70.7 %" in head
        assert "example" not in head
        assert "score" not in head
        await pilot.press("4")
        text = await until(app, pilot, lambda text: "example" in text.split("\n")[0])
        assert "default_agent" in text.split("\n")[0]  # whose scores these are


async def test_what_was_last_worked_on_opens_first(project: ProjectPaths, engine: GiveEngine) -> None:
    whole_run(project, "cpu-demo-19990101-100000-aaaa")
    assert not first_facts(project).trained_last  # the agent's runs are newer
    TrainingFiles(project, "cpu-demo-29990101-100000-aaaa")
    assert first_facts(project).trained_last
    assert ConsoleStore(project).load().trained_last
    run, _ = ask_for_freeze(project)
    engine(run)  # a run of an agent that is at work goes before what was trained
    assert not first_facts(project).trained_last
    assert not ConsoleStore(project).load().trained_last


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


async def test_hurt_records_are_counted_and_a_hurt_curator_is_said(live: TrainingFiles, empty: ProjectPaths) -> None:
    with live.job.events.open("a") as file:
        file.write('{"event": "step", "time": "t", "step": true}\n\0\0\n')
    empty.curator.write_text("{")
    async with console(empty, (120, 40)) as (app, pilot):
        await pilot.press("8")
        await until(app, pilot, lambda text: "2 lines of its events cannot be read" in text)
        await until(app, pilot, lambda text: "curator.json cannot be read" in text)


async def test_a_run_that_died_says_its_last_words(empty: ProjectPaths, give_trainer: GiveTrainer) -> None:
    files = run_in_its_middle(empty)
    process = give_trainer(files)
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


async def test_a_run_at_its_very_beginning_is_told_phase_by_phase(
    empty: ProjectPaths, give_trainer: GiveTrainer
) -> None:
    files = TrainingFiles(empty)
    give_trainer(files)
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
        assert "C go on" in foot(text)
        assert "c propose" not in foot(text)


async def test_a_clock_that_was_set_back_hurts_no_figure(empty: ProjectPaths, give_trainer: GiveTrainer) -> None:
    files = run_in_its_middle(empty)
    lines = files.job.events.read_text().splitlines()
    back = [line.replace("2026-01-01T10:", "2026-01-01T07:") if '"event": "step"' in line else line for line in lines]
    files.job.events.write_text("\n".join(back) + "\n")
    give_trainer(files)
    run = training.read_run(empty, RUN)
    assert run.state == "running"
    assert run.seconds_left == pytest.approx(26 * 2.1)
    guess = estimate([run], "cpu-demo", {"steps": 60})
    assert guess is not None
    assert guess.seconds == pytest.approx(60 * 2.1)
    async with console(empty, (80, 24)) as (app, pilot):
        await until(app, pilot, lambda text: "step 34 of 60" in text and "55 s left" in text)
