"""The network of the tiny policy: a small decoder with a key-value cache (CURATION 2c)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  # its name everywhere
from torch import Tensor, nn

from trainer.policies.options import HEADS, WIDTH


@dataclass(frozen=True, slots=True)
class TinyShape:
    """Three layers of width 128 are about 0.6 million weights. Lengths are in tokens."""

    vocabulary: int
    width: int = WIDTH
    layers: int = 3
    heads: int = HEADS
    max_prompt: int = 136
    max_answer: int = 34

    @property
    def positions(self) -> int:
        return self.max_prompt + self.max_answer


class Cache:
    """Keys and values of what was read, a pair of tensors [B, heads, room, width/heads] a layer.

    Invariant: `filled` columns are written in every layer.
    """

    def __init__(self, shape: TinyShape, batch: int, room: int) -> None:
        size = (batch, shape.heads, room, shape.width // shape.heads)
        self.layers = [(torch.zeros(size), torch.zeros(size)) for _ in range(shape.layers)]
        self.filled = 0

    def keep(self, rows: Tensor) -> None:
        """Keep only `rows` of the batch."""
        self.layers = [(keys[rows], values[rows]) for keys, values in self.layers]


class Block(nn.Module):
    """Attention and a feed-forward layer, each before a residual sum, normalised first."""

    def __init__(self, shape: TinyShape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.norm_attention, self.norm_feed = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, allowed: Tensor, cached: tuple[Tensor, Tensor] | None, at: int) -> Tensor:
        batch, length, width = x.shape
        packed = self.qkv(self.norm_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = packed.permute(2, 0, 3, 1, 4)
        if cached is not None:
            keys, values = cached
            keys[:, :, at : at + length] = key
            values[:, :, at : at + length] = value
            key, value = keys[:, :, : at + length], values[:, :, : at + length]
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        fed: Tensor = x + self.feed(self.norm_feed(x))
        return fed


class TinyModel(nn.Module):
    """A decoder whose output layer is its embedding."""

    def __init__(self, shape: TinyShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        nn.init.normal_(self.embedding.weight, std=0.05)
        nn.init.normal_(self.position.weight, std=0.02)

    def forward(self, ids: Tensor, real: Tensor, *, cache: Cache | None = None, last: int | None = None) -> Tensor:
        """Return logits, [B, last or T, vocabulary].

        `ids` [B, T] are the new tokens, `real` [B, filled + T] is true where a token of the whole sequence, cached
        ones among them, is no padding. `last` asks for the last positions only.
        """
        at = 0 if cache is None else cache.filled
        length = ids.shape[1]
        whole = at + length
        # Padding stands at the left, so a token's position is the number of real ones before it.
        place = (real.long().cumsum(1) - 1).clamp(min=0)[:, at:]
        x = self.embedding(ids) + self.position(place)
        order = torch.arange(whole)
        causal = order[None, :] <= order[at:, None]
        # A padding token may look at itself: a row that sees nothing has no softmax.
        itself = order[None, :] == order[at:, None]
        allowed = ((causal[None] & real[:, None, :]) | itself[None])[:, None]
        for index, block in enumerate(self.blocks):
            x = block(x, allowed, None if cache is None else cache.layers[index], at)
        if cache is not None:
            cache.filled = whole
        if last is not None:
            x = x[:, -last:]
        return F.linear(self.norm(x), self.embedding.weight)
