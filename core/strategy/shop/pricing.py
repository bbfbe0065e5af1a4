"""Three price sources, of which one answers 503 at times, and what stands in for it (S26, S27)."""

from __future__ import annotations

import random
from typing import Annotated

from core.strategy.schema.define import Outputs, skill_definition
from core.strategy.shop.catalogue import Product, catalogue
from core.strategy.shop.desk import At, SkillFailed
from core.strategy.shop.promises import PRICE, PRICES, Offer, Row, Source, Word

SOURCES = ("jd", "tmall", "pdd")
SLOW_MS = 6_000
DISCOUNT = {"jd": 0.97, "tmall": 0.95, "pdd": 0.9}
"""What a source takes off its own long-run price in this season."""
LONG_RUN = {"jd": (0.95, 1.1), "tmall": (0.95, 1.1), "pdd": (0.9, 1.15)}
"""What a source's long-run price of a product is, as a share of the shop's own price."""
WOBBLE = 0.04
"""How far today's price lies beside long run times discount, as a share."""


def _draw(source: str, product: Product, what: str) -> random.Random:
    return random.Random(f"shop:price:{source}:{product.id}:{what}")


def long_run(source: str, product: Product) -> float:
    """Return the historical mean price at a source, dollars."""
    return product.cents / 100 * _draw(source, product, "mean").uniform(*LONG_RUN[source])


def price_today(source: str, product: Product) -> float:
    """Return what the product truly costs there today, dollars."""
    near = 1 + _draw(source, product, "today").uniform(-WOBBLE, WOBBLE)
    return round(long_run(source, product) * DISCOUNT[source] * near, 2)


def _product(product_id: str) -> Product:
    product = catalogue().products.get(product_id)
    if product is None:
        raise SkillFailed("INVALID_SKU", f"no product {product_id!r}")
    return product


@skill_definition(side_effects="read", idempotent=True, typical_ms=700, needs=["product.id"])
async def query_price(call: At, product_id: Word, source: Source = "jd") -> Annotated[Row, Outputs(PRICE)]:
    """Query the price of a product at one source. 比价"""
    if source not in SOURCES:
        raise SkillFailed("INVALID_SOURCE", f"no source {source!r}")
    if source in call.desk.fate.slow:
        await call.desk.shop.clock.sleep(SLOW_MS)
    if source in call.desk.fate.down:
        raise SkillFailed("HTTP_503", f"{source} is not available")
    return {"source": source, "price": price_today(source, _product(product_id)), "estimated": False}


@skill_definition(side_effects="read", idempotent=True, typical_ms=30, needs=["product.id"])
async def estimate_price(call: At, product_id: Word, source: Source) -> Annotated[Row, Outputs(PRICE)]:
    """Estimate a price from the historical mean and the platform's discount rate."""
    price = round(long_run(source, _product(product_id)) * DISCOUNT[source], 2)
    return {"source": source, "price": price, "estimated": True}


@skill_definition(side_effects="none", idempotent=True, typical_ms=20)
async def merge_prices(
    call: At,
    jd: Offer = None,
    tmall: Offer = None,
    pdd: Offer = None,
) -> Annotated[Row, Outputs(PRICES)]:
    """Merge the prices of several sources into one comparison."""
    rows = [row for row in (jd, tmall, pdd) if row and "price" in row]
    if not rows:
        raise SkillFailed("NO_PRICES", "no source answered")
    best = min(rows, key=lambda row: (row["price"], row["source"]))
    return {
        "source": best["source"],
        "price": best["price"],
        "rows": [{"source": row["source"], "price": row["price"]} for row in rows],
        "estimated": [row["source"] for row in rows if row.get("estimated")],
    }
