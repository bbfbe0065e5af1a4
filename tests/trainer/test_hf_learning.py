"""The path of large models learns, in small: a Qwen3 imitates, then GRPO on r_fc makes its calls valid (K15)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from core.curation.curators import CurationInput
from core.curation.prompt import skills_text
from core.foundation import strict_json
from core.skillrepo import calls
from core.skillrepo.repository import Repository
from trainer.commands import arms
from trainer.grpo import Sample, advantages, update
from trainer.imitation import imitate
from trainer.policies.hf import HfPolicy
from trainer.policies.policy import Answer
from trainer.rewards import Position, RewardWeights, reward
from trainer.settings import GrpoOptions, ImitationOptions

from .small_models import CALL, curation, skill, small_policy

UNKNOWN = CALL.replace("heat first", "heat it")
BROKEN = CALL.removesuffix("</tool_call>")


def given(number: int) -> CurationInput:
    return curation(number, skills=(skill(),))


def prompt(policy: HfPolicy, one: CurationInput) -> list[int]:
    """Return a short prompt in the model's own template: task and skills in view, without the long instructions."""
    text = policy.chat.chat("Curate.", f"{one.episode.task.text}\n{skills_text(one.retrieved)}")
    return policy.chat.encode(text)


def validities(policy: HfPolicy, inputs: Sequence[CurationInput], answers: Sequence[Answer]) -> list[float]:
    """Return r_fc of each answer, applied to a repository that holds what was in view."""
    found: list[float] = []
    for one, answer in zip(inputs, answers, strict=True):
        verdicts = Repository(one.retrieved).apply(calls.parse(policy.render(answer.ids, one)))
        position = Position(0.0, calls=len(verdicts), valid_calls=sum(verdict.valid for verdict in verdicts))
        found.append(reward([position] * 2, RewardWeights()).calls or 0.0)
    return found


def measured(policy: HfPolicy) -> float:
    """Return the share of valid calls on inputs that nothing is trained on, always with the same draws."""
    inputs = [given(number) for number in range(100, 148)]
    answers = policy.generate([prompt(policy, one) for one in inputs], temperature=1.0, seeds=range(len(inputs)))
    found = validities(policy, inputs, answers)
    return sum(found) / len(found)


@pytest.mark.meets("K15")
def test_grpo_raises_the_share_of_valid_calls_of_a_base_that_imitated() -> None:
    policy = small_policy(max_answer=40)
    inputs = [given(number) for number in range(8)]
    pairs = [(prompt(policy, one), policy.encode(text)) for one in inputs for text in (CALL, UNKNOWN, UNKNOWN, BROKEN)]
    imitate(policy, pairs, ImitationOptions(steps=120, batch=8, lr=4e-3, decay=0.1), seed=1)
    base = measured(policy)
    assert 0.1 < base < 0.5  # one demonstration in four is valid
    optimizer = torch.optim.AdamW(policy.parameters(), 1e-3, weight_decay=0.0)
    for step in range(12):
        asked = [inputs[(step * 4 + group) % len(inputs)] for group in range(4) for _ in range(8)]
        asked_for = [prompt(policy, one) for one in asked]
        answers = policy.generate(asked_for, temperature=1.0, seeds=range(1_000 * step, 1_000 * step + len(asked)))
        earned = validities(policy, asked, answers)
        gains = [gain for at in range(0, len(earned), 8) for gain in advantages(earned[at : at + 8])]
        samples = [
            Sample(tuple(ids), answer.ids, answer.logprobs, gain)
            for ids, answer, gain in zip(asked_for, answers, gains, strict=True)
            if gain is not None
        ]
        update(policy, optimizer, samples, GrpoOptions(minibatches=2))
    assert measured(policy) >= base + 0.3


@pytest.mark.soak
@pytest.mark.meets("K15")
@pytest.mark.timeout(20_000)
def test_the_small_qwen_preset_raises_the_share_of_valid_calls_on_three_seeds(tmp_path: Path) -> None:
    """Nobody tuned on these seeds: each gains 30 points or more on held-out groups within 30 steps."""
    assert arms.main(["--preset", "qwen3-tiny-ci", "--first-seed", "31", "--into", str(tmp_path / "arms")]) == 0
    found = strict_json.parse((tmp_path / "arms" / "arms.json").read_bytes())["valid_calls"]["grouped"]
    for base, trained in zip(found["base"], found["trained"], strict=True):
        assert trained >= base + 0.3, found
