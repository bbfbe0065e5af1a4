"""Log-probabilities of given answers, with a gradient.

The beginning that all prompts of a batch share is computed once and its gradient gathered from every row: the same
numbers as computing it for each, at a fraction of the work (a curator's instructions are the same in every prompt).
Only answer positions get logits.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import DynamicCache

from .batching import common_prefix
from .cache import shareable
from .network import Network, Tokens
from .policy import Scored
from .sampling import SHORTEST_PREFIX

# Rows of float32 distributions kept for the backward pass take at most this; beyond it they are computed twice.
KEPT_BYTES = 2**28


def score(
    network: Network,
    prompts: Sequence[Tokens],
    answers: Sequence[Tokens],
    *,
    temperature: float = 1.0,
    share: bool = True,
) -> Scored:
    """Return log-probabilities, mask and entropy of `answers`, each [rows, T], right-padded.

    `share` computes common beginnings once; it is not possible together with gradient checkpointing of the model.
    """
    rows = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    longest = max(len(answer) for answer in answers)
    cache, prefix = _shared(network, prompts, rows) if share else (None, 0)
    ids, mask, positions = network.left_padded([row[prefix:] for row in rows], prefix)
    # The last `longest` tokens predict nothing we want beyond themselves: token t is predicted at t - 1.
    logits = network.logits(ids, mask=mask, positions=positions, cache=cache, last=longest + 1)[:, :-1]
    targets = ids[:, -longest:]
    right = _token_scores(logits, targets, temperature)
    return _left_aligned(*right, [len(answer) for answer in answers])


def _shared(network: Network, prompts: Sequence[Tokens], rows: Sequence[Tokens]) -> tuple[DynamicCache | None, int]:
    if len(rows) < 2:
        return None, 0
    # One token of each prompt stays with its answer: it is what the answer's first token is predicted from.
    prefix = min(common_prefix(rows), min(len(prompt) for prompt in prompts) - 1)
    cache = DynamicCache(config=network.config)
    if prefix < SHORTEST_PREFIX or not shareable(cache):
        return None, 0
    network.logits(torch.tensor([list(rows[0][:prefix])], device=network.device), cache=cache, last=1)
    cache.batch_repeat_interleave(len(rows))
    return cache, prefix


def _token_scores(logits: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return log-probability and entropy, [rows, T] each, of `targets` [rows, T] under `logits` [rows, T, V]."""
    if torch.is_grad_enabled() and logits.numel() * 4 > KEPT_BYTES:
        out: tuple[Tensor, Tensor] = checkpoint(_distribution, logits, targets, temperature, use_reentrant=False)
        return out
    return _distribution(logits, targets, temperature)


def _distribution(logits: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    logprobs = torch.log_softmax(logits.float() / (temperature or 1.0), -1)
    with torch.no_grad():
        entropy = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(2, targets[..., None]).squeeze(2), entropy


def _left_aligned(logprobs: Tensor, entropy: Tensor, lengths: Sequence[int]) -> Scored:
    """Move answers that end together to where they begin together, with zeros after them."""
    longest = logprobs.shape[1]
    length = torch.tensor(lengths, device=logprobs.device)[:, None]
    column = torch.arange(longest, device=logprobs.device)[None]
    mask = (column < length).to(logprobs.dtype)
    source = (column + longest - length).clamp(max=longest - 1)
    return Scored(logprobs.gather(1, source) * mask, mask, entropy.gather(1, source) * mask)
