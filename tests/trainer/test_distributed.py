"""Two processes train as one does: the same rollouts, and weights that differ by rounding alone (K15, K20)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from trainer.distributed import buckets, wanted

ROOT = Path(__file__).parents[2]
SETTINGS = (
    "steps=3",
    "policy.options.width=32",
    "policy.options.layers=1",
    "policy.options.heads=2",
    "imitation.steps=40",
    "imitation.demonstrations=200",
    "imitation.batch=16",
    "imitation.lr=0.01",
    "group.batch=12",
    "group.rollouts=4",
    "group.smallest=3",
    "group.largest=3",
    "evaluate_every=3",
    "checkpoint_every=3",
    "evaluation.validation=2",
    "evaluation.validation_tasks=4",
    "evaluation.streams=3",
    "evaluation.tasks=4",
    "evaluation.groups=2",
    "threads=1",
)


def started(arguments: list[str], processes: int) -> None:
    """Run a module with its arguments in so many processes, to its end."""
    launch = [sys.executable, "-P", "-m"]
    if processes > 1:
        launch += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*launch, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=200)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, said[-3000:]


def run(directory: Path, processes: int) -> None:
    directory.mkdir(parents=True)
    told = [part for setting in SETTINGS for part in ("--set", setting)]
    started(["trainer", "run", str(directory), "--preset", "cpu-demo", "--seed", "4", "--json", *told], processes)


def weights(step: int) -> str:
    return f"checkpoints/step-{step:05d}/model.safetensors"


def events(directory: Path, name: str) -> list[dict[str, Any]]:
    lines = (directory / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


@pytest.mark.long
@pytest.mark.meets("K15", "K20")
def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    one = tmp_path / "p" / ".exuvia" / "training" / "one"
    two = tmp_path / "p" / ".exuvia" / "training" / "two"
    run(one, 1)
    run(two, 2)
    for step in (0, 3):
        alone, shared = load_file(one / weights(step)), load_file(two / weights(step))
        assert alone.keys() == shared.keys()
        assert max(float((weight - shared[key]).abs().max()) for key, weight in alone.items()) < 1e-5
    base = load_file(one / weights(0))
    assert max(float((weight - base[key]).abs().max()) for key, weight in alone.items()) > 1e-4  # it did learn
    mine, theirs = events(one, "step"), events(two, "step")
    assert len(mine) == len(theirs) == 3
    for first, second in zip(mine, theirs, strict=True):
        for field in ("reward", "ops", "valid_calls", "positions", "tokens", "zero_variance_groups", "repo_skills"):
            assert first[field] == pytest.approx(second[field], abs=1e-6), field
        assert first["entropy"] == pytest.approx(second["entropy"], abs=1e-4)
    assert [event["success_micro"] for event in events(one, "evaluation")] == [
        event["success_micro"] for event in events(two, "evaluation")
    ]


@pytest.mark.meets("K15", "K20")
def test_two_processes_update_a_language_model_as_one_does(tmp_path: Path) -> None:
    """With a reference, two minibatches and a process that has nothing to score in one of them."""
    started(["tests.trainer.update_once", str(tmp_path / "1.pt"), str(tmp_path / "2.pt")], 1)
    one, two = (torch.load(tmp_path / f"{processes}.pt") for processes in (1, 2))
    assert one["report"] == pytest.approx(two["report"], abs=1e-5)
    assert torch.allclose(one["weights"], two["weights"], rtol=0, atol=1e-6)
    assert (one["weights"] - one["before"]).abs().max() > 1e-4


def test_gradients_go_in_buckets_of_one_type_in_order() -> None:
    tensors = [torch.zeros(size, dtype=kind) for size, kind in ((3, torch.float32), (2, torch.float32))]
    tensors += [torch.zeros(100), torch.zeros(1, dtype=torch.bfloat16), torch.zeros(1)]
    found = buckets(tensors, most=24)
    assert [[tensor.numel() for tensor in bucket] for bucket in found] == [[3, 2], [100], [1], [1]]


def test_without_torchrun_a_process_is_alone() -> None:
    assert wanted({}) == (0, 1)
    assert wanted({"RANK": "3", "WORLD_SIZE": "8"}) == (3, 8)
