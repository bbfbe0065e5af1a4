"""One round of one side of tests.perf.grpo, in a process of its own; prints a JSON line."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from core.curation.content_judge import RuleJudge
from core.curation.executors import ScriptedExecutor
from trainer.grpo import Sample, advantages, update
from trainer.policies.hf import HfOptions, HfPolicy
from trainer.policies.policy import Answer
from trainer.policies.tiny_corpus import world_texts
from trainer.policies.tiny_qwen import Shape, build
from trainer.rewards import RewardWeights, reward, totals
from trainer.rollout import Clock, Roller, Rollout, by_group
from trainer.settings import GroupOptions, GrpoOptions, RetrievalOptions
from trainer.task_groups import rollouts_of, task_groups
from trainer.worlds import open_world

STEPS = 3  # the first warms up
GATE = RetrievalOptions(min_overlap=0.51)
MOST = {"prompt": 768, "answer": 96}


def policy_of(answer: int = MOST["answer"]) -> HfPolicy:
    """Return the same untrained 3 M Qwen3 for both sides."""
    model, tokenizer = build(world_texts(open_world("household"), 100), seed=0, shape=Shape())
    return HfPolicy(model, tokenizer, HfOptions(device="cpu", max_prompt=MOST["prompt"], max_answer=answer))


def fixed_prompts(policy: HfPolicy, length: int, count: int) -> list[list[int]]:
    """Return prompts of exactly `length` tokens, different ones."""
    ids = policy.chat.encode(
        "put a hot apple in countertop. You arrive at loc 3. On the shelf 1, you see a mug 2. " * 99
    )
    return [[*ids[start : start + length - 1], 300 + start] for start in range(count)]


def timed(step: Callable[[int], float]) -> dict[str, float]:
    """Return tokens and seconds of the steps after the first; `step` returns its tokens."""
    step(0)
    began, tokens = time.perf_counter(), 0.0
    for number in range(1, STEPS):
        tokens += step(number)
    return {"tokens": tokens, "seconds": time.perf_counter() - began}


# Identical work -------------------------------------------------------------------------------------------------


def identical_ours(*, small: bool) -> dict[str, float]:
    """Generate, reward and update; answers have no end token, so that all are of full length."""
    prompt, answer, groups, each = (64, 16, 2, 8) if small else (128, 64, 4, 8)
    policy = policy_of(answer)
    policy.stops = ()
    optimizer = torch.optim.AdamW(policy.parameters(), 1e-4, weight_decay=0.0)
    prompts = fixed_prompts(policy, prompt, 64)

    def step(number: int) -> float:
        chosen = [prompts[(number * groups + group) % 64] for group in range(groups) for _ in range(each)]
        answers = policy.generate(chosen, temperature=1.0, seeds=range(number * 64, number * 64 + len(chosen)))
        samples: list[Sample] = []
        for group in range(groups):
            rows = range(group * each, group * each + each)
            gains = advantages([len(set(answers[row].ids)) / 50 for row in rows])
            samples += [
                Sample(tuple(chosen[row]), answers[row].ids, answers[row].logprobs, gain or 0.0)
                for row, gain in zip(rows, gains, strict=True)
            ]
        update(policy, optimizer, samples, GrpoOptions(minibatches=1))
        return float(sum(len(one.ids) for one in answers))

    return timed(step)


def identical_trl(*, small: bool) -> dict[str, float]:
    """Let GRPOTrainer do the same: same model, prompts, lengths, loss."""
    prompt, answer, groups, each = (64, 16, 2, 8) if small else (128, 64, 4, 8)
    policy = policy_of(answer)
    texts = [policy.tokenizer.decode(ids) for ids in fixed_prompts(policy, prompt, 64)]
    rows = groups * each
    return _trl(
        policy,
        [{"prompt": text} for text in texts],
        lambda completions, **_: [len(set(one)) / 50 for one in completions],
        batch=rows,
        group=each,
        answer=answer,
        tokens=lambda: float(rows * answer),
        generation_kwargs={"min_new_tokens": answer},
    )


# A whole step ---------------------------------------------------------------------------------------------------


def geometry(*, small: bool) -> GroupOptions:
    if small:
        return GroupOptions(batch=4, rollouts=2, smallest=2, largest=2)
    return GroupOptions(batch=32, rollouts=8, smallest=10, largest=10)


def step_ours(*, small: bool) -> dict[str, float]:
    """Walk, reward and update as the training loop does."""
    world, group = open_world("household"), geometry(small=small)
    policy, weights = policy_of(), RewardWeights()
    optimizer = torch.optim.AdamW(policy.parameters(), 1e-4, weight_decay=0.0)
    outside = [0.0, 0.0]

    def step(number: int) -> float:
        began, clock = time.perf_counter(), Clock()
        roller = Roller(world, ScriptedExecutor("weak"), GATE, policy, RuleJudge(world), clock=clock)
        streams = rollouts_of(task_groups(world, group, seed=0, step=number), group.rollouts)
        rollouts = roller.roll(streams, seed=0, purpose=f"step-{number}")
        samples = [
            Sample(turn.prompt, turn.answer.ids, turn.answer.logprobs, gain or 0.0)
            for one in by_group(rollouts)
            for rollout, gain in zip(one, _gains(one, weights), strict=True)
            for turn in rollout.turns
            if turn.answer is not None
        ]
        updating = time.perf_counter()
        update(policy, optimizer, samples, GrpoOptions(minibatches=1))
        ended = time.perf_counter()
        if number:
            outside[0] += ended - began - clock.generate - (ended - updating)
            outside[1] += ended - began
        return float(sum(len(sample.answer) for sample in samples))

    found = timed(step)
    return {**found, "outside": outside[0] / outside[1]}


def _gains(group: list[Rollout], weights: RewardWeights) -> tuple[float | None, ...]:
    earned = [reward([turn.reward_position("environment") for turn in one.turns], weights) for one in group]
    return advantages(totals(earned, weights))


class Generated(HfPolicy):
    """Prompts, rendering and counting as ours; generation by transformers' `generate`, as a user of TRL would."""

    def generate(self, prompts: Any, *, temperature: float, seeds: Any) -> list[Answer]:
        del seeds
        ids, mask, _ = self.network.left_padded(prompts)
        with torch.no_grad():
            made = self.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids) if mask is None else mask,
                max_new_tokens=self.max_answer,
                do_sample=True,
                temperature=temperature,
            )[:, ids.shape[1] :]
        answers = []
        for row in made.tolist():
            ends = [place for place, token in enumerate(row) if token in self.stops]
            kept = row[: ends[0] + 1] if ends else row
            answers.append(Answer(tuple(kept), (0.0,) * len(kept), cut=not ends))
        return answers


