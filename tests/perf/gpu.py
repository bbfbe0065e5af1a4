"""The path of large models on a GPU: does it compute, what does it take, is what it samples what it scores (K15)?

    python -P -m tests.perf.gpu [--device cuda] [--quick] [--json]

A Qwen3 of about 0.6 B weights, made here from its configuration (nothing is fetched), takes a few GRPO steps in three
ways: in float32; in bfloat16 with float32 weights ("mixed", which is what a model that is trained whole does on a GPU);
and with bfloat16 weights under LoRA. Its output is sharpened until it is sure of some tokens, so that rounding shows.

It fails where a loss, norm or weight isn't finite, an update moves nothing, log-probabilities of rollout and update lie
further apart than BOUNDS, or a checkpoint doesn't come back to the bit. It tells, without failing, whether the same
update twice gives the same bits and whether an answer is the same alone as in its batch: a GPU promises neither.

`--quick` takes a model of some ten thousand weights, to try the script (`--device cpu`); its numbers say nothing.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import math
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from core.foundation.errors import UsageError
from trainer import checkpoint, device
from trainer.grpo import Sample, UpdateReport, advantages, update
from trainer.policies.hf import HfOptions, HfPolicy
from trainer.policies.hf_model import Dtype, Lora, pick_device, storage, with_adapter
from trainer.policies.policy import Answer
from trainer.policies.tiny_qwen import Shape, train_tokenizer
from trainer.settings import GrpoOptions

BOUNDS = {"float32": (1e-4, 1e-2), "mixed": (0.05, 1.0), "bfloat16": (0.05, 1.0)}
"""How far log-probabilities of rollout and update may lie apart, in nats: the mean over tokens, and the largest.

