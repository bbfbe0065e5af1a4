"""Group-relative policy optimization, on one page (CURATION 1.3, K10; Shao et al. 2024, without the std of SkillOS).

    A_n = r_n - mean_N(r)                                                       (advantage; no division by the std)
    J   = E_n[ min(rho A_n, clip(rho, 1-eps, 1+eps) A_n) ] - beta KL[pi || pi_ref]          (surrogate)

One advantage a rollout, the same on every token of all |G| answers of it. Sums are divided by totals over the whole
minibatch, so that splitting it into micro-batches, or over processes, changes nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

import torch
from torch import Tensor

from trainer.finite import require_finite_gradient, require_finite_weights
from trainer.policies.policy import Policy, Scored
from trainer.settings import GrpoOptions
from trainer.together import Alone, Together, share


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of a rollout with that rollout's advantage."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    old_logprobs: tuple[float, ...]
    advantage: float


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Means over the tokens of all minibatches of one update; `gradient_norm` is the mean before clipping.

    `entropy` and `kl` are None where they were not computed.
    """

    loss: float
    entropy: float | None
    clip_fraction: float
    kl: float | None
    gradient_norm: float
    tokens: int


def advantages(rewards: Sequence[float | None], *, std: bool = False) -> tuple[float | None, ...]:
    """Return A_n of each rollout of one group: r_n - mean_N(r); None, and no part in the mean, where r_n is None.

    With `std` it is divided by the sample standard deviation + 1e-6, as verl does.
    """
    known = [value for value in rewards if value is not None]
    if not known:
        return tuple(None for _ in rewards)
    mean = fmean(known)
    scale = (stdev(known) if len(known) > 1 else 0.0) + 1e-6 if std else 1.0
    return tuple(None if value is None else (value - mean) / scale for value in rewards)


def is_flat(rewards: Sequence[float | None], *, tolerance: float = 1e-6) -> bool:
    """Tell whether a group has no gradient: all its rewards are the same, or fewer than two are known (lesson 8)."""
    known = [value for value in rewards if value is not None]
    return len(known) < 2 or max(known) - min(known) <= tolerance


def ratio(logprobs: Tensor, old: Tensor, mask: Tensor, kind: Literal["token", "sequence", "product"]) -> Tensor:
    """Return rho, [B, T] per token or [B, 1] per answer."""
    log_ratio = (logprobs - old) * mask
    if kind == "token":
        return log_ratio.exp()
    total = log_ratio.sum(1, keepdim=True)
    return (total if kind == "product" else total / mask.sum(1, keepdim=True).clamp(min=1)).exp()


def k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Return the estimate of KL[pi || pi_ref] a token that is never negative (Schulman's k3)."""
    log_ratio = reference - logprobs
    return log_ratio.exp() - log_ratio - 1


@dataclass(frozen=True, slots=True)
class LossParts:
    """Sums over a micro-batch: `loss` carries the gradient and is already divided; the others are plain sums."""

    loss: Tensor
    clipped: float
    entropy: float | None
    kl: float | None
    tokens: float


def surrogate(
    scored: Scored,
    old: Tensor,
    advantage: Tensor,
    options: GrpoOptions,
    *,
    reference: Tensor | None = None,
    tokens: float | None = None,
    answers: float | None = None,
) -> LossParts:
    """Return -J of a micro-batch. `old` is [B, T], `advantage` [B], `reference` [B, T] or None.

    `tokens` and `answers` are the totals of the minibatch that the sums are divided by; None means this batch's own.
    """
    mask, column = scored.mask, advantage[:, None]
    rho = ratio(scored.logprobs, old, mask, options.ratio)
    clipped = rho.clamp(1 - options.epsilon, 1 + options.epsilon)
    a_token = -torch.min(rho * column, clipped * column).expand_as(mask)
    divergence = None
    if reference is not None and options.beta:
        divergence = k3(scored.logprobs, reference)
        a_token = a_token + options.beta * divergence
    if options.loss_mean == "token":
        loss = (a_token * mask).sum() / (mask.sum() if tokens is None else tokens)
    else:
        per_answer = (a_token * mask).sum(1) / mask.sum(1).clamp(min=1)
        loss = per_answer.sum() / (len(mask) if answers is None else answers)
    with torch.no_grad():
        cut = ((clipped * column < rho * column).expand_as(mask) * mask).sum()
        entropy = None if scored.entropy is None else float((scored.entropy * mask).sum())
        kl = None if divergence is None else float((divergence * mask).sum())
    return LossParts(loss, float(cut), entropy, kl, float(mask.sum()))


def micro_batches(
    prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], most_tokens: int
) -> list[list[int]]:
    """Return batches of row indices, sorted by length so that little is padding, at most `most_tokens` padded each.

    A row that is larger alone is a batch of its own.
    """
    lengths = [(len(prompt), len(answer)) for prompt, answer in zip(prompts, answers, strict=True)]
    batches: list[list[int]] = []
    longest_prompt = longest_answer = 0
    for row in sorted(range(len(lengths)), key=lambda index: (*lengths[index], index)):
        prompt, answer = lengths[row]
        longest_prompt, longest_answer = max(longest_prompt, prompt), max(longest_answer, answer)
        if not batches or (longest_prompt + longest_answer) * (len(batches[-1]) + 1) > most_tokens:
            batches.append([])
            longest_prompt, longest_answer = prompt, answer
        batches[-1].append(row)
    return batches