def step_trl(*, small: bool) -> dict[str, float]:
    """Let GRPOTrainer update on rollouts that a rollout function walks; rows are (group, position)."""
    world, group = open_world("household"), geometry(small=small)
    ours, weights = policy_of(), RewardWeights()
    size, groups, each = group.largest, group.groups, group.rollouts
    counted: list[float] = []

    def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
        walker = Generated(trainer.model, ours.tokenizer, ours.options)
        number = len(counted)
        roller = Roller(world, ScriptedExecutor("weak"), GATE, walker, RuleJudge(world))
        streams = rollouts_of(task_groups(world, group, seed=0, step=number), each)
        walked = by_group(roller.roll(streams, seed=0, purpose=f"step-{number}"))
        earned = [
            totals([reward([t.reward_position("environment") for t in one.turns], weights) for one in part], weights)
            for part in walked
        ]
        rows = [
            (walked[at][n].turns[position], earned[at][n])
            for at in range(groups)
            for position in range(size)
            for n in range(each)
        ]
        answers = [turn.answer for turn, _ in rows if turn.answer is not None]
        assert len(answers) == len(prompts) == groups * size * each
        counted.append(float(sum(len(answer.ids) for answer in answers)))
        return {
            "prompt_ids": [list(turn.prompt) for turn, _ in rows],
            "completion_ids": [list(answer.ids) for answer in answers],
            "logprobs": [list(answer.logprobs) for answer in answers],
            "earned": [value or 0.0 for _, value in rows],
        }

    data = [{"prompt": f"group {at} position {position}"} for at in range(groups) for position in range(size)]
    return _trl(
        ours,
        data * STEPS,
        lambda completions, earned, **_: earned,
        batch=groups * size * each,
        group=each,
        answer=MOST["answer"],
        tokens=lambda: counted[-1],
        rollout_func=rollout,
    )


def _trl(
    policy: HfPolicy,
    rows: list[dict[str, str]],
    score: Callable[..., Any],
    *,
    batch: int,
    group: int,
    answer: int,
    tokens: Callable[[], float],
    rollout_func: Any = None,
    generation_kwargs: dict[str, Any] | None = None,
) -> dict[str, float]:
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    marks: list[tuple[float, float]] = []

    class Watch(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
        def on_step_end(self, *_: Any, **__: Any) -> None:
            marks.append((time.perf_counter(), tokens()))

    # The whole batch must fit one forward pass of the trainer's; what doesn't is split as TRL splits.
    micro = min(batch, 32)
    with tempfile.TemporaryDirectory() as place:
        config = GRPOConfig(
            output_dir=str(Path(place) / "out"),
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=batch // micro,
            num_generations=group,
            max_completion_length=answer,
            max_steps=STEPS,
            learning_rate=1e-4,
            beta=0.0,
            scale_rewards="none",
            epsilon=0.2,
            temperature=1.0,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            shuffle_dataset=False,
            disable_tqdm=True,
            generation_kwargs=generation_kwargs,
        )
        more = {} if rollout_func is None else {"rollout_func": rollout_func}
        trainer = GRPOTrainer(
            model=policy.model,
            reward_funcs=score,
            args=config,
            train_dataset=Dataset.from_list(rows),
            processing_class=policy.tokenizer,
            callbacks=[Watch()],
            **more,
        )
        trainer.train()
    return {"tokens": sum(count for _, count in marks[1:]), "seconds": marks[-1][0] - marks[0][0]}


WORK = {
    ("ours", "identical"): identical_ours,
    ("trl", "identical"): identical_trl,
    ("ours", "step"): step_ours,
    ("trl", "step"): step_trl,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("side")
    parser.add_argument("work")
    parser.add_argument("--small", action="store_true")
    asked = parser.parse_args()
    print(json.dumps(WORK[asked.side, asked.work](small=asked.small)))
