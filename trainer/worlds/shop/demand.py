"""What a shopper asks for, and how well a purchase answers it (WebShop's reward, in its shape)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.strategy.shop.catalogue import Product

SAME_CATEGORY = 0.5  # WebShop's r_type: 1 the right kind, 0.5 a neighbour, 0.1 something else
OTHER_CATEGORY = 0.1


@dataclass(frozen=True, slots=True)
class Demand:
    """A wish: a kind of product with at most one of each. `below` is the price limit in cents, exclusive."""

    kind: str
    attribute: str | None = None
    feature: str | None = None
    color: str | None = None
    size: str | None = None
    below: int | None = None

    def text(self) -> str:
        """Return the instruction in the wording of WebShop's generated goals."""
        said = f"Find me {self.attribute + ' ' if self.attribute else ''}{self.kind}"
        asked = []
        if self.feature:
            asked.append(f"feature: {self.feature}")
        if self.color:
            asked.append(f"color: {self.color}")
        if self.size:
            asked.append(f"size: {self.size}")
        if self.below is not None:
            asked.append(f"price lower than {self.below / 100:.2f} dollars")
        return said + (f", with {', and '.join(asked)}" if asked else "") + "."

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Demand.__slots__ if getattr(self, name) is not None}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Demand:
        """Read what `as_json` wrote. Raises TypeError for names that a demand hasn't."""
        return cls(**document)


def fits(demand: Demand, product: Product) -> bool:
    """Tell whether some choice of options makes this product an exact answer."""
    if product.kind != demand.kind:
        return False
    if demand.attribute and demand.attribute not in product.attributes:
        return False
    if demand.feature and demand.feature not in product.features:
        return False
    if demand.color and demand.color not in product.colors:
        return False
    if demand.size and demand.size not in product.sizes:
        return False
    return demand.below is None or product.price(demand.size) < demand.below


def reward(demand: Demand, product: Product, color: str | None, size: str | None, category: str) -> float:
    """Return WebShop's reward, 0 to 1: r_type * (attributes + options + price) / all that was asked, price included.

    `category` is that of the kind which was asked for. As in WebShop the price counts as one thing asked even where no
    limit was set, and is then met.
    """
    met = [demand.below is None or product.price(size) < demand.below]
    if demand.attribute:
        met.append(demand.attribute in product.attributes)
    if demand.feature:
        met.append(demand.feature in product.features)
    if demand.color:
        met.append(demand.color == color)
    if demand.size:
        met.append(demand.size == size)
    neighbour = SAME_CATEGORY if product.category == category else OTHER_CATEGORY
    return (1.0 if product.kind == demand.kind else neighbour) * sum(met) / len(met)
