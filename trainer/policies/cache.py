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
    """A layer with room. Invariant: `keys` and `values` are views of the first `length` tokens of the two stores."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.keys: Tensor
        self.values: Tensor
        self._stores: tuple[Tensor, Tensor] | None = None

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append [rows, heads, tokens, size] of both; return all that is held."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        before = self.get_seq_length()
        after = before + key_states.shape[-2]
        if self._stores is None or self._stores[0].shape[-2] < after or self._stores[0].shape[0] != key_states.shape[0]:
            self._stores = (self._grown(self.keys, key_states, after), self._grown(self.values, value_states, after))
        keys, values = self._stores
        keys[:, :, before:after] = key_states
        values[:, :, before:after] = value_states
        self.keys, self.values = keys[:, :, :after], values[:, :, :after]
        return self.keys, self.values

    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order; a row may be named several times."""
        keys, values = self.keys, self.values
        self._stores = None
        self.keys, self.values = keys.index_select(0, rows), values.index_select(0, rows)

    def _grown(self, held: Tensor, new: Tensor, tokens: int) -> Tensor:
        rows, heads, _, size = new.shape
        store = new.new_empty((rows, heads, tokens + self.room, size))
        if held.numel():
            store[:, :, : held.shape[-2]] = held
        return store


def roomy_cache(config: Any, room: int) -> DynamicCache:
    """Return a cache for one generation; `room` is how many tokens are expected after each growth. Not for autograd."""
    cache = DynamicCache(config=config)
    cache.layers = [RoomyLayer(room) if type(layer) is DynamicLayer else layer for layer in cache.layers]
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
