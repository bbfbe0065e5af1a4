"""WebShop's own catalogue by path: its `items_shuffle*.json`, with the attributes of `items_ins_v2*.json`.

What the shop knows of a product is a kind (the query it was collected by), attributes (those named in its title are
seen there, the others are features), colors, sizes and one price. Other options of a product are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.curation.worlds import Split
from core.foundation import strict_json
from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.strategy.shop.catalogue import Catalogue, Product
from trainer.worlds.shop.search import words

UNPRICED = 10_000  # cents: what WebShop takes where a product has no price
KINDS_HELD_OUT = 5  # one kind of product in five is of the test split, by its name's hash
PRODUCTS_A_KIND = 2  # a kind with fewer has nothing to choose from
_AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?")


def _read(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint="WebShop's setup script fetches items_shuffle*.json.")
    try:
        return strict_json.parse(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read: {visible_line(str(error))}.") from error


def _cents(pricing: object) -> int:
    """Return the lowest amount of a price such as "$12.99 to $20.00"."""
    amounts = [float(found.replace(",", "")) for found in _AMOUNT.findall(str(pricing or ""))]
    return round(min(amounts) * 100) if amounts else UNPRICED


def _options(item: Mapping[str, Any], name: str) -> tuple[str, ...]:
    listed = (item.get("customization_options") or {}).get(name) or ()
    values = [str(value.get("value", "")).strip().lower() for value in listed if isinstance(value, Mapping)]
    return tuple(dict.fromkeys(value for value in values if value))


def _product(item: Mapping[str, Any], said: object, number: int, path: Path) -> Product:
    for name in ("asin", "name", "query", "category"):
        if not isinstance(item.get(name), str) or not item[name].strip():
            raise UsageError(f"Product {number} of {path} has no {name}.", hint="Give WebShop's items_shuffle*.json.")
    title, sizes = item["name"].strip(), _options(item, "size")
    named = set(words(title))
    listed = said.get("attributes") if isinstance(said, Mapping) else None
    attributes = tuple(dict.fromkeys(str(attribute).strip().lower() for attribute in listed or ()))
    in_title = tuple(attribute for attribute in attributes if words(attribute) and set(words(attribute)) <= named)
    return Product(
        id=item["asin"].strip(),
        title=title,
        category=item["category"].strip(),
        kind=item["query"].strip().lower(),
        attributes=in_title,
        features=tuple(attribute for attribute in attributes if attribute not in in_title),
        colors=_options(item, "color"),
        sizes=sizes,
        cents=_cents(item.get("pricing")),
        extra=dict.fromkeys(sizes, 0),
    )


def _split(kind: str) -> Split:
    return "test" if int(hashlib.sha256(kind.encode()).hexdigest()[:8], 16) % KINDS_HELD_OUT == 0 else "train"


def load(items: Path, attributes: Path) -> Catalogue:
    """Return WebShop's goods. Raises UsageError naming the file and what it lacks."""
    listed, said = _read(items), _read(attributes)
    if not isinstance(listed, list) or not all(isinstance(item, Mapping) for item in listed):
        raise UsageError(f"{items} is no list of products.", hint="Give WebShop's items_shuffle*.json.")
    if not isinstance(said, Mapping):
        raise UsageError(f"{attributes} is no table of attributes.", hint="Give WebShop's items_ins_v2*.json.")
    products: dict[str, Product] = {}
    for number, item in enumerate(listed, 1):
        product = _product(item, said.get(item.get("asin", "")), number, items)
        products.setdefault(product.id, product)
    by_kind: dict[str, list[Product]] = {}
    for product in products.values():
        by_kind.setdefault(product.kind, []).append(product)
    large = sorted(kind for kind, goods in by_kind.items() if len(goods) >= PRODUCTS_A_KIND)
    kinds: dict[Split, tuple[str, ...]] = {
        split: tuple(kind for kind in large if _split(kind) == split) for split in ("train", "test")
    }
    for split, names in kinds.items():
        if not names:
            raise UsageError(f"{items} has no kind of product with {PRODUCTS_A_KIND} products for {split}.")
    return Catalogue(
        products=products,
        by_kind={kind: tuple(goods) for kind, goods in by_kind.items()},
        kinds=kinds,
        category_of={kind: goods[0].category for kind, goods in by_kind.items()},
    )
