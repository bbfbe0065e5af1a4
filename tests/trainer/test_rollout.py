"""Rollouts: the environment walks, denominators are fixed, every position is its own prompt (K11; lessons 1 to 3)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from core.curation.content_judge import RuleJudge
from core.curation.curators import CurationInput
from core.curation.executors import ScriptedExecutor
from core.skillrepo.retrieval import retrieve
from tests.trainer.small import Losing, policy, taught
from trainer.evaluate import valid_share
from trainer.policies.policy import Answer
from trainer.policies.tiny import TinyPolicy
from trainer.rewards import RewardWeights, reward
from trainer.rollout import Roller, Rollout, Stream
from trainer.settings import GroupOptions, RetrievalOptions
from trainer.task_groups import mixed_streams, rollouts_of, task_groups
from trainer.together import Together, share
from trainer.worlds import open_world

torch.set_num_threads(1)
WORLD = open_world("household")
GATE = RetrievalOptions(min_overlap=0.51)


def walk(streams: Sequence[Stream], curator: TinyPolicy | None, purpose: str = "step-1") -> tuple[Rollout, ...]:
    roller = Roller(WORLD, ScriptedExecutor("weak"), GATE, curator, RuleJudge(WORLD))
    return roller.roll(streams, seed=3, purpose=purpose)


def streams(count: int = 3, size: int = 5) -> list[Stream]:
    groups = task_groups(WORLD, GroupOptions(batch=8, rollouts=4, smallest=size, largest=size), seed=2, step=0)
    return rollouts_of(groups, count)


class Mute(TinyPolicy):
    """A policy that says one thing at every position."""

    def __init__(self, tokens: Sequence[str]) -> None:
        inner = policy()
        super().__init__(inner.book, inner.model)
        self._tokens = tuple(inner.book.encode(tokens))

    def generate(self, prompts: Sequence[Sequence[int]], *, temperature: float, seeds: Sequence[int]) -> list[Answer]:
        del temperature, seeds
        return [Answer(self._tokens, (-0.5,) * len(self._tokens))] * len(prompts)


@pytest.mark.meets("K11")
def test_every_position_is_walked_whatever_the_curator_says() -> None:
    for words in ((), ("END",), ("<eos>",), ("DELETE", "$1", "END", "<eos>")):
        rollouts = walk(streams(), Mute(words))
        for rollout in rollouts:
            assert len(rollout.turns) == 5
            found = reward([turn.reward_position("environment") for turn in rollout.turns], RewardWeights())
            assert (found.expected, found.measured) == (5, 5)
            assert found.calls == 0.0  # silence is not validity
            tail = [turn.episode.success for turn in rollout.turns[1:]]
            assert found.task == sum(map(bool, tail)) / 4  # the denominator is |G| - 1


@pytest.mark.meets("K11")
def test_valid_calls_of_a_measurement_are_r_fc_of_its_answers() -> None:
    assert valid_share(walk(streams(), None)) is None  # nobody answered: unmeasured, not zero
    assert valid_share(walk(streams(), Mute(("<eos>",)))) == 0.0  # silence is not validity
    # One title, inserted at every position: valid once in each repository of five positions.
    line = next(iter(policy().book.lexicon.lines))
    assert valid_share(walk(streams(), Mute(("INSERT", "put", "|", line, "END", "<eos>")))) == pytest.approx(1 / 5)
    walked = walk(streams(), taught())
    terms = [
        reward([turn.reward_position("environment") for turn in one.turns], RewardWeights()).calls for one in walked
    ]
    assert valid_share(walked) == pytest.approx(sum(term or 0.0 for term in terms) / len(terms))


@pytest.mark.meets("K11")
def test_each_position_has_a_prompt_of_its_own_about_its_own_task() -> None:
    curator = taught()
    for rollout in walk(streams(), curator):
        for turn, task in zip(rollout.turns, rollout.stream.tasks, strict=True):
            assert turn.episode.task == task
            assert list(turn.prompt) == curator.prompt(CurationInput(turn.episode, turn.retrieved))
        assert len({turn.prompt for turn in rollout.turns}) == len(rollout.turns)


@pytest.mark.meets("K11", "K3")
def test_repositories_start_empty_and_are_never_shared() -> None:
    rollouts = walk(streams(4), taught())
    for rollout in rollouts:
        held: tuple[object, ...] = ()
        for turn in rollout.turns:
            found = retrieve(turn_skills(held), turn.episode.task.text, min_overlap=0.51)
            assert turn.retrieved == tuple(hit.skill for hit in found)
            held = turn.skills
        assert rollout.turns[0].retrieved == ()
    endings = {tuple(skill.title for skill in rollout.turns[-1].skills) for rollout in rollouts}
    assert len(endings) > 1


def turn_skills(held: tuple[object, ...]) -> tuple:  # type: ignore[type-arg]  # what it was given
    return held


@pytest.mark.meets("K11", "K6")
def test_a_lost_attempt_is_masked_not_curated_and_not_zero() -> None:
    walked = streams()
    lost = walked[0].tasks[2].id
    roller = Roller(WORLD, Losing([lost]), GATE, taught(), RuleJudge(WORLD))
    rollout = roller.roll(walked[:1], seed=3, purpose="step-1")[0]
    turn = rollout.turns[2]
    assert turn.answer is None
    assert turn.episode.success is None
    found = reward([one.reward_position("environment") for one in rollout.turns], RewardWeights())
    assert (found.expected, found.measured) == (5, 4)
    others = [float(bool(one.episode.success)) for one in rollout.turns[1:] if one.episode.success is not None]
    assert found.task == pytest.approx(sum(others) / 3)
    assert rollout.turns[3].retrieved == tuple(
        hit.skill for hit in retrieve(rollout.turns[1].skills, rollout.turns[3].episode.task.text, min_overlap=0.51)
    )  # the repository of before goes on


@pytest.mark.meets("K11")
def test_a_judge_that_is_off_leaves_content_unmeasured() -> None:
    roller = Roller(WORLD, ScriptedExecutor("weak"), GATE, Mute(("INSERT", "put", "|", "TAKE", "END", "<eos>")), None)
    rollout = roller.roll(streams()[:1], seed=3, purpose="step-1")[0]
    found = reward([turn.reward_position("environment") for turn in rollout.turns], RewardWeights())
    assert found.judge_unmeasured == 1  # the first insert; the others collide with it
    assert found.content == 0.0


@pytest.mark.meets("K11")
def test_a_rollout_is_the_same_alone_and_among_others() -> None:
    walked, curator = streams(3), taught()
    together = walk(walked, curator)
    for at in (0, 4):
        (alone,) = walk([walked[at]], curator)
        assert spoken([alone]) == spoken([together[at]])
    assert spoken(walk(walked, curator, "step-2")) != spoken(together)


def spoken(rollouts: Sequence[Rollout]) -> list[tuple[object, ...]]:
    """Return what was said and written at every position; log-probabilities round with the batch."""
    turns = [turn for rollout in rollouts for turn in rollout.turns]
    return [(turn.episode, turn.prompt, turn.answer and turn.answer.ids, turn.skills) for turn in turns]


def test_streams_of_unequal_length_end_on_their_own() -> None:
    tasks = WORLD.stream("train", 1, 6)
    rollouts = walk([Stream(0, 0, tasks[:2]), Stream(1, 0, tasks)], policy())
    assert [len(rollout.turns) for rollout in rollouts] == [2, 6]


def test_without_a_curator_the_repository_stays_as_it_is() -> None:
    roller = Roller(WORLD, ScriptedExecutor("weak"), GATE)
    (rollout,) = roller.roll([Stream(0, 0, WORLD.stream("test", 1, 30))], seed=0, purpose="x", skills=WORLD.oracle())
    assert any(turn.retrieved for turn in rollout.turns)
    assert all(turn.answer is None and turn.verdicts == () for turn in rollout.turns)


def test_groups_share_their_family_and_take_turns() -> None:
    options = GroupOptions(batch=32, rollouts=8)
    seen: list[str] = []
    for step in range(3):
        for group in task_groups(WORLD, options, seed=1, step=step):
            assert len(group) == 10
            assert len({task.family for task in group}) == 1
            assert all(task.split == "train" for task in group)
            seen.append(group[0].family)
    assert sorted(seen) == sorted([*WORLD.families] * 2)
    assert task_groups(WORLD, options, seed=1, step=0) == task_groups(WORLD, options, seed=1, step=0)
    assert task_groups(WORLD, options, seed=1, step=0) != task_groups(WORLD, options, seed=2, step=0)


@pytest.mark.meets("K14")
def test_random_sequences_and_strangers_mix_families() -> None:
    mixed = task_groups(WORLD, GroupOptions(by="random"), seed=1, step=0)
    assert all(len({task.family for task in group}) > 2 for group in mixed)
    some = task_groups(WORLD, GroupOptions(batch=320, strangers=0.3), seed=1, step=0)
    kin = [sum(task.family == max(names, key=names.count) for task in group) for group, names in named(some)]
    assert 6 <= sum(kin) / len(kin) <= 9


def named(groups: Sequence[Sequence[object]]) -> list[tuple[Sequence, list[str]]]:  # type: ignore[type-arg]  # tasks
    return [(group, [task.family for task in group]) for group in groups]  # type: ignore[attr-defined]  # tasks


def test_sizes_are_drawn_between_smallest_and_largest() -> None:
    sizes = [
        len(group)
        for step in range(20)
        for group in task_groups(WORLD, GroupOptions(smallest=5, largest=12), seed=1, step=step)
    ]
    assert min(sizes) == 5
    assert max(sizes) == 12


def test_processes_share_the_groups_out() -> None:
    whole = rollouts_of(task_groups(WORLD, GroupOptions(), seed=1, step=0), 2)
    parts = [share(whole, cast("Together", SimpleNamespace(rank=rank, size=3))) for rank in range(3)]
    assert [stream for part in parts for stream in part] == whole
    halves = [share(whole, cast("Together", SimpleNamespace(rank=rank, size=2))) for rank in range(2)]
    assert not {stream.group for stream in halves[0]} & {stream.group for stream in halves[1]}  # whole groups


@pytest.mark.meets("K16")
def test_two_hash_seeds_give_the_same_rollout() -> None:
    """Set order once made runs irreproducible (CURATION 2c finding 7)."""
    code = (
        "import hashlib; from tests.trainer.test_rollout import walk, streams, taught;"
        "found = walk(streams(), taught());"
        "text = repr([(t.prompt, t.answer, [s.content for s in t.skills], t.episode) for r in found for t in r.turns]);"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-P", "-c", code],
            env={**__import__("os").environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert digests[0] == digests[1]
    assert digests[0].strip()


def test_held_out_tasks_are_of_the_split_and_the_same_for_every_run() -> None:
    first = mixed_streams(WORLD, "test", seed=9, purpose="final", count=2, tasks=20)
    assert first == mixed_streams(WORLD, "test", seed=9, purpose="final", count=2, tasks=20)
    assert {task.split for stream in first for task in stream.tasks} == {"test"}
    other = mixed_streams(WORLD, "train", seed=9, purpose="validation", count=2, tasks=20)
    assert not {task.id for stream in first for task in stream.tasks} & {t.id for s in other for t in s.tasks}
