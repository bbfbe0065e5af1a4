"""The shop's search engine: BM25 over titles. Words that are in no title cost nothing, stray ones mislead."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache, lru_cache

from trainer.worlds.shop.catalogue import Product, catalogue

K1, B = 1.2, 0.75
RESULTS = 50  # WebShop gives at most fifty
_WORD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def words(text: str) -> list[str]:
    """Return the lower-case words of a text, hyphens kept inside."""
    return _WORD.findall(text.lower())


@cache
def _index() -> tuple[dict[str, dict[str, float]], dict[str, int]]:
    """Return word -> product id -> weight, and the order of products, which breaks ties."""
    titles = {product.id: words(product.title) for product in catalogue().products.values()}
    mean = sum(map(len, titles.values())) / len(titles)
    document_frequency = Counter(word for title in titles.values() for word in dict.fromkeys(title))
    weights: dict[str, dict[str, float]] = {word: {} for word in document_frequency}
    for name, title in titles.items():
        for word, count in Counter(title).items():
            found = document_frequency[word]
            rarity = math.log(1 + (len(titles) - found + 0.5) / (found + 0.5))
            weights[word][name] = rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * len(title) / mean))
    return weights, {name: place for place, name in enumerate(titles)}


@lru_cache(maxsize=20_000)
def search(query: str) -> tuple[Product, ...]:
    """Return at most fifty products, best first; products that share no word with the query aren't found."""
    weights, order = _index()
    scores: dict[str, float] = {}
    for word in words(query):
        for name, weight in weights.get(word, {}).items():
            scores[name] = scores.get(name, 0.0) + weight
    ranked = sorted(scores, key=lambda name: (-scores[name], order[name]))
    products = catalogue().products
    return tuple(products[name] for name in ranked[:RESULTS])
