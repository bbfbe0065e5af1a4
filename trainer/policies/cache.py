"""A key-value cache that is written in place.

transformers' DynamicCache copies the whole cache for every token (torch.cat). Here room is taken ahead of need and a
token writes only itself. Layers of other kinds (sliding windows, recurrent states) stay transformers' own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer


class RoomyLayer(DynamicLayer):  # type: ignore[misc]  # transformers is untyped
    """A layer with room. Invariant: `keys` and `values` are views of the first tokens of the two stores.

    `most` is how many tokens a row will hold, `kept` the type they are held in; None is the type they come in.
    """

    def __init__(self, most: int, kept: torch.dtype | None = None) -> None:
        super().__init__()
        self.most = most
        self.kept = kept
        self.keys: Tensor
        self.values: Tensor
        self._stores: tuple[Tensor, Tensor] | None = None

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append [rows, heads, tokens, size] of both; return all that is held."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        before = self.get_seq_length()
        after = before + key_states.shape[-2]
        if self._stores is None or self._stores[0].shape[-2] < after:
            self._stores = (self._grown(self.keys, key_states, after), self._grown(self.values, value_states, after))
        keys, values = self._stores
        keys[:, :, before:after] = key_states
        values[:, :, before:after] = value_states
        self.keys, self.values = keys[:, :, :after], values[:, :, :after]
        return self.keys, self.values

    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order; a row may be named several times."""
        assert self._stores is not None
        length = self.get_seq_length()
        keys, values = self._stores
        self._stores = keys, values = keys.index_select(0, rows), values.index_select(0, rows)
        self.keys, self.values = keys[:, :, :length], values[:, :, :length]

    def _grown(self, held: Tensor, new: Tensor, tokens: int) -> Tensor:
        rows, heads, _, size = new.shape
        store = new.new_empty((rows, heads, max(tokens, self.most), size), dtype=self.kept or new.dtype)
        if held.numel():
            store[:, :, : held.shape[-2]] = held
        return store


def roomy_cache(config: Any, most: int, kept: torch.dtype | None = None) -> DynamicCache:
    """Return a cache for one generation, with room for `most` tokens a row. Not for autograd.

    `kept` is the type that tokens are held in: under autocast keys come in float32 and are used in bfloat16.
    """
    cache = DynamicCache(config=config)
    cache.layers = [RoomyLayer(most, kept) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


def select_rows(cache: DynamicCache, rows: Tensor) -> None:
    """Keep these rows of every layer, in this order."""
    for layer in cache.layers:
        if isinstance(layer, RoomyLayer):
            layer.select(rows)
        else:
            layer.batch_select_indices(rows)


def shareable(cache: DynamicCache) -> bool:
    """Whether every layer holds whole sequences, so that a beginning can be computed once and copied to rows."""
    return bool(cache.layers) and all(type(layer) in (DynamicLayer, RoomyLayer) for layer in cache.layers)


def key_value_bytes(config: Any, dtype: torch.dtype) -> int:
    """Return bytes a token takes in the cache: two tensors a layer, heads times size each (147 kB for Qwen3-8B)."""
    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return int(2 * text.num_hidden_layers * heads * size * torch.empty((), dtype=dtype).element_size())
