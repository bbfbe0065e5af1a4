"""GRPO against two references on fixed tensors (K10, lesson 8), neither of which takes a line from `trainer.grpo`.

One is TRL's formulae written down again, the other the paper's in plain numbers, with the gradient by hand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from trainer.grpo import (
    LossParts,
    Sample,
    accumulate,
    advantages,
    is_flat,
    k3,
    micro_batches,
    surrogate,
    update,
)
from trainer.policies.policy import Scored
from trainer.settings import GrpoOptions

torch.set_num_threads(1)


def fixed(seed: int = 0, rows: int = 6, length: int = 9) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return log-probabilities now, before, of the reference, a mask of unequal lengths, and advantages."""
    source = torch.Generator().manual_seed(seed)
    now = -torch.rand(rows, length, generator=source) * 3
    old = now + 0.4 * torch.randn(rows, length, generator=source)
    reference = now + 0.3 * torch.randn(rows, length, generator=source)
    lengths = torch.tensor([length, 1, 4, length - 2, 3, 6])
    mask = (torch.arange(length)[None] < lengths[:, None]).float()
    advantage = torch.tensor([0.7, -0.7, 0.2, -0.2, 1.3, -1.3])
    return now.requires_grad_(), old, reference, mask, advantage


def trl_loss(
    now: Tensor,
    old: Tensor,
    reference: Tensor,
    mask: Tensor,
    advantage: Tensor,
    *,
    level: str,
    loss_type: str,
    beta: float,
) -> Tensor:
    """Write TRL 1.16's `_compute_loss` down again, for importance_sampling_level `level` and loss_type grpo or bnpo."""
    log_ratio = now - old
    if level == "token":
        log_weights = log_ratio
    else:
        log_weights = (log_ratio * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)
        log_weights = log_weights.unsqueeze(-1)
    coef_1 = torch.exp(log_weights)
    coef_2 = torch.clamp(coef_1, 1 - 0.2, 1 + 0.2)
    per_token = -torch.min(coef_1 * advantage.unsqueeze(1), coef_2 * advantage.unsqueeze(1))
    if beta:
        per_token = per_token + beta * (torch.exp(reference - now) - (reference - now) - 1)
    if loss_type == "grpo":
        return ((per_token * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()
    return (per_token * mask).sum() / mask.sum().clamp(min=1.0)


@pytest.mark.meets("K10")
@pytest.mark.parametrize("beta", [0.0, 0.001, 0.1])
@pytest.mark.parametrize(("mean", "loss_type"), [("token", "bnpo"), ("sequence", "grpo")])
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_loss_and_gradient_equal_the_reference(beta: float, mean: Any, loss_type: str, level: Any) -> None:
    now, old, reference, mask, advantage = fixed()
    options = GrpoOptions(beta=beta, ratio=level, loss_mean=mean)
    ours = surrogate(Scored(now, mask), old, advantage, options, reference=reference)
    (our_gradient,) = torch.autograd.grad(ours.loss, now)
    rho, good = (now - old).exp()[mask > 0], (advantage > 0)[:, None].expand_as(mask)[mask > 0]
    for far, side in itertools.product((rho > 1.2, rho < 0.8), (good, ~good)):  # all four corners of the clip are there
        assert bool((far & side).any())
    theirs = trl_loss(now, old, reference, mask, advantage, level=level, loss_type=loss_type, beta=beta)
    (their_gradient,) = torch.autograd.grad(theirs, now)
    torch.testing.assert_close(ours.loss, theirs)
    torch.testing.assert_close(our_gradient, their_gradient)
    assert our_gradient.abs().sum() > 0


@pytest.mark.meets("K10")
def test_the_product_ratio_is_the_papers() -> None:
    now, old, _, mask, advantage = fixed()
    options = GrpoOptions(ratio="product", loss_mean="sequence")
    whole = ((now - old) * mask).sum(1).exp()
    expected = -torch.min(whole * advantage, whole.clamp(0.8, 1.2) * advantage).mean()
    torch.testing.assert_close(surrogate(Scored(now, mask), old, advantage, options).loss, expected)


@pytest.mark.meets("K10")
def test_the_clip_keeps_what_would_move_too_far_from_having_a_gradient() -> None:
    now = torch.log(torch.tensor([[1.5, 1.1, 0.5, 0.9]])).requires_grad_()
    old, mask = torch.zeros(1, 4), torch.ones(1, 4)
    up = surrogate(Scored(now, mask), old, torch.tensor([1.0]), GrpoOptions())
    (gradient,) = torch.autograd.grad(up.loss, now)
    assert gradient[0, 0] == 0  # ratio 1.5 with a good answer
    assert bool((gradient[0, 1:] < 0).all())
    assert up.clipped == 1.0
    down = surrogate(Scored(now, mask), old, torch.tensor([-1.0]), GrpoOptions())
    (gradient,) = torch.autograd.grad(down.loss, now)
    assert gradient[0, 2] == 0  # ratio 0.5 with a bad answer
    assert bool((gradient[0, [0, 1, 3]] > 0).all())  # also ratio 1.5: what went the wrong way is brought back
    assert down.clipped == 1.0


@pytest.mark.meets("K10")
def test_k3_is_never_negative_and_zero_only_where_both_agree() -> None:
    now, _, reference, _, _ = fixed(3)
    assert bool((k3(now.double(), reference.double()) >= 0).all())
    assert float(k3(now, now).detach().abs().max()) == 0


@pytest.mark.meets("K10")
def test_advantages_are_centred_and_not_scaled() -> None:
    assert advantages([1.0, 2.0, 6.0]) == (-2.0, -1.0, 3.0)
    scaled = advantages([1.0, 2.0, 6.0], std=True)
    spread = torch.tensor([1.0, 2.0, 6.0]).std().item() + 1e-6
    assert scaled == pytest.approx((-2.0 / spread, -1.0 / spread, 3.0 / spread))


@pytest.mark.meets("K10")
def test_an_unmeasured_rollout_has_no_part_in_the_mean() -> None:
    assert advantages([1.0, None, 3.0]) == (-1.0, None, 1.0)
    assert advantages([None, None]) == (None, None)


@pytest.mark.meets("K10")
def test_a_flat_group_is_known() -> None:
    assert is_flat([0.5, 0.5, 0.5])
    assert is_flat([0.5, None])
    assert not is_flat([0.5, 0.6])


class Table:
    """A policy of one logit a token: enough of the protocol for an update."""

    def __init__(self, seed: int = 0, most_tokens: int = 10_000) -> None:
        self.most_tokens = most_tokens
        self.logits = nn.Parameter(torch.randn(5, generator=torch.Generator().manual_seed(seed)))

    def parameters(self) -> Iterator[nn.Parameter]:
        yield self.logits

    def micro_batches(self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> list[list[int]]:
        return micro_batches(prompts, answers, self.most_tokens)

    def logprobs(
        self,
        prompts: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        *,
        temperature: float = 1.0,
        reference: bool = False,
    ) -> Scored:
        del prompts, reference
        longest = max(map(len, answers))
        ids = torch.zeros(len(answers), longest, dtype=torch.long)
        mask = torch.zeros(len(answers), longest)
        for index, answer in enumerate(answers):
            ids[index, : len(answer)] = torch.tensor(answer)
            mask[index, : len(answer)] = 1
        logs = torch.log_softmax(self.logits / temperature, 0)
        return Scored(logs[ids], mask, -(logs.exp() * logs).sum().detach().expand_as(mask))


def samples() -> list[Sample]:
    lengths = [(3, 2), (9, 5), (4, 1), (7, 4), (1, 3), (5, 5)]
    return [
        Sample((0,) * prompt, tuple(i % 5 for i in range(answer)), (-1.5,) * answer, (-1.0) ** prompt * 0.1 * answer)
        for prompt, answer in lengths
    ]


@pytest.mark.meets("K10")
def test_micro_batches_change_nothing_but_rounding() -> None:
    found: list[tuple[LossParts, Tensor]] = []
    for most in (1, 20, 10_000):
        policy: Any = Table(most_tokens=most)
        parts = accumulate(policy, samples(), GrpoOptions())
        found.append((parts, policy.logits.grad.clone()))
    for parts, gradient in found[1:]:
        torch.testing.assert_close(parts.loss, found[0][0].loss)
        torch.testing.assert_close(gradient, found[0][1])
        assert parts.tokens == 20


def test_micro_batches_are_sorted_and_bounded() -> None:
    lengths = [(len(sample.prompt), len(sample.answer)) for sample in samples()]
    batches = micro_batches([one.prompt for one in samples()], [one.answer for one in samples()], 30)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert len(batches) > 1
    for batch in batches:
        padded = (max(lengths[row][0] for row in batch) + max(lengths[row][1] for row in batch)) * len(batch)
        assert padded <= 30 or len(batch) == 1


REWARDS = ((2.0, 0.5, None, 1.1), (0.3, 0.3, 0.9, -0.4))
ANSWERS = ((0, 1, 1), (2,), (4, 4), (3, 0, 2, 2, 1), (1, 3), (0,), (2, 4, 4, 0), (3, 3, 1))
"""Two groups of four rollouts with one answer each, tokens of a vocabulary of five; one reward is unmeasured."""


class Kept(Table):
    """A Table that keeps its first logits, a little moved, as reference."""

    def __init__(self, most_tokens: int) -> None:
        super().__init__(3, most_tokens)
        self.first = (self.logits.detach() * 0.8 + 0.1).clone()

    def logprobs(self, *args: Any, reference: bool = False, **kwargs: Any) -> Scored:
        if not reference:
            return super().logprobs(*args, **kwargs)
        now, self.logits = self.logits, nn.Parameter(self.first)
        try:
            with torch.no_grad():
                return super().logprobs(*args, **kwargs)
        finally:
            self.logits = now


def old_logprob(row: int, place: int, now: float) -> float:
    """Return what the rollout said: the answer's token was less or more likely then, so that some are clipped."""
    return now - (-0.5, 0.05, 0.4, -0.1)[(row + place) % 4]


def by_hand(
    logits: list[float], first: list[float], options: GrpoOptions
) -> tuple[float, list[float], list[tuple[int, float]]]:
    """Return the loss, its gradient by logit, and the rows that count with their advantages; in plain numbers.

    J = mean[ min(rho A, clip(rho) A) - beta (pi_ref/pi - log(pi_ref/pi) - 1) ], a token at a time; what is clipped on
    the side that A pulls to has no gradient; d log pi_t / d z_k = ([k = t] - p_k) / temperature.
    """

    def logs(values: list[float]) -> list[float]:
        scaled = [value / options.temperature for value in values]
        whole = math.log(sum(math.exp(value) for value in scaled))
        return [value - whole for value in scaled]

    now, kept = logs(logits), logs(first)
    counted: list[tuple[int, float]] = []
    for group, rewards in enumerate(REWARDS):
        known = [value for value in rewards if value is not None]
        mean = sum(known) / len(known)
        variance = sum((value - mean) ** 2 for value in known) / (len(known) - 1)
        scale = variance**0.5 + 1e-6 if options.std else 1.0
        counted += [(group * 4 + at, (r - mean) / scale) for at, r in enumerate(rewards) if r is not None]
    tokens = sum(len(ANSWERS[row]) for row, _ in counted)
    loss, gradient = 0.0, [0.0] * len(logits)
    for row, advantage in counted:
        answer = ANSWERS[row]
        weight = 1 / tokens if options.loss_mean == "token" else 1 / (len(counted) * len(answer))
        for place, token in enumerate(answer):
            rho = math.exp(now[token] - old_logprob(row, place, now[token]))
            inside = min(max(rho, 1 - options.epsilon), 1 + options.epsilon)
            slope = rho * advantage if rho * advantage <= inside * advantage else 0.0
            away = kept[token] - now[token]
            gain = min(rho * advantage, inside * advantage) - options.beta * (math.exp(away) - away - 1)
            slope -= options.beta * (1 - math.exp(away))
            loss -= weight * gain
            for k, log in enumerate(now):
                gradient[k] -= weight * slope * ((k == token) - math.exp(log)) / options.temperature
    return loss, gradient, counted


@pytest.mark.meets("K10")
@pytest.mark.parametrize("std", [False, True])
@pytest.mark.parametrize("mean", ["token", "sequence"])
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_from_rewards_to_gradient_it_is_what_plain_numbers_give(std: bool, mean: Any, beta: float) -> None:
    options = GrpoOptions(std=std, loss_mean=mean, beta=beta, temperature=0.7)
    for most_tokens in (1, 12, 10_000):  # a row a batch, a few, all
        policy: Any = Kept(most_tokens)
        logs = torch.log_softmax(policy.logits.detach() / 0.7, 0).tolist()
        loss, gradient, counted = by_hand(policy.logits.tolist(), policy.first.tolist(), options)
        gains = [gain for group in REWARDS for gain in advantages(group, std=std)]
        assert [row for row, gain in enumerate(gains) if gain is not None] == [row for row, _ in counted]
        assert [gain for gain in gains if gain is not None] == pytest.approx([gain for _, gain in counted])
        made = [
            Sample(
                (0, row), ANSWERS[row], tuple(old_logprob(row, i, logs[t]) for i, t in enumerate(ANSWERS[row])), gain
            )
            for row, gain in enumerate(gains)
            if gain is not None
        ]
        parts = accumulate(policy, made, options)
        assert float(parts.loss) == pytest.approx(loss, abs=1e-6)
        assert policy.logits.grad.tolist() == pytest.approx(gradient, abs=1e-6)
        assert max(map(abs, gradient)) > 1e-3
        assert parts.clipped > 0


@pytest.mark.meets("K10")
def test_an_update_makes_good_answers_likelier() -> None:
    policy: Any = Table()
    optimizer = torch.optim.AdamW(policy.parameters(), 0.05, weight_decay=0.0)
    good, bad = (1, 1), (2, 2)
    before = torch.log_softmax(policy.logits.detach(), 0)
    both = [
        Sample((0,), good, tuple(before[i].item() for i in good), 0.5),
        Sample((0,), bad, tuple(before[i].item() for i in bad), -0.5),
    ]
    report = update(policy, optimizer, both, GrpoOptions(minibatches=1))
    after = torch.log_softmax(policy.logits.detach(), 0)
    assert after[1] > before[1]
    assert after[2] < before[2]
    assert report.gradient_norm > 0
    assert report.clip_fraction == 0
    assert report.entropy is not None
    assert report.entropy > 0
    assert report.kl is None
