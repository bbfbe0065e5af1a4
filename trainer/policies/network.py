"""A causal language model as the trainer sees it: tokens in, logits out, with a cache or without.

Hides where transformers versions differ, and knows what a sequence costs in memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from .cache import key_value_bytes

Tokens = Sequence[int]


class Network:
    """A model on its device. Dropout is off: what a rollout samples from must be what the update scores.

    `autocast` computes in bfloat16 with weights of float32.
    """

    def __init__(self, model: Any, pad: int, *, autocast: bool = False) -> None:
        self.model = model
        self.autocast = autocast
        self.pad = pad
        self.config: Any = model.config
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model
        accepted = inspect.signature(inspect.unwrap(type(inner).forward)).parameters
        # transformers 5.24 renamed the argument; older ones of the range know only the long name.
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._keeps = "logits_to_keep" in accepted
        self._numbered = "position_ids" in accepted

    @property
    def device(self) -> torch.device:
        return torch.device(next(self.model.parameters()).device)

    @property
    def dtype(self) -> torch.dtype:
        """The type it computes in, which is the type that its cache is held in."""
        dtype: torch.dtype = torch.bfloat16 if self.autocast else next(self.model.parameters()).dtype
        return dtype

    @property
    def vocabulary(self) -> int:
        return int(self.config.get_text_config().vocab_size)

    def cache_bytes(self) -> int:
        """Return bytes of cache a token takes."""
        return key_value_bytes(self.config, self.dtype)

    def computing(self) -> AbstractContextManager[object]:
        """Return the context of its types. Around many calls without a gradient it turns the weights over only once."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.autocast else nullcontext()

    def logits(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: DynamicCache | None = None,
        last: int = 0,
    ) -> Tensor:
        """Return logits [rows, tokens, vocabulary] of the `last` tokens (0: all).

        `ids` is [rows, tokens], `mask` [rows, cached + tokens] with 0 on padding, `positions` [rows or 1, tokens]
        counted without padding. `cache` is extended in place.
        """
        arguments: dict[str, Any] = {"input_ids": ids, "use_cache": cache is not None}
        if mask is not None:
            arguments["attention_mask"] = mask
        if positions is not None and self._numbered:
            arguments["position_ids"] = positions
        if cache is not None:
            arguments[self._cache_name] = cache
        if last and self._keeps:
            arguments["logits_to_keep"] = last
        with self.computing():
            logits: Tensor = self.model(**arguments).logits
        return logits[:, -last:] if last else logits

    def left_padded(self, rows: Sequence[Tokens], prefix: int = 0) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return ids [rows, S], mask [rows, prefix + S] and positions [rows, S] of rows that end together.

        `prefix` tokens stand in the cache before them. The mask is None where nothing is padded: attention is
        quicker without one.
        """
        longest = max(len(row) for row in rows)
        ids = torch.full((len(rows), longest), self.pad, dtype=torch.long)
        mask = torch.ones((len(rows), prefix + longest), dtype=torch.long)
        for index, row in enumerate(rows):
            gap = longest - len(row)
            ids[index, gap:] = torch.tensor(row, dtype=torch.long)
            mask[index, prefix : prefix + gap] = 0
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, prefix:]
        padded = bool((mask == 0).any())
        device = self.device
        return ids.to(device), mask.to(device) if padded else None, positions.to(device)
