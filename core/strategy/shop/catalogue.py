"""The shop's goods, generated once from a named seed: kinds of product, brands, attributes, options, prices.

One shop, two sides: the trainer's world walks it to buy, the simulator beside this file looks after what was bought.
Every kind of product belongs to one split, so what is bought at test was never seen in training. Around each kind stand
accessories that name it in their title without being it, as in any real shop.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from core.foundation.errors import UsageError

Split = Literal["train", "test"]
"""Of a kind of product; the same two names as core.curation.worlds.Split."""
CATALOGUE_SEED = 2605
PRODUCTS_A_KIND = 14
ACCESSORIES_A_KIND = 2
TITLE_ATTRIBUTES = 2
HIDDEN_FEATURES = 2
COLORS_A_PRODUCT = 4
SIZES_A_PRODUCT = 3
COLOR_IN_TITLE = 0.5  # share of titles that end with a color, which need not be one that can be bought
SURCHARGE = (0.0, 0.12, 0.25, 0.4)  # what a size costs more, by its place in the category's list


@dataclass(frozen=True, slots=True)
class Category:
    """What the goods of one category have in common; prices are dollars, sizes go from small to large."""

    name: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    attributes: tuple[str, ...]
    features: tuple[str, ...]
    sizes: tuple[str, ...]
    prices: tuple[int, int]


CATEGORIES = (
    Category(
        "fashion",
        ("jackets", "sneakers", "jeans", "scarves", "sandals", "cardigans"),
        ("hoodies", "boots", "blouses"),
        ("waterproof", "lightweight", "slim", "quilted", "stretchy", "vintage"),
        ("machine washable", "moisture wicking", "rubber sole", "hidden zipper", "wool lining", "flat seams"),
        ("small", "medium", "large", "x-large"),
        (15, 90),
    ),
    Category(
        "beauty",
        ("lipsticks", "shampoos", "lotions", "perfumes", "hairbrushes", "serums"),
        ("balms", "conditioners", "mascaras"),
        ("vegan", "fragrance-free", "hydrating", "mineral", "matte", "tinted"),
        ("cruelty free", "alcohol free", "paraben free", "dermatologist tested", "refillable case", "long lasting"),
        ("travel size", "half size", "full size", "family size"),
        (6, 45),
    ),
    Category(
        "electronics",
        ("headphones", "keyboards", "speakers", "chargers", "webcams", "tablets"),
        ("earbuds", "microphones", "projectors"),
        ("wireless", "foldable", "compact", "rugged", "quiet", "portable"),
        ("fast charging", "noise cancelling", "usb powered", "dual band", "carrying pouch", "auto shutoff"),
        ("16 gb", "32 gb", "64 gb", "128 gb"),
        (20, 160),
    ),
    Category(
        "furniture",
        ("bookcases", "nightstands", "armchairs", "mattresses", "benches", "wardrobes"),
        ("stools", "sideboards", "recliners"),
        ("wooden", "upholstered", "modern", "industrial", "padded", "stackable"),
        ("easy assembly", "steel legs", "soft close", "scratch resistant", "non slip feet", "solid oak"),
        ("narrow", "standard", "wide", "extra wide"),
        (40, 300),
    ),
    Category(
        "kitchen",
        ("kettles", "blenders", "skillets", "mugs", "teapots", "cutting boards"),
        ("saucepans", "toasters", "casseroles"),
        ("ceramic", "nonstick", "insulated", "enameled", "rustic", "glazed"),
        (
            "dishwasher safe",
            "bpa free",
            "induction ready",
            "heat resistant handle",
            "spill proof lid",
            "measuring marks",
        ),
        ("single", "set of two", "set of four", "set of six"),
        (8, 70),
    ),
)
COLORS = ("navy", "black", "white", "olive", "coral", "silver", "teal", "maroon", "beige", "lavender")
BRANDS = (
    "Arden", "Bellmoor", "Corvane", "Dunlea", "Elvora", "Farrow", "Glenhale", "Hartwick", "Ivora", "Jasken",
    "Kelby", "Lorne", "Marwick", "Norvale", "Orsett", "Pellham",
)  # fmt: skip
ACCESSORIES = ("storage bag for {}", "cleaning kit for {}", "care guide for {}", "gift box for {}")
SEP = " [SEP] "  # between the things on a page, in WebShop's text mode
_SYMBOLS = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"


@dataclass(frozen=True, slots=True)
class Product:
    """One thing that can be bought.

    `attributes` can be read in the title, `features` only on the features page. `cents` is the price in the smallest
    size; `extra` says what each size costs more, in cents. `kind` of an accessory is "accessory".
    """

    id: str
    title: str
    category: str
    kind: str
    attributes: tuple[str, ...]
    features: tuple[str, ...]
    colors: tuple[str, ...]
    sizes: tuple[str, ...]
    cents: int
    extra: Mapping[str, int]
    head: str = field(default="", compare=False)  # the part of its page that never changes

    def __post_init__(self) -> None:
        options = [("size", self.sizes), ("color", self.colors)]
        shown = [part for name, values in options if values for part in (name, *values)]
        object.__setattr__(self, "head", SEP.join(("Back to Search", "< Prev", *shown, self.title)))

    def price(self, size: str | None = None) -> int:
        """Return the price in cents, in a size or as listed."""
        return self.cents + (self.extra[size] if size is not None else 0)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All products, by id in a fixed order, with the kinds of each split."""

    products: Mapping[str, Product]
    by_kind: Mapping[str, tuple[Product, ...]]
    kinds: Mapping[Split, tuple[str, ...]]
    category_of: Mapping[str, str]


