"""The shop's search engine: BM25 over titles. Words that are in no title cost nothing, stray ones mislead."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from core.strategy.shop.catalogue import Product

K1, B = 1.2, 0.75
RESULTS = 50  # WebShop gives at most fifty
REMEMBERED = 20_000  # queries whose answer is kept
_WORD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def words(text: str) -> list[str]:
    """Return the lower-case words of a text, hyphens kept inside."""
    return _WORD.findall(text.lower())


class SearchEngine:
    """BM25 over the titles of some products. Invariant: ties keep the order in which the products were given."""

    def __init__(self, products: Iterable[Product]) -> None:
        self._products = tuple(products)
        titles = [words(product.title) for product in self._products]
        mean = sum(map(len, titles)) / max(1, len(titles))
        frequency = Counter(word for title in titles for word in dict.fromkeys(title))
        self._weights: dict[str, dict[int, float]] = {word: {} for word in frequency}
        for at, title in enumerate(titles):
            for word, count in Counter(title).items():
                found = frequency[word]
                rarity = math.log(1 + (len(titles) - found + 0.5) / (found + 0.5))
                self._weights[word][at] = rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * len(title) / mean))
        self._known: dict[str, tuple[Product, ...]] = {}

    def search(self, query: str) -> tuple[Product, ...]:
        """Return at most fifty products, best first; products that share no word with the query aren't found."""
        found = self._known.get(query)
        if found is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            found = self._known[query] = self._ranked(query)
        return found

    def _ranked(self, query: str) -> tuple[Product, ...]:
        scores: dict[int, float] = {}
        for word in words(query):
            for at, weight in self._weights.get(word, {}).items():
                scores[at] = scores.get(at, 0.0) + weight
        ranked = sorted(scores, key=lambda at: (-scores[at], at))
        return tuple(self._products[at] for at in ranked[:RESULTS])
