"""The world `shop`: a small catalogue in WebShop's shape, with executors that read skills."""

from __future__ import annotations

from trainer.worlds.lexicon import Lexicon
from trainer.worlds.shop import lexicon as _lexicon
from trainer.worlds.shop.world import Shop


def make() -> Shop:
    """Return the shop; it takes no options."""
    return Shop()


def lexicon() -> Lexicon:
    """Return what the shop lends to the phrase policy."""
    return _lexicon.lexicon()
