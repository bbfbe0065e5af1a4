"""The shop as a game: pages, `search[...]` and `click[...]`, in WebShop's wording.

A search page leads to result pages, these to product pages with options and sub-pages, and `Buy Now` ends the game with
its score. Several things on a page are told apart by [SEP], as WebShop's text mode does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from core.strategy.shop.catalogue import SEP, Catalogue, Product
from trainer.worlds.shop.demand import Demand, reward
from trainer.worlds.shop.search import SearchEngine

Page = Literal["search", "results", "product", "features", "description", "end"]
PER_PAGE = 10
MAX_STEPS = 30
BACK, PREV, NEXT, BUY = "back to search", "< prev", "next >", "buy now"
FEATURES, DESCRIPTION = "features", "description"
ILLEGAL = "Nothing happens: that can't be done on this page."


def dollars(cents: int) -> str:
    """Return an amount as a page prints it."""
    return f"${cents / 100:.2f}"


class ShopGame:
    """One shopping trip. Invariant: `product` is not None exactly on a product's pages and at the end."""

    def __init__(self, demand: Demand, goods: Catalogue, engine: SearchEngine, max_steps: int = MAX_STEPS) -> None:
        self.demand = demand
        self._goods = goods
        self._engine = engine
        self.page: Page = "search"
        self.results: tuple[Product, ...] = ()
        self.number = 0  # of the result page, from 0
        self.product: Product | None = None
        self.color: str | None = None
        self.size: str | None = None
        self.steps = 0
        self._instruction = demand.text()
        self._pages: dict[int, str] = {}  # texts of result pages, which are seen again and again
        self._max_steps = max_steps
        self._score: float | None = None

    @property
    def intro(self) -> str:
        return f"Instruction:{SEP}{self._instruction}{SEP}Search"

    @property
    def admissible(self) -> Sequence[str]:
        """Return the clicks of this page; none on the search page, where any `search[...]` is legal."""
        return tuple(f"click[{name}]" for name in self._buttons())

    @property
    def done(self) -> bool:
        return self.page == "end" or self.steps >= self._max_steps

    @property
    def won(self) -> bool:
        return self._score == 1.0

    @property
    def score(self) -> float | None:
        """Return WebShop's reward; 0 where nothing was bought, as in WebShop."""
        return 0.0 if self._score is None else self._score

    @property
    def shown(self) -> tuple[Product, ...]:
        """The products of the present result page."""
        return self.results[self.number * PER_PAGE : (self.number + 1) * PER_PAGE]

    def step(self, action: str) -> str:
        """Act and return the new page's text. Actions are case-blind; an illegal one costs its step and no more."""
        if self.done:
            return "The shopping trip is over."
        self.steps += 1
        said = action.strip().lower()
        if said.startswith("search[") and said.endswith("]") and self.page == "search":
            return self._search(said[7:-1])
        if said.startswith("click[") and said.endswith("]"):
            return self._click(said[6:-1].strip())
        return ILLEGAL

    def _search(self, query: str) -> str:
        self.results, self.number = self._engine.search(query), 0
        self._pages.clear()
        self.page = "results"
        return self._result_text()

    def _click(self, name: str) -> str:
        if name not in self._buttons():
            return ILLEGAL
        if name == BACK:
            self.page, self.product = "search", None
            return self.intro
        if self.page == "results":
            return self._click_results(name)
        return self._click_product(name)

    def _click_results(self, name: str) -> str:
        if name in (NEXT, PREV):
            self.number += 1 if name == NEXT else -1
            return self._result_text()
        self.product = next(product for product in self.shown if product.id.lower() == name)
        self.page, self.color, self.size = "product", None, None
        return self._product_text()

    def _click_product(self, name: str) -> str:
        product = self.product
        assert product is not None
        if self.page != "product":  # the only other button of a sub-page is "< prev"
            self.page = "product"
            return self._product_text()
        if name == PREV:
            self.page, self.product = "results", None
            return self._result_text()
        if name == BUY:
            self.page = "end"
            category = self._goods.category_of[self.demand.kind]
            self._score = reward(self.demand, product, self.color, self.size, category)
            return f"Thank you for shopping with us!{SEP}Your score (min 0.0, max 1.0){SEP}{self._score:.2f}"
        if name == FEATURES:
            self.page = "features"
            return SEP.join(("Back to Search", "< Prev", *product.features))
        if name == DESCRIPTION:
            self.page = "description"
            return SEP.join(("Back to Search", "< Prev", f"{product.title}, from our {product.category} range."))
        if name in product.colors:
            self.color = name
        else:
            self.size = name
        return f"You have clicked {name}.{SEP}{self._product_text()}"

    def _buttons(self) -> tuple[str, ...]:
        if self.page == "results":
            more = (NEXT,) if (self.number + 1) * PER_PAGE < len(self.results) else ()
            less = (PREV,) if self.number else ()
            return (BACK, *less, *more, *(product.id.lower() for product in self.shown))
        if self.page == "product":
            assert self.product is not None
            return (BACK, PREV, *self.product.sizes, *self.product.colors, DESCRIPTION, FEATURES, BUY)
        return (BACK, PREV) if self.page in ("features", "description") else ()

    def _result_text(self) -> str:
        text = self._pages.get(self.number)
        if text is None:
            head = f"Back to Search{SEP}Page {self.number + 1} (Total results: {len(self.results)})"
            if self.number:
                head += SEP + "< Prev"
            if (self.number + 1) * PER_PAGE < len(self.results):
                head += SEP + "Next >"
            shown = (f"{SEP}{product.id}{SEP}{product.title}{SEP}{dollars(product.cents)}" for product in self.shown)
            text = self._pages[self.number] = head + "".join(shown)
        return text

    def _product_text(self) -> str:
        product = self.product
        assert product is not None
        price = dollars(product.price(self.size))
        return f"{product.head}{SEP}Price: {price}{SEP}Description{SEP}Features{SEP}Buy Now"
