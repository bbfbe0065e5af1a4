"""What a policy is to the trainer: the curator pi_S of CURATION 1.1, seen as token sequences with log-probabilities.

Rollout, reward and GRPO know only this protocol. A policy turns a CurationInput into a prompt, samples an answer, and
says how likely an answer was. What it wrote reaches the repository as text, read by `core.skillrepo.calls` like
anybody else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from core.curation.curators import CurationInput
from core.skillrepo.skill import Skill

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from trainer.demonstrations import Demonstration


@dataclass(frozen=True, slots=True)
class Answer:
    """A sampled answer: its tokens, the end token among them unless `cut` (it ran into the length limit).

    `logprobs` are log pi_old of each token at the temperature that it was sampled with; as many as `ids`.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """Log-probabilities of answers, right-padded: all three are [B, T], T the longest answer of the batch.

    `mask` is 1.0 on answer tokens, 0.0 on padding. `entropy` is that of the whole distribution at each token, in nats
    and without a gradient; None where the policy doesn't compute it.
    """

    logprobs: Tensor
    mask: Tensor
    entropy: Tensor | None = None


class Policy(Protocol):
    """A curator that can be trained."""

    @property
    def kind(self) -> str:
        """The family of policies that can load what `save` wrote: "tiny", "hf"."""
        ...

    @property
    def worlds(self) -> tuple[str, ...]:
        """The worlds that it was made for; empty where it takes any."""
        ...

    @property
    def max_prompt(self) -> int:
        """Most tokens of a prompt; a longer one is shortened in the middle of its trajectory."""
        ...

    @property
    def max_answer(self) -> int:
        """Most tokens of an answer."""
        ...

    @property
    def device(self) -> torch.device: ...

    def refuses(self, world: str) -> str:
        """Return why it may not curate that world, in one sentence; empty where it may."""
        ...

    def prompt(self, given: CurationInput) -> list[int]:
        """Return the tokens of the curator's whole input (chi_i of CURATION 1.3)."""
        ...

    def generate(self, prompts: Sequence[Sequence[int]], *, temperature: float, seeds: Sequence[int]) -> list[Answer]:
        """Sample one answer a prompt, in order; each row draws from its own seed, so that a batch's make-up, a resumed
        run or a second process can't change what is drawn. Temperature 0 takes the likeliest token."""
        ...

    def logprobs(
        self,
        prompts: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        *,
        temperature: float = 1.0,
        reference: bool = False,
    ) -> Scored:
        """Score answers under the policy as it is now, with a gradient where autograd is on.

        `reference` scores them under the frozen policy that `keep_reference` kept, without a gradient.
        """
        ...

    def micro_batches(self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the rows, by index, that are scored together with a gradient. Every row is in one batch."""
        ...

    def keep_reference(self) -> None:
        """Keep the policy as it is now as pi_ref of the KL term; called once, before GRPO, where beta > 0."""
        ...

    def render(self, ids: Sequence[int], given: CurationInput) -> str:
        """Return the literal answer text with its tool calls. `given` is what the answer was about."""
        ...

    def target(self, demonstration: Demonstration) -> list[int]:
        """Return the tokens of a demonstrated answer, its end token among them."""
        ...

    def tokens_of(self, skill: Skill) -> int:
        """Return how many of its tokens a skill takes: |S_i| sums them over the repository (CURATION 1.3)."""
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yield the parameters that are trained."""
        ...

    def state(self) -> Mapping[str, Tensor]:
        """Return the trained weights by name, for a checkpoint; of a LoRA policy the adapter's alone."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take weights that `state` gave, bit for bit."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return what a run writes down about it: kind, parameters (trained and all), shape, dtype; plain JSON."""
        ...

    def save(self, directory: Path) -> None:
        """Write a folder that `load_policy` opens again; the directory is there and empty."""
        ...
