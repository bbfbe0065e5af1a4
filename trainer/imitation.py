"""The imitation phase: cross-entropy on demonstrations, before GRPO (CURATION 2c)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import torch
from torch import nn

from trainer.policies.policy import Policy
from trainer.seeds import derive
from trainer.settings import ImitationOptions

OnStep = Callable[[int, float], bool]
"""Called after each step with its number, from 1, and its loss (mean cross-entropy a token, nats). False ends it."""


def imitate(
    policy: Policy,
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    options: ImitationOptions,
    *,
    seed: int,
    on_step: OnStep | None = None,
) -> float | None:
    """Train `policy` on pairs of prompt and answer; returns the loss of the last step, None without any."""
    optimizer = torch.optim.AdamW(policy.parameters(), options.lr, weight_decay=0.0)
    draw = Random(derive(seed, "imitation"))
    last: float | None = None
    for step in range(1, options.steps + 1):
        batch = draw.sample(pairs, min(options.batch, len(pairs)))
        tokens = sum(len(answer) for _, answer in batch)
        optimizer.zero_grad(set_to_none=True)
        last = 0.0
        for rows in policy.micro_batches([prompt for prompt, _ in batch], [answer for _, answer in batch]):
            scored = policy.logprobs([batch[row][0] for row in rows], [batch[row][1] for row in rows])
            loss = -(scored.logprobs * scored.mask).sum() / tokens
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            last += float(loss.detach())
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if on_step is not None and not on_step(step, last):
            break
    return last