A bfloat16 has 8 bits: a logit of 16 to 32 is rounded by up to 0.06, another way in another kernel. The clip begins at a
ratio of 1.2, which is 0.18 nats.
"""


@dataclass(frozen=True, slots=True)
class Work:
    """`steps` updates of `groups` x `each` answers of `answer` tokens, to prompts of about `prompt` tokens."""

    shape: Shape
    steps: int
    groups: int
    each: int
    prompt: int
    answer: int


FULL = Work(Shape(1024, 28, 16, 8, 128, 3072, 151_936), 4, 4, 8, 1024, 128)
QUICK = Work(Shape(32, 2, 2, 1, 16, 64, 400), 2, 2, 4, 48, 8)
WAYS: tuple[tuple[Dtype, Lora | None], ...] = (("float32", None), ("mixed", None), ("bfloat16", Lora(16, 32)))


@dataclass
class Found:
    """What one way came to; `wrong` says what failed, in sentences."""

    way: str
    parameters: int
    trained: int
    generated: int = 0
    generate_s: float = 0.0
    scored: int = 0
    update_s: float = 0.0
    peak_bytes: int = 0
    losses: list[float] = field(default_factory=list)
    entropies: list[float | None] = field(default_factory=list)
    clipped: list[float] = field(default_factory=list)
    apart: list[tuple[float, float]] = field(default_factory=list)
    repeats: bool | None = None
    alone: tuple[int, int] = (0, 0)
    wrong: list[str] = field(default_factory=list)

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)


def policy_of(work: Work, dtype: Dtype, lora: Lora | None, where: torch.device) -> HfPolicy:
    """Return the same random Qwen3 for every way, in the way's types."""
    tokenizer = train_tokenizer(["put a hot apple in countertop."], 300)
    config = work.shape.config(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        # Logits that spread by sqrt(2 ln V): there a random output goes over from all tokens to a few.
        spread = config.initializer_range * config.hidden_size**0.5
        model.model.norm.weight.mul_((2 * math.log(config.vocab_size)) ** 0.5 / spread)
    model = model.to(where, storage(dtype))
    if lora is not None:
        model = with_adapter(model, lora, seed=1)
    memory = 2.0**34 if where.type == "cuda" else 2.0**30
    options = HfOptions(device=str(where), dtype=dtype, lora=lora, max_answer=work.answer, memory_bytes=memory)
    policy = HfPolicy(model, tokenizer, options)
    policy.stops = ()  # every answer is of full length, so that rounds are alike
    return policy


def prompts_of(work: Work, step: int) -> list[tuple[int, ...]]:
    """Return the prompts of a step: groups that begin alike, of unlike lengths, each as often as it is answered."""
    draw = torch.Generator().manual_seed(step)
    begin = torch.randint(10, work.shape.vocabulary, (work.prompt // 2,), generator=torch.Generator().manual_seed(99))
    found: list[tuple[int, ...]] = []
    for group in range(work.groups):
        own = torch.randint(10, work.shape.vocabulary, (work.prompt // 2 - 3 * group,), generator=draw)
        found += [(*begin.tolist(), *own.tolist())] * work.each
    return found


def settle(where: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if where.type == "cuda":
        torch.cuda.synchronize(where)
    elif where.type == "mps":
        torch.mps.synchronize()


def peak_bytes(where: torch.device) -> int:
    """Return the most memory that was taken: of a GPU since the round began, of a CPU's process ever."""
    if where.type == "cuda":
        return int(torch.cuda.max_memory_allocated(where))
    if where.type == "mps":
        return int(torch.mps.driver_allocated_memory())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def apart(policy: HfPolicy, prompts: Sequence[tuple[int, ...]], answers: Sequence[Answer]) -> tuple[float, float]:
    """Return how far the update's log-probabilities lie from the rollout's: mean and largest, in nats."""
    distances: list[torch.Tensor] = []
    texts = [answer.ids for answer in answers]
    for rows in policy.micro_batches(prompts, texts):
        with torch.no_grad():
            scored = policy.logprobs([prompts[row] for row in rows], [texts[row] for row in rows])
        old = torch.tensor([answers[row].logprobs for row in rows], device=scored.logprobs.device)
        distances.append((scored.logprobs - old).abs().flatten().cpu())
    every = torch.cat(distances)
    return float(every.mean()), float(every.max())


def samples_of(work: Work, prompts: Sequence[tuple[int, ...]], answers: Sequence[Answer]) -> list[Sample]:
    """Return the answers with an advantage: the more different tokens, the better."""
    samples: list[Sample] = []
    for group in range(work.groups):
        rows = range(group * work.each, (group + 1) * work.each)
        gains = advantages([sum(answers[row].ids) / len(answers[row].ids) / work.shape.vocabulary for row in rows])
        samples += [
            Sample(prompts[row], answers[row].ids, answers[row].logprobs, gain or 0.0)
            for row, gain in zip(rows, gains, strict=True)
        ]
    return samples


def flat(policy: HfPolicy) -> torch.Tensor:
    return torch.cat([weight.detach().float().flatten().cpu() for weight in policy.parameters()])


def optimizer_of(policy: HfPolicy) -> torch.optim.AdamW:
    return torch.optim.AdamW(policy.parameters(), 1e-4, weight_decay=0.0)


def measured(work: Work, dtype: Dtype, lora: Lora | None, where: torch.device) -> Found:
    """Take the steps one way; the first warms up and is not timed."""
    gc.collect()
    if where.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(where)
    policy = policy_of(work, dtype, lora, where)
    told = policy.describe()
    found = Found(f"{dtype}{', LoRA' if lora else ''}", told["parameters"], told["trained"])
    optimizer, before = optimizer_of(policy), flat(policy)
    for step in range(work.steps):
        prompts = prompts_of(work, step)
        settle(where)
        began = time.perf_counter()
        answers = policy.generate(prompts, temperature=1.0, seeds=range(step * 1000, step * 1000 + len(prompts)))
        settle(where)
        generated = time.perf_counter()
        found.apart.append(apart(policy, prompts, answers))
        samples = samples_of(work, prompts, answers)
        found.alone = _alone(policy, prompts, answers, step)
        settle(where)
        updating = time.perf_counter()
        report = update(policy, optimizer, samples, GrpoOptions(minibatches=1))
        settle(where)
        if step:
            found.generate_s += generated - began
            found.update_s += time.perf_counter() - updating
            found.generated += sum(len(answer.ids) for answer in answers)
            found.scored += sum(len(sample.prompt) + len(sample.answer) for sample in samples)
        _judge(found, report, dtype)
    found.peak_bytes = peak_bytes(where)
    after = flat(policy)
    found.expect(bool(torch.isfinite(after).all()), "a weight is not finite")
    found.expect(not torch.equal(before, after), "no weight moved")
    if lora is not None:  # small enough to be written and taken again
        found.repeats = _resumed(work, lora, policy, optimizer, samples, found, where)
    return found


def _alone(
    policy: HfPolicy, prompts: Sequence[tuple[int, ...]], answers: Sequence[Answer], step: int
) -> tuple[int, int]:
    """Return how many of the first two answers are the same where nothing stands beside them, and two."""
    again = [policy.generate([prompts[row]], temperature=1.0, seeds=[step * 1000 + row])[0] for row in (0, 1)]
    return sum(one.ids == answer.ids for one, answer in zip(again, answers, strict=False)), len(again)


def _judge(found: Found, report: UpdateReport, dtype: Dtype) -> None:
    found.losses.append(report.loss)
    found.entropies.append(report.entropy)
    found.clipped.append(report.clip_fraction)
    step = len(found.losses)
    found.expect(math.isfinite(report.loss), f"the loss of step {step} is {report.loss}")
    found.expect(math.isfinite(report.gradient_norm) and report.gradient_norm > 0, f"no gradient in step {step}")
    for name, value, bound in zip(("mean", "largest"), found.apart[-1], BOUNDS[dtype], strict=True):
        found.expect(value <= bound, f"rollout and update lie {value:.3g} nats apart in step {step} ({name}; {bound})")


def _resumed(
    work: Work,
    lora: Lora,
    policy: HfPolicy,
    optimizer: torch.optim.AdamW,
    samples: list[Sample],
    found: Found,
    where: torch.device,
) -> bool:
    """Write a checkpoint, open it beside, and take one more step with both; return whether they came to the same bits.

    What must come back to the bit is what was written.
    """
    other = policy_of(work, "bfloat16", lora, where)
    theirs = optimizer_of(other)
    with tempfile.TemporaryDirectory() as place:
        checkpoint.write(Path(place), work.steps, policy, optimizer, {})
        kept = checkpoint.latest(Path(place))
        assert kept is not None
        other.restore(checkpoint.weights(kept.path))
        checkpoint.restore_optimizer(kept, theirs)
    found.expect(torch.equal(flat(policy), flat(other)), "a checkpoint's weights came back otherwise")
    pairs = zip(_moments(optimizer), _moments(theirs), strict=True)
    found.expect(all(torch.equal(one, same) for one, same in pairs), "the optimizer came back otherwise")
    for one, its in ((policy, optimizer), (other, theirs)):
        update(one, its, copy.copy(samples), GrpoOptions(minibatches=1))
    return torch.equal(flat(policy), flat(other))


def _moments(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [value.cpu() for state in optimizer.state_dict()["state"].values() for value in state.values()]


HEAD = (
    f"{'way':<16}{'gen tok/s':>11}{'upd tok/s':>11}{'peak GiB':>10}{'apart mean':>12}{'largest':>9}{'clipped':>9}"
    f"{'entropy':>9}  same bits, alone as in a batch"
)
"""Tokens a second are answers' while they are generated, and prompts' and answers' while they are updated on."""


def lines(found: Sequence[Found], where: torch.device) -> list[str]:
    """Return the table, a way a line, and what failed."""
    told = [
        f"{device.reading(where)['kind']}, torch {torch.__version__}: {found[0].parameters:,} weights.",
        HEAD,
    ]
    for one in found:
        mean, largest = (max(values) for values in zip(*one.apart, strict=True))
        again = {None: "-", True: "yes", False: "no"}[one.repeats]
        told.append(
            f"{one.way:<16}{one.generated / one.generate_s:>11,.0f}{one.scored / one.update_s:>11,.0f}"
            f"{one.peak_bytes / 2**30:>10.2f}{mean:>12.2g}{largest:>9.2g}{100 * max(one.clipped):>8.1f}%"
            f"{one.entropies[-1] or math.nan:>9.2f}  {again}, {one.alone[0]} of {one.alone[1]}"
        )
    told += [f"FAILED, {one.way}: {wrong}." for one in found for wrong in one.wrong]
    if not any(one.wrong for one in found):
        told.append("All finite; rollout and update agree within the bounds; a checkpoint came back to the bit.")
    return told


def main(argv: Sequence[str] | None = None) -> int:
    """Measure each way and print the table; 1 where a check failed, 0 also where there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cuda, cuda:1, mps, cpu; else the GPU that is here")
    parser.add_argument("--quick", action="store_true", help="a model of a few thousand weights: a try, no claim")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    if given.device is None and pick_device().type == "cpu":
        print("There is no GPU here: nothing was measured. --device cpu --quick tries the script itself.")
        return 0
    try:
        where = pick_device(given.device or "auto")
    except UsageError as error:
        print(f"{error} {error.hint}", file=sys.stderr)
        return 2
    ways = [way for way in WAYS if where.type != "mps" or way[0] == "float32"]  # mps computes in float32 here
    found = [measured(QUICK if given.quick else FULL, dtype, lora, where) for dtype, lora in ways]
    if given.json:
        document: dict[str, Any] = {"device": device.reading(where), "bounds": BOUNDS}
        print(json.dumps({**document, "ways": [vars(one) for one in found]}, indent=1))
    else:
        print("\n".join(lines(found, where)))
    return int(any(one.wrong for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
