"""The world `shop`: a small catalogue in WebShop's shape, with executors that read skills."""

from __future__ import annotations

from pathlib import Path

from core.foundation.errors import UsageError
from trainer.worlds.lexicon import Lexicon
from trainer.worlds.shop import lexicon as _lexicon
from trainer.worlds.shop.world import Shop

__all__ = ["Shop", "lexicon", "make"]


def make(items: str | Path | None = None, attributes: str | Path | None = None) -> Shop:
    """Return the shop: with its own goods, or with WebShop's from its two files, `items` and `attributes`."""
    if (items is None) != (attributes is None):
        raise UsageError(
            "WebShop's catalogue needs two files.", hint="items=items_shuffle.json attributes=items_ins_v2.json."
        )
    if items is None or attributes is None:
        return Shop()
    from trainer.worlds.shop.webshop import load

    return Shop(load(Path(items).expanduser(), Path(attributes).expanduser()))


def lexicon() -> Lexicon:
    """Return what the shop lends to the phrase policy."""
    return _lexicon.lexicon()