def _ordered(pick: list[str], order: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in order if word in pick)


def _product(draw: random.Random, category: Category, kind: str, accessory: bool) -> Product:
    attributes = _ordered(draw.sample(category.attributes, TITLE_ATTRIBUTES), category.attributes)
    features = _ordered(draw.sample(category.features, HIDDEN_FEATURES), category.features)
    colors = _ordered(draw.sample(COLORS, COLORS_A_PRODUCT), COLORS)
    sizes = _ordered(draw.sample(category.sizes, SIZES_A_PRODUCT), category.sizes)
    low, high = category.prices
    cents = round(low * 100 * (high / low) ** draw.random())
    noun = kind
    if accessory:
        noun, cents = draw.choice(ACCESSORIES).format(kind), max(299, cents // 3)
    color = f" - {draw.choice(COLORS)}" if draw.random() < COLOR_IN_TITLE else ""
    title = f"{draw.choice(BRANDS)} {' '.join(attributes)} {noun}{color}"
    extra = {size: round(cents * SURCHARGE[category.sizes.index(size)]) for size in sizes}
    name = "B0" + "".join(draw.choice(_SYMBOLS) for _ in range(8))
    stated = "accessory" if accessory else kind
    return Product(name, title, category.name, stated, attributes, features, colors, sizes, cents, extra)


@cache
def catalogue() -> Catalogue:
    """Return the shop's goods: the same in every process."""
    draw = random.Random(CATALOGUE_SEED)
    products: dict[str, Product] = {}
    by_kind: dict[str, tuple[Product, ...]] = {}
    category_of: dict[str, str] = {}
    for category in CATEGORIES:
        for kind in category.train + category.test:
            goods = [_product(draw, category, kind, accessory=False) for _ in range(PRODUCTS_A_KIND)]
            by_kind[kind], category_of[kind] = tuple(goods), category.name
            goods += [_product(draw, category, kind, accessory=True) for _ in range(ACCESSORIES_A_KIND)]
            for product in goods:
                if product.id in products:
                    raise UsageError(f"Two products have the id {product.id}.", hint="Choose another CATALOGUE_SEED.")
                products[product.id] = product
    kinds: dict[Split, tuple[str, ...]] = {
        "train": tuple(kind for category in CATEGORIES for kind in category.train),
        "test": tuple(kind for category in CATEGORIES for kind in category.test),
    }
    return Catalogue(products, by_kind, kinds, category_of)
