"""Sampling answers for many prompts at once.

Tokens that all prompts begin with are read once, equal prompts are read once, equal lengths are batched, rows that
have ended leave the batch, and the cache is written in place. A row draws from uniforms of its own seed by inverting
the cumulative distribution, so that what it draws does not depend on which rows stand beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .batching import common_prefix, distinct, sorted_batches
from .cache import roomy_cache, select_rows, shareable
from .network import Network, Tokens
from .policy import Answer

# A shorter common beginning is not worth a forward pass of its own.
SHORTEST_PREFIX = 16
# Rows leave the batch when at least this share of them has ended; each leaving copies the cache.
LEAVING = 0.25


@dataclass(frozen=True, slots=True)
class SamplingLimits:
    """`cache_bytes` bounds the key-value cache of the rows in flight, `rows` their number."""

    max_answer: int
    cache_bytes: float = 2**31
    rows: int = 256


@torch.no_grad()
def sample(
    network: Network,
    prompts: Sequence[Tokens],
    seeds: Sequence[int],
    *,
    temperature: float,
    stops: Collection[int],
    limits: SamplingLimits,
) -> list[Answer]:
    """Return one answer a prompt, in order.

    An answer ends with the first of `stops`, or is `cut` at `limits.max_answer` tokens. Its log-probabilities are
    those of the distribution it was drawn from (at `temperature`); temperature 0 takes the likeliest token.
    """
    answers: list[Answer | None] = [None] * len(prompts)
    lengths = [len(prompt) + limits.max_answer for prompt in prompts]
    room = limits.cache_bytes / max(1, network.cache_bytes())
    for wave in sorted_batches(lengths, budget=room, limit=limits.rows):
        with network.computing():
            drawn = _wave(
                network,
                [prompts[row] for row in wave],
                [seeds[row] for row in wave],
                temperature=temperature,
                stops=stops,
                max_answer=limits.max_answer,
            )
        for row, answer in zip(wave, drawn, strict=True):
            answers[row] = answer
    return [answer for answer in answers if answer is not None]


def uniforms(seeds: Sequence[int], count: int) -> np.ndarray:
    """Return [rows, count] draws from [0, 1): row i's depend on `seeds[i]` alone (Philox, by key)."""
    return np.stack([np.random.Generator(np.random.Philox(key=seed)).random(count) for seed in seeds])


def precise(device: torch.device) -> torch.dtype:
    """Return the type that draws are made in: the finest that the device has (mps has no float64)."""
    return torch.float32 if device.type == "mps" else torch.float64


def draw(logits: Tensor, uniform: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return a token a row and its log-probability; `logits` is [rows, vocabulary], `uniform` [rows] in [0, 1)."""
    logprobs = torch.log_softmax(logits.float() / (temperature or 1.0), -1)
    if temperature == 0:
        tokens = logprobs.argmax(-1)
    else:
        exact = precise(logits.device)
        cumulative = logprobs.exp().to(exact).cumsum(-1)
        at = uniform.to(exact)[:, None] * cumulative[:, -1:]
        tokens = torch.searchsorted(cumulative, at, right=True).squeeze(1).clamp(max=logits.shape[-1] - 1)
    return tokens, logprobs.gather(1, tokens[:, None]).squeeze(1)


@dataclass(slots=True)
class _Flight:
    """Rows that are still being written. `rows[i]` is the wave's number of batch row i."""

    rows: list[int]
    mask: Tensor | None
    position: Tensor
    uniform: Tensor
    ended: Tensor

    def keep(self, index: Tensor) -> None:
        """Drop the rows that `index` does not name."""
        self.rows = [self.rows[at] for at in index.tolist()]
        self.mask = None if self.mask is None else self.mask[index]
        self.position, self.uniform, self.ended = self.position[index], self.uniform[index], self.ended[index]


def _wave(
    network: Network,
    prompts: Sequence[Tokens],
    seeds: Sequence[int],
    *,
    temperature: float,
    stops: Collection[int],
    max_answer: int,
) -> list[Answer]:
    most = max(map(len, prompts)) + max_answer
    cache = roomy_cache(network.config, most, torch.bfloat16 if network.autocast else None)
    logits, mask, position = _read(network, prompts, cache)
    device = logits.device
    stop_ids = torch.tensor(sorted(stops), dtype=torch.long, device=device)
    exact = precise(device)
    # Rounded to float32 a draw could be 1, which no token answers to.
    draws = torch.from_numpy(uniforms(seeds, max_answer)).to(exact).clamp(max=1 - torch.finfo(exact).eps / 2)
    flight = _Flight(
        list(range(len(prompts))),
        mask,
        position,
        draws.to(device),
        torch.zeros(len(prompts), dtype=torch.bool, device=device),
    )
    tokens: list[list[int]] = [[] for _ in prompts]
    logprobs: list[list[float]] = [[] for _ in prompts]
    open_rows = set(range(len(prompts)))
    for step in range(max_answer):
        chosen, scores = draw(logits, flight.uniform[:, step], temperature)
        flight.ended |= torch.isin(chosen, stop_ids)
        for row, token, score, ended in zip(
            flight.rows, chosen.tolist(), scores.tolist(), flight.ended.tolist(), strict=True
        ):
            if row in open_rows:
                tokens[row].append(token)
                logprobs[row].append(score)
                if ended:
                    open_rows.discard(row)
        if not open_rows or step == max_answer - 1:
            break
        if len(open_rows) <= len(flight.rows) * (1 - LEAVING):
            index = (~flight.ended).nonzero().squeeze(1)
            flight.keep(index)
            select_rows(cache, index)
            chosen = chosen[index]
        if flight.mask is not None:
            flight.mask = torch.nn.functional.pad(flight.mask, (0, 1), value=1)
        logits = network.logits(
            chosen[:, None], mask=flight.mask, positions=flight.position[:, None], cache=cache, last=1
        )[:, -1]
        flight.position = flight.position + 1
    return [
        Answer(tuple(ids), tuple(scores), cut=row in open_rows)
        for row, (ids, scores) in enumerate(zip(tokens, logprobs, strict=True))
    ]


def _read(network: Network, prompts: Sequence[Tokens], cache: object) -> tuple[Tensor, Tensor | None, Tensor]:
    """Fill the cache with the prompts. Return the next token's logits, the mask so far and the next position, a row."""
    kinds, which = distinct(prompts)
    prefix = common_prefix(kinds) if len(kinds) > 1 else 0
    if prefix < SHORTEST_PREFIX or not shareable(cache):
        prefix = 0
    if prefix:
        begin = torch.tensor([list(kinds[0][:prefix])], device=network.device)
        network.logits(begin, cache=cache, last=1)
        select_rows(cache, torch.zeros(len(kinds), dtype=torch.long, device=network.device))
    ids, mask, positions = network.left_padded([kind[prefix:] for kind in kinds], prefix)
    logits = network.logits(ids, mask=mask, positions=positions, cache=cache, last=1)[:, -1]
    after = positions[:, -1] + 1
    if len(kinds) < len(prompts):
        index = torch.tensor(which, device=network.device)
        select_rows(cache, index)
        logits, after = logits[index], after[index]
        mask = None if mask is None else mask[index]
    return logits, mask, after
