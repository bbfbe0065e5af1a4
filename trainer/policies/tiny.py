"""The tiny policy: a small transformer that speaks a world's phrases, trained from scratch (CURATION 2c).

It knows the phrases of one world and nothing else: it can't read a real agent's trace, and it says so.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # its name everywhere
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from core.curation.curators import CurationInput
from core.foundation import strict_json
from core.foundation.errors import DamagedError, UsageError
from core.skillrepo.skill import Skill
from core.state import atomic
from trainer.demonstrations import Demonstration
from trainer.grpo import micro_batches
from trainer.policies.options import check
from trainer.policies.phrases import PhraseBook
from trainer.policies.policy import Answer, Scored
from trainer.policies.tiny_model import Cache, TinyModel, TinyShape
from trainer.worlds.lexicon import lexicon_of

MICRO_TOKENS = 2_500
"""Most padded tokens scored at once: the processor's caches hold what they make."""


class TinyPolicy:
    """Invariant: the model's vocabulary is that of `book`, in its order."""

    kind = "tiny"

    def __init__(self, book: PhraseBook, model: TinyModel) -> None:
        self.book = book
        self.model = model
        self._reference: TinyModel | None = None

    @property
    def worlds(self) -> tuple[str, ...]:
        return (self.book.world,)

    @property
    def max_prompt(self) -> int:
        return self.model.shape.max_prompt

    @property
    def max_answer(self) -> int:
        return self.model.shape.max_answer

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def refuses(self, world: str) -> str:
        """Return why it may not curate `world`; empty for the one it was trained for and those of the same phrases."""
        if world == self.book.world or _phrases_of(world) == self.book.lexicon.tokens:
            return ""
        if world.startswith("benchmark:"):
            return (
                f"This policy speaks only the {len(self.book)} phrases of the world {self.book.world!r}; it cannot "
                "read a real agent's work or write a skill for it. An hf policy can."
            )
        return (
            f"This policy was trained for the world {self.book.world!r} and speaks only its phrases, not {world!r}'s."
        )

    def prompt(self, given: CurationInput) -> list[int]:
        return self.book.prompt(given, self.max_prompt)

    def render(self, ids: Sequence[int], given: CurationInput) -> str:
        return self.book.render(ids, given)

    def target(self, demonstration: Demonstration) -> list[int]:
        return [*self.book.encode(demonstration.phrases), self.book.eos]

    def tokens_of(self, skill: Skill) -> int:
        return self.book.tokens_of(skill)

    def micro_batches(self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> list[list[int]]:
        return micro_batches(prompts, answers, MICRO_TOKENS)

    @torch.inference_mode()
    def generate(self, prompts: Sequence[Sequence[int]], *, temperature: float, seeds: Sequence[int]) -> list[Answer]:
        """Sample by the inverse of the cumulative distribution, a row from its own uniform numbers."""
        if not prompts:
            return []
        room = self.max_answer
        draws = torch.stack([torch.rand(room, generator=torch.Generator().manual_seed(seed)) for seed in seeds])
        ids, real = _left_padded(prompts, self.book.pad)
        batch, width = ids.shape
        cache = Cache(self.model.shape, batch, width + room)
        found = torch.full((batch, room), self.book.pad)
        logs = torch.zeros(batch, room)
        rows = torch.arange(batch)  # those whose answer goes on
        logits = self.model(ids, real, cache=cache, last=1)[:, 0]
        for step in range(room):
            scores = F.log_softmax(logits / temperature if temperature > 0 else logits, -1)
            if temperature > 0:
                below = scores.exp().cumsum(-1)
                wanted = draws[rows, step, None] * below[:, -1:]
                chosen = torch.searchsorted(below, wanted, right=True).clamp(max=len(self.book) - 1)
            else:
                chosen = scores.argmax(-1, keepdim=True)
            found[rows, step] = chosen[:, 0]
            logs[rows, step] = scores.gather(1, chosen)[:, 0]
            on = chosen[:, 0] != self.book.eos
            if step == room - 1 or not bool(on.any()):
                break
            if not bool(on.all()):
                kept = on.nonzero()[:, 0]
                rows, chosen, real = rows[kept], chosen[kept], real[kept]
                cache.keep(kept)
            real = F.pad(real, (0, 1), value=True)
            logits = self.model(chosen, real, cache=cache, last=1)[:, 0]
        return [_answer(row, scores, self.book.eos) for row, scores in zip(found.tolist(), logs.tolist(), strict=True)]

    def logprobs(
        self,
        prompts: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        *,
        temperature: float = 1.0,
        reference: bool = False,
    ) -> Scored:
        if reference:
            if self._reference is None:
                raise RuntimeError("keep_reference() comes first")
            with torch.no_grad():
                return _score(self._reference, self.book, prompts, answers, temperature)
        return _score(self.model, self.book, prompts, answers, temperature)

    def keep_reference(self) -> None:
        self._reference = copy.deepcopy(self.model).requires_grad_(False)

    def parameters(self) -> Iterator[nn.Parameter]:
        return self.model.parameters()

    def state(self) -> Mapping[str, Tensor]:
        return {name: value.detach().contiguous() for name, value in self.model.state_dict().items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.model.load_state_dict(dict(state))

    def describe(self) -> Mapping[str, Any]:
        weights = sum(parameter.numel() for parameter in self.parameters())
        return {
            "kind": self.kind,
            "world": self.book.world,
            "parameters": weights,
            "trained": weights,
            "dtype": "float32",
            "shape": asdict(self.model.shape),
        }

    def save(self, directory: Path) -> None:
        save_file(dict(self.state()), directory / "model.safetensors")
        head = {
            "kind": self.kind,
            "world": self.book.world,
            "shape": asdict(self.model.shape),
            "tokens": self.book.tokens,
        }
        atomic.write_text(directory / "policy.json", strict_json.dumps(head, indent=1) + "\n")


def make(world: str, *, seed: int, max_prompt: int, max_answer: int, **options: Any) -> TinyPolicy:
    """Return an untrained policy for a world that lends a lexicon. Raises UsageError where it lends none.

    `options` may give width, layers and heads; where the weights lie and in which precision is no choice here.
    """
    shape = {name: options[name] for name in ("width", "layers", "heads") if name in options}
    check("tiny", {name: value for name, value in options.items() if name not in ("path", "device", "dtype")})
    book = PhraseBook(world, lexicon_of(world))
    told = TinyShape(len(book), max_prompt=max_prompt, max_answer=max_answer, **shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TinyModel(told)
    return TinyPolicy(book, model)


def open_policy(directory: Path, head: Mapping[str, Any]) -> TinyPolicy:
    """Return what `save` wrote; `head` is its policy.json. Raises DamagedError where the phrases are others now."""
    world = str(head.get("world"))
    book = PhraseBook(world, lexicon_of(world))
    if tuple(head.get("tokens", ())) != book.tokens:
        raise DamagedError(
            f"The policy in {directory.name} was trained with other phrases than the world {world!r} has now.",
            hint="Train it again, or use the version that it was trained with.",
        )
    policy = TinyPolicy(book, TinyModel(TinyShape(**head["shape"])))
    policy.restore(load_file(directory / "model.safetensors"))
    return policy


def _phrases_of(world: str) -> tuple[str, ...]:
    """Return the tokens of a world's lexicon, none where it lends none. The real ALFWorld speaks the household's."""
    try:
        return lexicon_of(world).tokens
    except UsageError:
        return ()


def _left_padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    width = max(map(len, rows))
    ids = torch.tensor([[pad] * (width - len(row)) + list(row) for row in rows])
    real = torch.arange(width)[None] >= torch.tensor([[width - len(row)] for row in rows])
    return ids, real


def _answer(tokens: list[int], logprobs: list[float], eos: int) -> Answer:
    cut = eos not in tokens
    length = len(tokens) if cut else tokens.index(eos) + 1
    return Answer(tuple(tokens[:length]), tuple(logprobs[:length]), cut)


def _score(
    model: TinyModel,
    book: PhraseBook,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    temperature: float,
) -> Scored:
    before, real = _left_padded(prompts, book.pad)
    width = max(map(len, answers))
    after = torch.tensor([list(answer) + [book.pad] * (width - len(answer)) for answer in answers])
    mask = torch.arange(width)[None] < torch.tensor([[len(answer)] for answer in answers])
    ids, seen = torch.cat([before, after], 1)[:, :-1], torch.cat([real, mask], 1)[:, :-1]
    logits = model(ids, seen, last=width)
    scores = F.log_softmax(logits / temperature if temperature > 0 else logits, -1)
    with torch.no_grad():
        entropy = -(scores.exp() * scores).sum(-1)
    return Scored(scores.gather(2, after[..., None])[..., 0], mask.float(), entropy)
