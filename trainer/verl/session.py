"""One rollout of a task group inside verl: the same position loop and reward as everywhere, another way to generate.

verl gives a session one dataset row and a server to generate with. A session may return many outputs; verl gives the
reward of the last to all of them and computes GRPO from it (verl 0.9, `compute_advantage_for_multi_trajectories`). That
is a SkillOS rollout: |G| prompts of their own, one advantage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.curation.content_judge import ContentJudge
from core.curation.curators import CurationInput
from core.curation.executors import Executor
from core.curation.worlds import Task, World
from core.skillrepo.skill import Skill
from trainer.policies.hf_prompt import ChatPrompt
from trainer.policies.policy import Answer
from trainer.rewards import TERMS, Reward, reward, totals
from trainer.rollout import Roller, Rollout, Stream
from trainer.settings import Training
from trainer.task_groups import task_groups


@dataclass(frozen=True, slots=True)
class Generated:
    """What a server answered: tokens, and their log-probabilities where it gives them."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


Generate = Callable[[Sequence[int], float], Generated]
"""Answers one prompt at a temperature; called from a thread of its own."""


class ServedPolicy:
    """The curator as the rollout knows it, behind a server. It can't score or learn: verl's actor does.

    Invariant: `answered` holds what the server said to each prompt, in order.
    """

    kind = "served"

    def __init__(self, tokenizer: Any, generate: Generate, *, max_prompt: int, max_answer: int) -> None:
        self.max_prompt, self.max_answer = max_prompt, max_answer
        self.answered: list[Generated] = []
        self._tokenizer = tokenizer
        self._generate = generate
        self._chat = ChatPrompt(tokenizer, max_prompt)

    def prompt(self, given: CurationInput) -> list[int]:
        return self._chat.tokens(given)

    def generate(self, prompts: Sequence[Sequence[int]], *, temperature: float, seeds: Sequence[int]) -> list[Answer]:
        """Ask the server; it draws by its own seed."""
        del seeds
        answers: list[Answer] = []
        for prompt in prompts:
            said = self._generate(prompt, temperature)
            said = replace(
                said, ids=said.ids[: self.max_answer], logprobs=said.logprobs and said.logprobs[: self.max_answer]
            )
            self.answered.append(said)
            cut = len(said.ids) == self.max_answer and said.ids[-1] != self._tokenizer.eos_token_id
            answers.append(Answer(said.ids, said.logprobs or (), cut=cut))
        return answers

    def render(self, ids: Sequence[int], given: CurationInput) -> str:
        del given
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def tokens_of(self, skill: Skill) -> int:
        return len(self._chat.encode(skill.content))


@dataclass(frozen=True, slots=True)
class Output:
    """One curation for verl: every answer token is trained on. `reward` stands in the last one only."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    logprobs: tuple[float, ...] | None
    reward: float | None = None
    terms: Mapping[str, float | None] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def group_of(training: Training, world: World, row: Mapping[str, Any], pool: Sequence[Sequence[Task]] = ()) -> Stream:
    """Return what a session walks; a row names the step, the group and the session's number.

    The same group of the same step has the same tasks here as in a run of our own loop.
    """
    step, group = int(row["step"]), int(row["group"])
    groups = task_groups(world, training.group, seed=training.seed, step=step, pool=pool)
    return Stream(group, int(row.get("session_id", 0)), groups[group])


def walk(
    training: Training,
    world: World,
    policy: ServedPolicy,
    stream: Stream,
    *,
    executor: Executor,
    judge: ContentJudge | None,
    step: int,
) -> list[Output]:
    """Walk one rollout and return its outputs, none where its reward could not be measured.

    verl has no mask for a reward, but a session without output takes no part in its group's mean: the same thing.
    """
    curator: Any = policy  # the rollout asks a policy for no more than this one has
    roller = Roller(world, executor, training.retrieval, curator, judge, temperature=training.grpo.temperature)
    (rollout,) = roller.roll([stream], seed=training.seed, purpose=f"step-{step}")
    earned = reward([turn.reward_position(training.judge.success) for turn in rollout.turns], training.reward)
    (total,) = totals([earned], training.reward)
    return [] if total is None else outputs(rollout, policy.answered, total, earned)


def outputs(rollout: Rollout, answered: Sequence[Generated], total: float, earned: Reward) -> list[Output]:
    """Return the curations of a rollout in order, the reward at the last."""
    said = iter(answered)
    found = [
        Output(turn.prompt, turn.answer.ids, generated.logprobs, extra=generated.extra)
        for turn in rollout.turns
        if turn.answer is not None
        for generated in (next(said),)
        if turn.answer.ids
    ]
    if found:
        terms = {term: earned.of(term) for term in TERMS} | {"positions": float(earned.measured)}
        found[-1] = replace(found[-1], reward=total, terms=terms)
    return found
