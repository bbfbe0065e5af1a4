"""A policy curates a stream by the real processes: `exuvia stream run --curator PATH` (K6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.curation.curator_process import trained
from core.curation.curators import CurationInput
from tests.cli.program import call
from trainer.policies.loading import make_policy
from trainer.worlds import open_world

pytestmark = pytest.mark.meets("K6")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory like a training run's, with an untrained checkpoint and another one."""
    root = tmp_path_factory.mktemp("run")
    for step, seed in ((0, 1), (3, 2)):
        folder = root / "checkpoints" / f"step-{step:05d}"
        folder.mkdir(parents=True)
        make_policy("tiny", "household", seed=seed, max_prompt=136, max_answer=34).save(folder)
    return root


def test_base_and_trained_curate_the_same_tasks(run: Path, tmp_path: Path) -> None:
    words = ("--world", "household", "--arms", "base,trained", "--tasks", "4", "--seeds", "2", "--json")
    ended = call("stream", "run", *words, "--curator", run, "--home", tmp_path)
    assert ended.code == 0, ended.err
    arms = ended.document["report"]["arms"]
    for name in ("none", "base", "trained"):
        assert (arms[name]["state"], arms[name]["attempts"]) == ("done", 8), arms[name]
    # Two policies with other weights: what they wrote was really asked of them.
    assert arms["base"]["operations"] != arms["trained"]["operations"] or (
        arms["base"]["curation_tokens"] != arms["trained"]["curation_tokens"]
    )


def test_a_policy_refuses_a_world_that_it_was_not_trained_for(run: Path, tmp_path: Path) -> None:
    words = ("--world", "shop", "--arms", "trained", "--tasks", "2", "--seeds", "1", "--json")
    ended = call("stream", "run", *words, "--curator", run, "--home", tmp_path)
    assert ended.code == 1, ended.err
    trained_arm = ended.document["report"]["arms"]["trained"]
    assert trained_arm["state"] == "not run"
    assert "shop" in trained_arm["reason"]
    assert trained_arm["success_micro"] is None


def test_an_answer_is_its_seeds_whatever_else_is_asked(run: Path) -> None:
    world = open_world("household")
    tasks = world.stream("test", 5, 6)
    inputs = [CurationInput(world.run(task, (), "weak"), (), seed=number) for number, task in enumerate(tasks)]
    with trained(run / "checkpoints" / "step-00003", temperature=1.0) as curator:
        whole = curator.curate(inputs)
        one = curator.curate(inputs[4:5])
        other = curator.curate([CurationInput(inputs[4].episode, (), seed=99)])
    assert one[0].text == whole[4].text
    assert other[0].text != one[0].text
    assert all(answer.prompt_tokens and answer.answer_tokens for answer in whole)
