"""A run of a language model that was killed goes on to the same weights, whole or through adapters (K16)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from core.foundation import strict_json
from trainer import checkpoint
from trainer.commands.run import main
from trainer.policies.tiny_qwen import Shape, build

from .small import SMALL, events

torch.set_num_threads(1)

STEPS = 3
SETTINGS = {
    **{key: value for key, value in SMALL.items() if not key.startswith(("policy.", "imitation."))},
    "device": "cpu", "dtype": "float32", "max_prompt": 160, "max_response": 12,
    "group.batch": 8, "group.rollouts": 4, "group.smallest": 3, "group.largest": 3,
    "imitation.steps": 0, "steps": STEPS, "optimizer.lr": 1e-3,
    "evaluate_every": 0, "checkpoint_every": 1, "sample_every": 0,
    "evaluation.streams": 1, "evaluation.tasks": 2, "evaluation.groups": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a Qwen3 of some ten thousand weights that has whole calls for tokens.

    Untrained, it writes one in about every second answer, so that rollouts differ and an update has a gradient.
    """
    shape = Shape(hidden=16, layers=1, heads=2, key_value_heads=1, head_size=8, intermediate=32, vocabulary=264)
    network, tokenizer = build(["put a hot mug in cabinet."], seed=0, shape=shape)
    for number in range(24):
        content = f"---\nname: skill {number}\ndescription: Use for task {number}.\n---\n# Workflow\n1. Take it.\n"
        arguments = {"skill_name": f"skill {number}", "content": content}
        call = json.dumps({"name": "new_skill_insert", "arguments": arguments})
        tokenizer.add_tokens([f"<tool_call>\n{call}\n</tool_call>"])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    place = tmp_path_factory.mktemp("model")
    network.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def ask(root: Path, model: Path, **more: Any) -> None:
    root.mkdir(parents=True)
    settings = {**SETTINGS, "policy.path": str(model), **{key.replace("__", "."): value for key, value in more.items()}}
    request = {"preset": "smollm2-135m", "seed": 3, "settings": settings}
    (root / "request.json").write_text(strict_json.dumps(request))


def place(tmp_path: Path, name: str) -> Path:
    return tmp_path / "project" / ".exuvia" / "training" / name


def same(one: Path, other: Path) -> None:
    """Compare two finished runs, step by step and bit by bit; and see that there was something to compare."""
    ours, theirs = checkpoint.complete(one), checkpoint.complete(other)
    hashes = [found.state["sha256"] for found in ours]
    assert [found.step for found in ours] == [found.step for found in theirs] == list(range(STEPS + 1))
    assert hashes == [found.state["sha256"] for found in theirs]
    assert len(set(hashes)) == STEPS + 1  # every step moved the weights
    summary, wanted = (strict_json.parse((run / "summary.json").read_text()) for run in (one, other))
    assert summary["reward"] == wanted["reward"]
    assert summary["heldout"] == wanted["heldout"]
    assert events(one, "resume")


MORTAL = """
import os, signal, sys
from core.curation import training_records
from trainer.commands.run import main

def write(events, event, _write=training_records.write, /, **fields):
    _write(events, event, **fields)
    if event == "step" and fields["step"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)

training_records.write = write
main([sys.argv[1], "--json"])
"""
"""A run that dies by kill -9 when its second step is told and its checkpoint isn't written."""


@pytest.mark.meets("K15", "K16")
def test_killed_and_resumed_gives_the_same_weights(model: Path, tmp_path: Path) -> None:
    whole, killed = place(tmp_path, "whole"), place(tmp_path, "killed")
    for root in (whole, killed):
        ask(root, model)
    argv = [sys.executable, "-P", "-c", MORTAL, str(killed)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert [told["step"] for told in events(killed, "checkpoint")] == [0, 1]
    assert not _said(killed, "end", 1)
    assert main([str(killed), "--json"]) == 0
    assert main([str(whole), "--json"]) == 0
    same(killed, whole)


def _said(root: Path, event: str, count: int) -> bool:
    path = root / "events.jsonl"
    return path.is_file() and path.read_text().count(f'"event": "{event}"') >= count


class Died(BaseException):
    """What nothing in a run catches."""


@pytest.mark.meets("K15", "K16")
def test_adapters_with_a_reference_go_on_the_same(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It dies between the two minibatches of a step: half an update is in the weights, and none of it may stay."""
    whole, died = place(tmp_path, "whole"), place(tmp_path, "died")
    more = {"policy__options__lora_rank": 2, "grpo__beta": 0.1, "optimizer__lr": 1e-2}
    ask(whole, model, **more)
    assert main([str(whole), "--json"]) == 0
    ask(died, model, **more)
    taken = 0
    step = torch.optim.AdamW.step

    def mortal(self: torch.optim.AdamW, *args: Any) -> Any:
        nonlocal taken
        taken += 1
        if taken == 4:
            raise Died
        return step(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(torch.optim.AdamW, "step", mortal)
        with pytest.raises(Died):
            main([str(died), "--json"])
    assert not _said(died, "end", 1)
    assert main([str(died), "--json"]) == 0
    same(died, whole)
    steps = events(died, "step")
    assert {told["step"] for told in steps} == {1, 2, 3}
    assert steps[-1]["kl"] > 0  # the reference is the base, not where it was resumed
    assert [told["kl"] for told in steps] == [told["kl"] for told in events(whole, "step")]
