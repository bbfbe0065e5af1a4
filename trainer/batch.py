"""What the update of a step is made of: every answer of its rollouts, with its rollout's advantage."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.grpo import Sample
from trainer.rollout import Rollout


def samples_of(groups: Sequence[Sequence[Rollout]], gains: Sequence[Sequence[float | None]]) -> list[Sample]:
    """Return every answer with its rollout's advantage; a rollout without one teaches nothing."""
    return [
        Sample(turn.prompt, turn.answer.ids, turn.answer.logprobs, gain)
        for group, values in zip(groups, gains, strict=True)
        for rollout, gain in zip(group, values, strict=True)
        if gain is not None
        for turn in rollout.turns
        if turn.answer is not None
    ]
