"""One GRPO update of a small language model in as many processes as there are; a program of test_distributed."""

from __future__ import annotations

import sys
from dataclasses import astuple

import torch

from tests.trainer.small_models import curation, flat, small_policy
from trainer.distributed import joined
from trainer.grpo import Sample, update
from trainer.settings import GrpoOptions


def main(path: str) -> None:
    """Update once and write report and weights to `path`."""
    policy = small_policy(max_answer=12)
    prompts = [tuple(policy.prompt(curation(number))) for number in (0, 0, 1)]
    answers = policy.generate(prompts, temperature=1.0, seeds=range(3))
    samples = [
        Sample(prompt, answer.ids, answer.logprobs, gain)
        for prompt, answer, gain in zip(prompts, answers, (0.5, -0.25, -0.25), strict=True)
    ]
    before = flat(policy)
    policy.keep_reference()
    optimizer = torch.optim.SGD(policy.parameters(), 0.5)  # AdamW makes a step of rounding where a gradient is zero
    with joined() as together:
        report = update(policy, optimizer, samples, GrpoOptions(beta=0.001, minibatches=2), together=together)
        if together.rank == 0:
            told = [float(value) for value in astuple(report) if value is not None]
            torch.save({"report": told, "weights": flat(policy), "before": before}, path)


if __name__ == "__main__":
    main(sys.argv[1])
