"""The same GRPO update on a language model: three steps, all finite, the better answers get likelier (K15)."""

from __future__ import annotations

import math

import pytest
import torch

from trainer.grpo import Sample, advantages, update
from trainer.policies.hf_model import Lora
from trainer.settings import GrpoOptions

from .small_models import curation, flat, small_policy


@pytest.mark.meets("K15")
@pytest.mark.parametrize("lora", [None, Lora(rank=4)])
def test_three_steps_move_the_weights_towards_the_better_answers(lora: Lora | None) -> None:
    policy = small_policy(lora=lora, max_answer=10)
    prompt = tuple(policy.prompt(curation()))
    before = flat(policy)
    optimizer = torch.optim.AdamW(policy.parameters(), 3e-3, weight_decay=0.0)
    wanted = policy.chat.encode("put")[0]
    counts = []
    for step in range(3):
        answers = policy.generate([prompt] * 8, temperature=1.0, seeds=range(step * 8, step * 8 + 8))
        counts.append([answer.ids.count(wanted) + answer.ids[0] / 10_000 for answer in answers])
        gains = advantages(counts[-1])
        samples = [
            Sample(prompt, answer.ids, answer.logprobs, gain)
            for answer, gain in zip(answers, gains, strict=True)
            if gain is not None
        ]
        with torch.no_grad():
            old = policy.logprobs([prompt] * 8, [sample.answer for sample in samples])
        report = update(policy, optimizer, samples, GrpoOptions(minibatches=1))
        assert math.isfinite(report.loss)
        assert math.isfinite(report.gradient_norm)
        assert report.gradient_norm > 0
        assert report.clip_fraction == 0  # one minibatch: the update begins where the rollout was
        assert report.entropy is not None
        with torch.no_grad():
            new = policy.logprobs([prompt] * 8, [sample.answer for sample in samples])
        moved = ((new.logprobs - old.logprobs) * new.mask).sum(1)
        assert float((moved * torch.tensor([sample.advantage for sample in samples])).sum()) > 0
    assert not torch.equal(before, flat(policy))
