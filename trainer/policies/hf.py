"""A curator that is a causal language model of transformers, by path or a tiny one made here (K15).

One set of weights serves as curator (adapter on) and, with the adapter off, as frozen executor, self-judge and
reference. It writes any text, so it may curate any world, and real agents too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from core.curation.curators import CurationInput
from core.foundation.errors import UsageError
from core.skillrepo.skill import Skill
from core.state.atomic import write_text
from trainer.demonstrations import Demonstration
from trainer.worlds import open_world

from .batching import scoring_batches
from .hf_model import (
    Dtype,
    Lora,
    compute_twice,
    open_adapter,
    open_model,
    pick_device,
    pick_dtype,
    save_base,
    sizes,
    stop_ids,
    storage,
    with_adapter,
)
from .hf_prompt import ChatPrompt
from .network import Network
from .policy import Answer, Scored
from .sampling import SamplingLimits, sample
from .scoring import score
from .tiny_corpus import world_texts
from .tiny_qwen import Shape, build

POLICY_FILE = "policy.json"
TINY = "tiny"
BASE = "base"  # the folder that a policy with adapters keeps its base in, where the base has no path of its own


@dataclass(frozen=True, slots=True)
class HfOptions:
    """How a model is used. `base` is the folder of the frozen base under adapters, "" where it lies beside them.

    `max_prompt` and `max_answer` are tokens (Table 4). `memory_bytes` bounds the key-value cache of the rows in flight,
    and what the scoring of one batch may take; `rows` bounds their number. `checkpointing` computes activations twice
    and keeps few of them.
    """

    worlds: tuple[str, ...] = ()
    base: str = ""
    lora: Lora | None = None
    device: str = "auto"
    dtype: Dtype = "auto"
    max_prompt: int = 16_384
    max_answer: int = 4_096
    memory_bytes: float = 2.0**31
    rows: int = 256
    checkpointing: bool = False
    thinking: bool = False


@dataclass
class HfPolicy:
    """A policy over one model. Invariant: `trained` are the parameters that require a gradient, in a fixed order."""

    model: Any
    tokenizer: Any
    options: HfOptions
    kind: str = field(default="hf", init=False)

    def __post_init__(self) -> None:
        device = next(self.model.parameters()).device
        self.dtype = pick_dtype(self.options.dtype, device, lora=self.options.lora is not None)
        self.network = Network(self.model, self._pad(), autocast=self.dtype == "mixed")
        self.chat = ChatPrompt(self.tokenizer, self.options.max_prompt, thinking=self.options.thinking)
        self.stops = stop_ids(self.model, self.tokenizer)
        self.trained = {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}
        self._end: int = self.stops[0] if self.tokenizer.eos_token_id is None else self.tokenizer.eos_token_id
        self._kept: dict[str, Tensor] | None = None
        if self.options.checkpointing:
            compute_twice(self.model)

    # What it is.

    @property
    def worlds(self) -> tuple[str, ...]:
        """The worlds it was trained for. It writes any text, so this is history, no limit."""
        return self.options.worlds

    @property
    def max_prompt(self) -> int:
        return self.options.max_prompt

    @property
    def max_answer(self) -> int:
        return self.options.max_answer

    @property
    def device(self) -> torch.device:
        return self.network.device

    def refuses(self, world: str) -> str:
        """Return "": a language model reads and writes any world's text."""
        del world
        return ""

    def describe(self) -> Mapping[str, Any]:
        """Return what a run writes down about it, plain JSON."""
        config = self.model.config
        return {
            "kind": self.kind,
            **sizes(self.model),
            "model": config.model_type,
            "layers": config.get_text_config().num_hidden_layers,
            "hidden": config.get_text_config().hidden_size,
            "vocabulary": self.network.vocabulary,
            "dtype": self.dtype,
            "device": str(self.device),
            "lora": None if self.options.lora is None else asdict(self.options.lora),
            "cache_bytes_per_token": self.network.cache_bytes(),
        }

    # What it does.

    def prompt(self, given: CurationInput) -> list[int]:
        """Return the curator's whole input: system turn with tools, and the four blocks."""
        return self.chat.tokens(given)

    def generate(self, prompts: Sequence[Sequence[int]], *, temperature: float, seeds: Sequence[int]) -> list[Answer]:
        """Sample one answer a prompt; a row's draws depend on its own seed alone."""
        self.model.eval()  # while it trains with checkpointing, older transformers drop the cache
        limits = SamplingLimits(self.options.max_answer, self.options.memory_bytes, self.options.rows)
        return sample(self.network, prompts, seeds, temperature=temperature, stops=self.stops, limits=limits)

    def logprobs(
        self,
        prompts: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        *,
        temperature: float = 1.0,
        reference: bool = False,
    ) -> Scored:
        """Score answers; with `reference` under the weights that `keep_reference` kept."""
        share = not self.options.checkpointing
        self.model.train(self.options.checkpointing)  # transformers checkpoints only what trains; dropout is off
        if not reference:
            return score(self.network, prompts, answers, temperature=temperature, share=share)
        with torch.no_grad(), self._reference():
            return score(self.network, prompts, answers, temperature=temperature, share=share)

    def micro_batches(self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> list[list[int]]:
        """Split rows into batches to score: equal prompts together, like lengths together, within `memory_bytes`."""
        if not prompts:
            return []
        each = self._bytes_to_score(max(map(len, prompts)) + max(map(len, answers)))
        return scoring_batches(prompts, answers, budget=self.options.memory_bytes / each, limit=self.options.rows)

    def target(self, shown: Demonstration) -> list[int]:
        """Return the tokens of a demonstrated answer."""
        return self.encode(shown.text)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a whole answer, the one that ends it last."""
        return [*self.chat.encode(text), self._end]

    def render(self, ids: Sequence[int], given: CurationInput | None = None) -> str:
        """Return the answer as text, without the token that ended it."""
        del given
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def tokens_of(self, skill: Skill) -> int:
        return len(self.chat.encode(skill.content))

    # Its weights.

    def parameters(self) -> Iterator[nn.Parameter]:
        yield from self.trained.values()

    def keep_reference(self) -> None:
        """Keep the trained weights as they are now; the others never change."""
        self._kept = {name: weight.detach().clone() for name, weight in self.trained.items()}

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Be the model that was opened, without what was learnt: the adapter is off (needs LoRA)."""
        with self.model.disable_adapter():
            yield

    @contextmanager
    def _reference(self) -> Iterator[None]:
        if self._kept is None:
            raise RuntimeError("keep_reference was never called")
        now = {name: weight.data for name, weight in self.trained.items()}
        try:
            for name, weight in self.trained.items():
                weight.data = self._kept[name]
            yield
        finally:
            for name, weight in self.trained.items():
                weight.data = now[name]

    def state(self) -> Mapping[str, Tensor]:
        """Return the trained weights; with adapters, theirs alone."""
        return {name: weight.detach() for name, weight in self.trained.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take weights that `state` gave, or those of a saved folder. Raises ValueError where they are another's."""
        state = {_live(name): weight for name, weight in state.items()}
        if set(state) != set(self.trained):
            odd = sorted(set(state) ^ set(self.trained))
            raise ValueError(f"weights of another model: {odd[:3]} and {max(0, len(odd) - 3)} more differ")
        with torch.no_grad():
            for name, weight in self.trained.items():
                weight.copy_(state[name])

    def save(self, directory: Path) -> None:
        """Write a Hugging Face folder: the whole model, or the adapters beside what says where their base lies."""
        self.tokenizer.save_pretrained(directory)
        self.model.save_pretrained(directory)
        if self.options.lora is not None and not self.options.base:
            save_base(self.model, directory / BASE)
            self.tokenizer.save_pretrained(directory / BASE)
        facts = {"kind": self.kind, **asdict(self.options)}
        write_text(directory / POLICY_FILE, json.dumps(facts, indent=2) + "\n")

    def _pad(self) -> int:
        pad = self.tokenizer.pad_token_id
        return int(pad if pad is not None else self.tokenizer.eos_token_id)

    def _bytes_to_score(self, tokens: int) -> float:
        """Return about how many bytes of activations one token of a row takes until the backward pass.

        Kept for each layer: inputs, norms, queries, keys, values, attention, gate, up and their product (with
        checkpointing of one layer alone, and the others' inputs); and the attention mask's row; for answers two rows
        of logits. An upper guess, so that a batch fits.
        """
        config = self.model.config.get_text_config()
        wide = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        size = 2 if self.dtype == "bfloat16" else 4
        layer, layers = (8 * config.hidden_size + 4 * wide) * size, config.num_hidden_layers
        kept = layer + config.hidden_size * size * layers if self.options.checkpointing else layer * layers
        return float(kept + 2 * 4 * config.vocab_size + tokens * size)


def open_policy(directory: Path, head: Mapping[str, Any] | None = None, *, device: str = "auto") -> HfPolicy:
    """Return the policy that `save` wrote, or a plain Hugging Face folder as a policy that learnt nothing yet.

    `head` is its policy.json. Raises UsageError where its base is gone.
    """
    if head is None:
        file = directory / POLICY_FILE
        head = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    facts = {name: value for name, value in head.items() if name in _OPTIONS}
    lora = facts.get("lora")
    facts |= {"worlds": tuple(facts.get("worlds", ())), "lora": None if lora is None else Lora(**lora)}
    if device != "auto" or not _there(facts.get("device", "auto")):
        facts["device"] = device  # what was trained on a GPU is used where there is none, too
    options = HfOptions(**facts)
    where = pick_device(options.device)
    dtype = pick_dtype(options.dtype, where, lora=lora is not None)
    if lora is None:
        model, tokenizer = open_model(directory, device=where, dtype=dtype)
    else:
        base = Path(options.base) if options.base else directory / BASE
        model, tokenizer = open_model(base, device=where, dtype=dtype, tokenizer=directory)
        model = open_adapter(model, directory)
    return HfPolicy(model, tokenizer, options)


def make(
    world: str,
    *,
    seed: int,
    path: str = TINY,
    lora_rank: int = 0,
    lora_alpha: int = 0,
    memory_gb: float = 2.0,
    **options: Any,
) -> HfPolicy:
    """Return a policy that isn't trained yet: the model in the folder `path`, or for "tiny" one made here for `world`.

    `lora_rank` 0 trains the whole model; `lora_alpha` 0 is twice the rank. `options` are the fields of HfOptions, and
    those of tiny_qwen.Shape for a tiny one.
    """
    if unknown := sorted(set(options) - _OPTIONS - _SIZES):
        known = sorted(_OPTIONS | _SIZES | {"lora_rank", "lora_alpha", "memory_gb"})
        raise UsageError(
            f"A policy of kind hf has no option {unknown[0]!r} (policy.options.{unknown[0]}).",
            hint=f"Known: {', '.join(known)}.",
        )
    sizes_of = {name: options.pop(name) for name in tuple(options) if name in _SIZES}
    lora = Lora(lora_rank, lora_alpha or 2 * lora_rank) if lora_rank else None
    made = HfOptions(
        worlds=(world,),
        base="" if path == TINY else str(Path(path).resolve()),
        lora=lora,
        memory_bytes=memory_gb * 2**30,
        **options,
    )
    device = pick_device(made.device)
    dtype = pick_dtype(made.dtype, device, lora=lora is not None)
    if path == TINY:
        model, tokenizer = build(world_texts(open_world(world)), seed=seed, shape=Shape(**sizes_of))
        model = model.to(device, storage(dtype))
    else:
        model, tokenizer = open_model(Path(path), device=device, dtype=dtype)
    if lora is not None:
        model = with_adapter(model, lora, seed=seed)
    return HfPolicy(model, tokenizer, made)


def _live(name: str) -> str:
    """Return a weight's name in the live model: peft's files leave out which adapter it belongs to."""
    for part in ("lora_A", "lora_B"):
        name = name.replace(f".{part}.weight", f".{part}.default.weight")
    return name


_OPTIONS = frozenset(one.name for one in fields(HfOptions))
_SIZES = frozenset(one.name for one in fields(Shape))


def _there(device: str) -> bool:
    try:
        pick_device(device)
    except UsageError:
        return False
    return True
