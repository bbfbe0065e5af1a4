"""The loop as a process: files, resume after kill -9, pause, stop, refusals (K10, K11, K16, K17; lesson 10)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.curation import jobs
from core.curation.training_records import read
from core.curation.training_samples import read_samples
from core.foundation import strict_json
from tests.once import once
from tests.trainer.small import ask, events
from trainer import checkpoint

RUN = [sys.executable, "-P", "-m", "trainer", "run"]


def run(root: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, str(root), *more], capture_output=True, text=True, timeout=280, check=False)


def begin(root: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([*RUN, str(root)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def place(tmp_path: Path, name: str) -> Path:
    return tmp_path / "project" / ".exuvia" / "training" / name


def until(root: Path, event: str, count: int = 1) -> None:
    """Wait until the run has said `event` that often."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if (root / "events.jsonl").is_file():
            text = (root / "events.jsonl").read_text()
            if text.count(f'"event": "{event}"') >= count:
                return
        time.sleep(0.02)
    pytest.fail(f"the run never said {event}")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a whole small run."""

    def make(directory: Path) -> Path:
        root = place(directory, "whole")
        ask(root)
        done = run(root, "--json")
        assert done.returncode == 0, done.stderr
        (root / "printed.json").write_text(done.stdout)
        return root

    return once(tmp_path_factory, "small-training", make)


@pytest.mark.meets("K17")
def test_every_record_is_one_that_the_console_reads(finished: Path) -> None:
    found = read(finished / "events.jsonl")
    assert found.gaps == ()
    assert found.skipped == 0
    names = [line["event"] for line in events(finished)]
    assert names[0] == "start"
    assert names[-1] == "end"
    assert {"imitation", "evaluation", "step", "sample", "checkpoint"} <= set(names)


@pytest.mark.meets("K11", "K17")
def test_a_step_tells_positions_rewards_and_where_its_time_went(finished: Path) -> None:
    steps = events(finished, "step")
    assert [step["step"] for step in steps] == [1, 2, 3, 4]
    for step in steps:
        assert step["positions"] == {"expected": 32, "measured": 32}  # 8 rollouts of 4 positions
        reward = step["reward"]
        assert reward["total"] == pytest.approx(
            reward["task"] + reward["calls"] + 0.1 * reward["content"] + 0.05 * reward["compression"], abs=1e-6
        )
        assert set(reward) == set(step["spread"])
        assert 0 <= step["zero_variance_groups"] <= 1
        assert step["entropy"] > 0
        assert step["gradient_norm"] > 0
        assert step["kl"] is None
        assert step["tokens_per_s"] > 0
        parts = step["seconds"]
        assert parts["total"] == pytest.approx(sum(parts.values()) - parts["total"], abs=0.01)
        assert step["device"]["rss_bytes"] > 10_000_000
        assert sum(step["headings"].values()) >= 0


@pytest.mark.meets("K17")
def test_samples_hold_one_rollout_of_each_group(finished: Path) -> None:
    found = read_samples(finished / "samples" / "step-00002.json")
    assert found.step == 2
    assert [rollout.group for rollout in found.rollouts] == [0, 1]
    assert all(len(rollout.positions) == 4 for rollout in found.rollouts)


@pytest.mark.meets("K12", "K13")
def test_the_summary_is_printed_and_kept(finished: Path) -> None:
    printed = strict_json.parse((finished / "printed.json").read_text())
    assert printed == strict_json.parse((finished / "summary.json").read_text())
    assert set(printed["heldout"]) == {"none", "base", "trained"}
    for arm in printed["heldout"].values():
        assert 0 <= arm["sr"] <= 1
        assert 0 < arm["steps"] <= 30
        assert arm["tasks"] == 24
    assert printed["seeds"] == [0]
    assert printed["reward"]["task"]["first"] is not None
    assert abs(sum(share["first"] for share in printed["ops"].values()) - 1) < 1e-6
    assert (finished / printed["checkpoint"]["path"] / "model.safetensors").is_file()
    assert printed["fingerprint"]
    assert printed["wall_s"] > 0


@pytest.mark.meets("K16")
def test_all_weights_are_kept_and_the_optimizer_once(finished: Path) -> None:
    kept = checkpoint.complete(finished)
    assert [one.step for one in kept] == [0, 2, 4]
    assert [one.can_resume for one in kept] == [False, False, True]
    for one, said in zip(kept, events(finished, "checkpoint"), strict=True):
        assert checkpoint.weights_hash(one.path) == said["sha256"] == one.state["sha256"]


def test_the_trained_arm_is_the_best_of_validation_and_never_the_base(finished: Path) -> None:
    summary = strict_json.parse((finished / "summary.json").read_text())
    validated = {int(step): share for step, share in summary["validation"].items() if int(step) > 0}
    assert set(validated) == {2, 4}
    best = max(validated, key=lambda step: (validated[step], step))
    assert summary["checkpoint"]["step"] == best
    assert summary["checkpoint"]["validation"] == validated[best]


@pytest.mark.meets("K12")
def test_the_resolved_settings_are_written_and_printed_before_the_run(tmp_path: Path) -> None:
    root = place(tmp_path, "told")
    root.mkdir(parents=True)
    done = run(root, "--preset", "cpu-demo", "--set", "world=nowhere")
    assert done.returncode == 2
    assert "no world 'nowhere'" in done.stderr
    ask(root, steps=0, imitation__steps=0, evaluate_every=0)
    done = run(root)
    assert "Compared with Table 4" in done.stdout
    assert "optimizer.lr" in done.stdout
    spec = strict_json.parse((root / "spec.json").read_text())
    assert spec["settings"]["grpo.epsilon"] == 0.2
    assert spec["table4"]["optimizer.lr"]["paper"] == 1e-6
    assert spec["world"]["name"] == "household"


@pytest.mark.meets("K16")
def test_killed_and_resumed_gives_the_same_weights(finished: Path, tmp_path: Path) -> None:
    """kill -9 in the midst of a step, twice; the same bits come out in the end."""
    root = place(tmp_path, "killed")
    ask(root)
    for event, count in (("step", 1), ("step", 3)):
        process = begin(root)
        until(root, event, count)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = run(root)
    assert done.returncode == 0, done.stderr
    ours, theirs = checkpoint.complete(root)[-1], checkpoint.complete(finished)[-1]
    assert ours.step == theirs.step == 4
    assert ours.state["sha256"] == theirs.state["sha256"]
    summary, other = (strict_json.parse((one / "summary.json").read_text()) for one in (root, finished))
    assert summary["heldout"] == other["heldout"]
    assert summary["reward"] == other["reward"]
    assert events(root, "resume")


@pytest.mark.meets("K16")
def test_a_stopped_run_keeps_a_checkpoint_and_goes_on_the_same(finished: Path, tmp_path: Path) -> None:
    root = place(tmp_path, "stopped")
    ask(root)
    process = begin(root)
    until(root, "step", 1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 3
    end = events(root, "end")[-1]
    assert end["state"] == "stopped"
    assert "can be resumed" in end["reason"]
    assert not jobs.alive(root)
    assert run(root).returncode == 0
    ours, theirs = checkpoint.complete(root)[-1], checkpoint.complete(finished)[-1]
    assert ours.state["sha256"] == theirs.state["sha256"]


def test_a_paused_run_waits_and_goes_on(tmp_path: Path) -> None:
    root = place(tmp_path, "paused")
    ask(root, steps=3, evaluate_every=0, evaluation__streams=1)
    (root / "control").write_text("pause")
    process = begin(root)
    until(root, "pause")
    time.sleep(0.5)
    assert not events(root, "step")
    jobs.order(root, "run")
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    names = [line["event"] for line in events(root)]
    assert names.index("pause") < names.index("resume") < names.index("step")


@pytest.mark.meets("K16")
def test_without_checkpoints_in_between_the_last_step_is_kept_and_used(tmp_path: Path) -> None:
    root = place(tmp_path, "last")
    ask(root, checkpoint_every=0, evaluate_every=0, sample_every=0, steps=3)
    done = run(root, "--json")
    assert done.returncode == 0, done.stderr
    assert [one.step for one in checkpoint.complete(root)] == [0, 3]  # the base, and what was trained
    summary = strict_json.parse((root / "summary.json").read_bytes())
    assert isinstance(summary, dict)
    assert summary["checkpoint"]["step"] == 3
    assert summary["checkpoint"]["path"].endswith("step-00003")


def test_a_torn_checkpoint_is_none(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "torn"
    for step in (1, 2):
        checkpoint.directory(root, step).mkdir(parents=True)
    source = checkpoint.complete(finished)[-1].path
    for name in ("state.json", "optimizer.pt", "model.safetensors"):
        (checkpoint.directory(root, 1) / name).write_bytes((source / name).read_bytes())
    (checkpoint.directory(root, 2) / "model.safetensors").write_bytes(b"half")
    (root / "checkpoints" / ".tmp-step-00003").mkdir()
    found = checkpoint.latest(root)
    assert found is not None
    assert found.step == 1


def test_two_processes_never_work_on_one_run(finished: Path) -> None:
    with jobs.at_work(finished):
        done = run(finished)
    assert done.returncode == 1
    assert "worked on" in done.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grpo.betta": 1}, "no setting 'grpo.betta'"),
        ({"executor.name": "mighty"}, "no executor 'mighty'"),
        ({"policy.kind": "hf"}, "needs policy.path"),
        ({"group.by": "pipeline"}, "needs group.file"),
        ({"judge.content": "me"}, "no content judge 'me'"),
    ],
)
def test_what_cannot_begin_is_said_in_a_line(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    root = place(tmp_path, "wrong")
    root.mkdir(parents=True)
    request = {"preset": "cpu-demo", "seed": 0, "settings": settings}
    (root / "request.json").write_text(json.dumps(request))
    done = run(root)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_world_that_changed_is_not_trained_on(finished: Path, tmp_path: Path) -> None:
    root = place(tmp_path, "changed")
    root.mkdir(parents=True)
    spec = strict_json.parse((finished / "spec.json").read_text())
    spec["world"]["fingerprint"] = "another"
    (root / "spec.json").write_text(strict_json.dumps(spec))
    done = run(root)
    assert done.returncode == 1
    assert "another one than when this run began" in done.stderr
