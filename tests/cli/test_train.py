"""`exuvia train`: runs listed, shown, compared, paused, promoted; and a real one in front, stopped and gone on with."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.agents.isolation import processes
from core.curation import jobs, promotion, training
from core.state import approvals
from core.state.paths import ProjectPaths
from tests.cli.program import call, tree_hash
from tests.curation.training_files import RUN, TrainingFiles, run_in_its_middle, whole_run
from tests.tui.home import give_trainer
from tui.cli.train import settings_of
from tui.cli.train_lines import TrainingTeller, step_line

OTHER = "cpu-demo-20260102-100000-bbbb"
SMALL = {
    "steps": 2, "imitation.steps": 4, "imitation.demonstrations": 40, "group.batch": 4, "group.rollouts": 2,
    "group.smallest": 3, "group.largest": 3, "evaluation.streams": 1, "evaluation.tasks": 6, "evaluation.groups": 1,
    "evaluation.validation": 1, "evaluation.validation_tasks": 3, "threads": 1,
}  # fmt: skip
"""A real run of the trainer that is over in seconds; it learns nothing."""


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path / "home" / "default_project")
    found.agents.mkdir(parents=True)
    return found


@pytest.fixture
def place(project: ProjectPaths) -> tuple[str, str]:
    return "--home", str(project.root.parent)


@pytest.fixture
def trainer() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_runs_are_listed_with_what_they_came_to(project: ProjectPaths, place: tuple[str, str]) -> None:
    whole_run(project)
    told = call("train", "list", *place)
    assert told.code == 0
    assert RUN in told.out
    assert "70.7 %" in told.out
    document = call("train", "list", "--json", *place).document
    assert document["in_use"] is None
    (run,) = document["runs"]
    assert (run["state"], run["step"], run["best_step"]) == ("finished", 60, 50)
    assert run["heldout"]["none/mixed"]["success_micro"] == 0.429


def test_an_empty_list_says_how_to_begin(place: tuple[str, str], project: ProjectPaths) -> None:
    assert "exuvia train --preset cpu-demo --home" in call("train", "list", *place).out


def test_a_home_that_is_not_there_yet_has_no_run_which_is_no_error(tmp_path: Path) -> None:
    told = call("train", "list", "--home", tmp_path / "fresh")
    assert told.code == 0
    assert "No training run yet" in told.out
    assert not (tmp_path / "fresh").exists()


def test_a_second_run_in_a_home_is_told_of_the_first(
    project: ProjectPaths,
    place: tuple[str, str],
    trainer: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = run_in_its_middle(project)
    trainer.append(give_trainer(files.job))
    monkeypatch.setattr(training, "start", lambda *_, **__: OTHER)
    told = call("train", "start", "--preset", "cpu-demo", *place)
    assert f"{RUN} trains here already, at step 34 of 60" in told.err


def test_runs_are_removed(project: ProjectPaths, place: tuple[str, str]) -> None:
    whole_run(project)
    assert "say --yes" in call("train", "remove", RUN, *place).err
    assert call("train", "remove", RUN, "--yes", "--json", *place).document == {"removed": [RUN]}
    assert not (project.training / RUN).exists()


def test_a_run_is_shown_with_its_alarms_and_its_gain(project: ProjectPaths, place: tuple[str, str]) -> None:
    files = whole_run(project)
    files.event("alarm", 199, step=60, kind="insert_collapse", text="Hardly any updates.")
    told = call("train", "show", RUN, *place).out
    assert "ALARM at step 60, insert collapse: Hardly any updates." in told
    assert "trained minus the base +23.3, minus no memory +27.8 points on held-out tasks (one seed; seeds" in told
    assert told.count("\nstep ") == 1  # the latest only
    lines = told.splitlines()
    assert len(lines) == len(set(lines))  # a measurement is not said twice
    assert re.fullmatch(r"[\x20-\x7e\n]+", told)  # and all of it by any terminal
    assert str(files.job.root) in told


def test_a_run_that_did_no_step_is_called_untrained(project: ProjectPaths, place: tuple[str, str]) -> None:
    files = TrainingFiles(project)
    files.arm("none", 0, 0.4, 20.0, 0.0, split="test")
    files.arm("trained", 0, 0.63, 20.0, 0.0, split="test")
    files.event("end", 9, state="finished", reason="", summary={})
    told = call("train", "show", RUN, *place).out
    assert "test, mixed: trained 63.0 % solved" in told
    assert "untrained: no step of GRPO was done" in told
    assert "minus" not in told


def test_two_runs_are_compared(project: ProjectPaths, place: tuple[str, str]) -> None:
    whole_run(project)
    whole_run(project, OTHER, seed=5)
    document = call("train", "compare", RUN, OTHER, "--json", *place).document
    assert document["settings"] == [{"key": "seed", "left": "0", "right": "5"}]
    assert any(one["name"] == "insert" and one["left"] is not None for one in document["figures"])
    told = call("train", "compare", RUN, OTHER, *place).out
    assert "seeds alone move results" in told
    assert "DIFFERENCE" in told
    assert f"RUN    {RUN}\nOTHER  {OTHER}\n" in told  # as they are typed
    assert "GROUP               FIGURE           RUN " in told
    assert "+0.0 pts" in told


def test_a_live_run_is_paused_and_goes_on(
    project: ProjectPaths, place: tuple[str, str], trainer: list[subprocess.Popen[bytes]]
) -> None:
    files = run_in_its_middle(project)
    trainer.append(give_trainer(files.job))
    assert call("train", "pause", RUN, *place).code == 0
    assert jobs.ordered(files.job.root) == "pause"
    assert "pausing" in call("train", "list", *place).out
    assert call("train", "resume", RUN, "--json", *place).document == {"run_id": RUN, "resumed": True}
    assert jobs.ordered(files.job.root) == "run"
    stopped = call("train", "stop", RUN, *place)
    assert stopped.code == 0
    assert not jobs.alive(files.job.root)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "nothing"), "no training run"),
        (("pause", RUN), "does not run"),
        (("resume", RUN), "is finished"),
        (("start",), "--preset NAME"),
        (("promote", RUN, "--step", "7"), "no checkpoint of step 7"),
        (("dismiss",), "No trained curator is in use"),
        (("show", "../x"), "is no id"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_said(
    project: ProjectPaths, place: tuple[str, str], words: tuple[str, ...], told: str
) -> None:
    whole_run(project)
    ended = call("train", *words, *place)
    assert ended.code != 0
    assert told in ended.err


def test_options_of_the_group_belong_to_it(place: tuple[str, str]) -> None:
    assert call("train", "--seed", "3", *place).code == 2
    assert call("train", "--preset", "cpu-demo", "list", *place).code == 2
    assert call("train", "--preset", "cpu-demo", "--set", "steps", *place).code == 2
    assert call("train").code == 2


def test_settings_are_json_where_they_can_be() -> None:
    pairs = ("steps=20", "grpo.std=true", "executor.name=mid", "policy.path=/a=b", "x=")
    assert settings_of(pairs) == {
        "steps": 20, "grpo.std": True, "executor.name": "mid", "policy.path": "/a=b", "x": "",
    }  # fmt: skip


def test_without_torch_the_command_that_installs_it_is_named(
    project: ProjectPaths, place: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "can_train", lambda: False)
    for words in (("--preset", "cpu-demo"), ("start", "--preset", "cpu-demo"), ("presets",), ("ablate",)):
        ended = call("train", *words, *place)
        assert ended.code == 2
        assert "pip install 'exuvia[trainer]'" in ended.err
    assert not project.training.exists()


def test_what_the_trainer_does_beside_training_works_in_the_home_that_is_named(
    project: ProjectPaths, place: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[str], str]] = []

    def ran(argv: list[str], env: dict[str, str], check: bool) -> subprocess.CompletedProcess[str]:
        asked.append((argv[4:], env["EXUVIA_HOME"]))
        return subprocess.CompletedProcess(argv, 2 if check else 0)

    monkeypatch.setattr(subprocess, "run", ran)
    assert call("train", "transfer", "shop=RUN", "--streams", "2", "--json", *place).code == 0
    assert asked == [(["transfer", "shop=RUN", "--streams", "2", "--json"], str(project.root.parent))]


def test_a_promotion_goes_through_the_inbox(project: ProjectPaths, place: tuple[str, str]) -> None:
    whole_run(project)
    asked = call("train", "promote", RUN, "--json", *place).document
    assert asked["step"] == 50
    shown = call("approvals", "show", asked["approval_id"], *place).out
    assert "42.9 %" in shown
    assert asked["sha256"] in shown
    assert promotion.in_use(project) is None
    assert call("approvals", "approve", asked["approval_id"], *place).code == 0
    used = promotion.in_use(project)
    assert used is not None
    assert (used.step, used.actor) == (50, "cli")
    assert "in use" in call("train", "list", *place).out
    assert call("train", "dismiss", *place).code == 0
    assert promotion.in_use(project) is None
    other = call("train", "promote", RUN, "--step", "40", "--json", *place).document
    assert call("approvals", "reject", other["approval_id"], "--reason", "no", *place).code == 0
    assert approvals.pending(project) == ()


CHANGING = [
    ("--preset", "cpu-demo"), ("start", "--preset", "cpu-demo"), ("stop", RUN), ("pause", RUN), ("resume", RUN),
    ("promote", RUN), ("dismiss",), ("ablate",),
]  # fmt: skip


@pytest.mark.parametrize("words", CHANGING, ids=" ".join)
def test_a_read_only_home_is_only_looked_at(
    project: ProjectPaths, place: tuple[str, str], words: tuple[str, ...]
) -> None:
    whole_run(project)
    before = tree_hash(project.root.parent)
    ended = call("--read-only", "train", *words, *place)
    assert ended.code == 1
    assert "read-only; nothing was changed" in ended.err
    for looking in (("list",), ("show", RUN), ("compare", RUN, RUN)):
        assert call("--read-only", "train", *looking, *place).code == 0
    assert tree_hash(project.root.parent) == before


def test_each_record_is_told_once_also_one_that_took_the_place_of_another(project: ProjectPaths) -> None:
    files = TrainingFiles(project)
    files.begin()
    files.train(1, 3)
    teller = TrainingTeller()
    first = teller.news(training.read_run(project, RUN))
    assert sum(line.startswith("step ") for line in first) == 3
    files.step(4)
    files.arm("none", 0, 0.5, 20.0, 0.0)  # measured once more at the same step
    second = teller.news(training.read_run(project, RUN))
    assert [line.split("  ")[0] for line in second if line.startswith("step ")] == ["step 4/60"]
    assert any("no memory 50.0 % solved" in line for line in second)
    assert len([line for line in second if "held-out" in line]) == 1


def test_what_is_unknown_is_a_dash(project: ProjectPaths) -> None:
    files = TrainingFiles(project)
    files.event("step", 1, step=1, steps=60)
    (step,) = training.read_run(project, RUN).history.steps
    line = step_line(step)
    assert "reward - (task -" in line
    assert "0.0" not in line


# A real trainer


def spawned(home: Path, *words: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-P", "-c", "from tui.cli.main import main; main()", "train", *words, "--home", str(home)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def small() -> list[str]:
    return [word for key, value in SMALL.items() for word in ("--set", f"{key}={json.dumps(value)}")]


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.meets("K12")
def test_a_run_in_front_prints_its_summary_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="only the trainer extra brings it; make test installs that")
    process = spawned(tmp_path / "home", "--preset", "cpu-demo", "--seed", "5", *small(), "--json")
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err.decode()[-2000:]
    summary = json.loads(out)
    assert {"none", "base", "trained"} <= set(summary["heldout"])
    assert b"step 2/2" in err
    (run,) = training.list_runs(ProjectPaths(tmp_path / "home" / "default_project"))
    assert run.state == "finished"
    assert run.seed == 5
    assert run.damaged_lines == 0
    assert run.best is not None
    assert promotion.propose(ProjectPaths(tmp_path / "home" / "default_project"), run.id).kind == "promotion"


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_ctrl_c_stops_it_with_a_checkpoint_and_resume_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="only the trainer extra brings it; make test installs that")
    home, project = tmp_path / "home", ProjectPaths(tmp_path / "home" / "default_project")
    words = [*small(), "--set", "steps=400", "--set", "evaluate_every=0"]
    process = spawned(home, "--preset", "cpu-demo", *words)
    try:
        deadline = time.monotonic() + 300
        while not any(run.history.steps for run in training.list_runs(project)):
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.2)
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 130, err.decode()[-2000:]
        (run,) = training.list_runs(project)
        assert run.state == "stopped", err.decode()[-2000:]
        kept = run.history.checkpoints[-1].step
        assert kept >= 1
        training.resume(project, run.id)
        while not (step := training.read_run(project, run.id).last) or step.step <= kept:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert training.stop(project, run.id).state == "stopped"
    finally:
        process.kill()
        for run in training.list_runs(project):
            if (who := processes.recorded(jobs.JobPaths(project.training / run.id).engine)) is not None:
                processes.kill_tree(who)
