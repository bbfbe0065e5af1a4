"""The imitation phase: cross-entropy on demonstrations, before GRPO (CURATION 2c)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import torch

from trainer.finite import require_finite_gradient, require_finite_weights
from trainer.policies.policy import Policy
from trainer.seeds import derive
from trainer.settings import ImitationOptions
from trainer.together import Alone, Together, share

OnStep = Callable[[int, float], bool]
"""Called after each step with its number, from 1, and its loss (mean cross-entropy a token, nats). False ends it."""


def imitate(
    policy: Policy,
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    options: ImitationOptions,
    *,
    seed: int,
    on_step: OnStep | None = None,
    together: Together | None = None,
) -> float | None:
    """Train `policy` on pairs of prompt and answer; returns the loss of the last step, None without any.

    Raises NotFiniteError as `grpo.update` does.
    """
    together = together or Alone()
    optimizer = torch.optim.AdamW(policy.parameters(), options.lr, betas=(0.9, options.beta2), weight_decay=0.0)
    draw = Random(derive(seed, "imitation"))
    last: float | None = None
    for step in range(1, options.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = options.rate(step - 1)
        batch = draw.sample(pairs, min(options.batch, len(pairs)))
        tokens = sum(len(answer) for _, answer in batch)
        optimizer.zero_grad(set_to_none=True)
        mine = share(batch, together)
        losses: list[float] = []
        for rows in policy.micro_batches([prompt for prompt, _ in mine], [answer for _, answer in mine]):
            scored = policy.logprobs([mine[row][0] for row in rows], [mine[row][1] for row in rows])
            loss = -(scored.logprobs * scored.mask).sum() / tokens
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            losses.append(float(loss.detach()))
        together.add_gradients(policy.parameters())
        last = sum(together.gather(losses))
        require_finite_gradient(together.clip_gradients(policy.parameters(), 1.0), last)
        optimizer.step()
        if on_step is not None and not all(together.gather([on_step(step, last)])):
            break
    require_finite_weights(policy.parameters())
    return last