def padded(rows: Sequence[Sequence[float]], like: Tensor) -> Tensor:
    """Return `rows`, right-padded with zeros to the shape of `like`, on its device."""
    out = torch.zeros(like.shape, dtype=torch.float32)
    for index, row in enumerate(rows):
        out[index, : len(row)] = torch.tensor(row)
    return out.to(like.device)


def accumulate(
    policy: Policy, samples: Sequence[Sample], options: GrpoOptions, *, together: Together | None = None
) -> LossParts:
    """Add the gradient of one minibatch to the parameters; the parts returned are its sums.

    Of several processes, which all have all samples, each scores its share.
    """
    together = together or Alone()
    mine = share(samples, together)
    tokens = float(sum(len(sample.answer) for sample in samples))
    found: list[LossParts] = []
    for rows in policy.micro_batches([sample.prompt for sample in mine], [sample.answer for sample in mine]):
        batch = [mine[row] for row in rows]
        prompts, texts = [sample.prompt for sample in batch], [sample.answer for sample in batch]
        scored = policy.logprobs(prompts, texts, temperature=options.temperature)
        reference = None
        if options.beta:
            reference = policy.logprobs(prompts, texts, temperature=options.temperature, reference=True).logprobs
        advantage = torch.tensor([sample.advantage for sample in batch], device=scored.mask.device)
        old = padded([sample.old_logprobs for sample in batch], scored.mask)
        parts = surrogate(scored, old, advantage, options, reference=reference, tokens=tokens, answers=len(samples))
        parts.loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        found.append(replace(parts, loss=parts.loss.detach().cpu()))
    together.add_gradients(policy.parameters())
    return _summed(together.gather(found))


def _summed(parts: Sequence[LossParts]) -> LossParts:
    """Return the sums over micro-batches; a measure that one lacks is None."""
    entropies = [one.entropy for one in parts if one.entropy is not None]
    divergences = [one.kl for one in parts if one.kl is not None]
    return LossParts(
        torch.tensor(float(sum(float(one.loss) for one in parts))),
        sum(one.clipped for one in parts),
        sum(entropies) if parts and len(entropies) == len(parts) else None,
        sum(divergences) if parts and len(divergences) == len(parts) else None,
        sum(one.tokens for one in parts),
    )


def update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    samples: Sequence[Sample],
    options: GrpoOptions,
    *,
    together: Together | None = None,
) -> UpdateReport:
    """Take one optimizer step a minibatch of `samples`, which come in a random order of the caller's making.

    Samples with advantage 0 stay: they count in the token mean, and in the KL where there is one. Raises NotFiniteError
    where a gradient or a weight becomes NaN or infinite.
    """
    together = together or Alone()
    size = max(1, -(-len(samples) // options.minibatches))
    loss = clipped = tokens = 0.0
    entropy: float | None = None
    divergence: float | None = None
    norms: list[float] = []
    for part in range(options.minibatches):
        optimizer.zero_grad(set_to_none=True)
        parts = accumulate(policy, samples[part * size : (part + 1) * size], options, together=together)
        if not parts.tokens:
            continue
        norm = together.clip_gradients(policy.parameters(), options.max_gradient_norm)
        norms.append(require_finite_gradient(norm, float(parts.loss)))
        optimizer.step()
        loss += float(parts.loss) * parts.tokens
        clipped += parts.clipped
        tokens += parts.tokens
        entropy = parts.entropy if entropy is None else entropy + (parts.entropy or 0.0)
        divergence = parts.kl if divergence is None else divergence + (parts.kl or 0.0)
    require_finite_weights(policy.parameters())
    whole = max(tokens, 1.0)
    return UpdateReport(
        loss=loss / whole,
        entropy=None if entropy is None else entropy / whole,
        clip_fraction=clipped / whole,
        kl=None if divergence is None else divergence / whole,
        gradient_norm=fmean(norms) if norms else 0.0,
        tokens=round(tokens),
    )
