"""Skills that look: they change nothing in the shop. The first line of each docstring is what a model would be told."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache
from typing import Any

from core.skillrepo.words import split_words
from core.strategy.execution.skills import Call
from core.strategy.shop.catalogue import Product, catalogue
from core.strategy.shop.desk import Desk, SkillFailed
from core.strategy.shop.orders import Order

DAYS_BY_REGION = {"north": 4, "east": 2, "south": 3, "west": 5}


async def find_recent_order(desk: Desk, call: Call, user_id: str) -> dict[str, Any]:
    """Find the newest order of a user."""
    held = desk.shop.of(user_id)
    if not held or user_id != desk.customer.id:
        raise SkillFailed("NO_ORDERS", f"user {user_id!r} has no orders")
    return held[0].shown()


async def query_order(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Query an order: status, amounts, product, address."""
    return desk.order(order_id).shown()


async def check_order_status(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Check the status of an order."""
    return {"status": desk.order(order_id).status}


async def query_logistics(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Query the logistics of a parcel: where is it, when is it delivered; empty where unknown. 包裹到哪里"""
    parcel = desk.order(order_id).parcel
    if parcel is None or parcel.silent:
        return {}
    return {
        "tracking_number": parcel.tracking_number,
        "carrier": parcel.carrier,
        "place": parcel.place,
        "estimated_delivery_date": parcel.due.date().isoformat(),
    }


async def estimate_delivery(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Estimate the delivery date of a parcel by weight and region, without the carrier."""
    order = desk.order(order_id)
    days = DAYS_BY_REGION[desk.customer.region] + (1 if order.product.category == "furniture" else 0)
    due = order.paid_at + timedelta(days=days + 1)
    return {"estimated_delivery_date": due.date().isoformat(), "by": "weight"}


async def get_payment_info(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Get the payment method and the paid amount of an order."""
    order = desk.order(order_id)
    return {"payment_method": order.payment, "paid_amount": order.paid / 100}


async def refund_precheck(desk: Desk, call: Call, order_id: str, paid_at: str = "") -> dict[str, Any]:
    """Check beforehand whether a refund would be approved, and for how much."""
    order = desk.order(order_id)
    if not order.refundable:
        return {"decision": "reject", "amount": 0}
    return {"decision": desk.fate.approve, "amount": order.listed / 100}


async def collect_evidence(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Collect photos from the customer as evidence."""
    desk.order(order_id)
    number = desk.counts["collect_evidence"]
    return {"complete": number >= desk.fate.evidence_after, "photos": number}


async def check_message(desk: Desk, call: Call) -> dict[str, Any]:
    """Check whether a message really arrived at the customer."""
    arrived = [message for message in desk.shop.messages if message.customer == desk.customer.id]
    return {"arrived": bool(arrived), "channel": arrived[-1].channel if arrived else ""}


async def risk_scan_device(desk: Desk, call: Call, device: str = "") -> dict[str, Any]:
    """Scan the reputation of a device for fraud."""
    return {"ok": desk.customer.device != "unknown", "device": desk.customer.device}


async def search_product(
    desk: Desk, call: Call, query: str, category_filter: str = "", price_range: dict[str, float] | None = None
) -> dict[str, Any]:
    """Search a product to buy: recommend goods by words, category and price range. 推荐"""
    asked = set(split_words(query))
    low, high = (price_range or {}).get("min_price", 0), (price_range or {}).get("max_price", 1e9)
    found = [
        (len(asked & named), product)
        for product, named in _titles()
        if low * 100 <= product.cents <= high * 100 and category_filter in ("", product.category)
    ]
    best = [product for score, product in sorted(found, key=lambda row: (-row[0], row[1].id))[:3] if score]
    return {"count": len(best), "products": [_offered(product) for product in best]}


async def hear_price_range(desk: Desk, call: Call, query: str) -> dict[str, Any]:
    """Hear which price range somebody names: under, below, up to a number of dollars."""
    numbers = re.findall(r"\d+", query)
    if not numbers:
        raise SkillFailed("NO_PRICE_NAMED", "no number is named")
    return {"price_range": {"min_price": 0, "max_price": float(numbers[-1])}}


async def suggest_similar_products(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Suggest products similar to what was ordered."""
    product = desk.order(order_id).product
    goods = [other for other in catalogue().products.values() if other.kind == product.kind and other.id != product.id]
    return {"count": len(goods[:3]), "products": [_offered(other) for other in goods[:3]]}


async def tutorial_generation(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Generate a tutorial: how to use, set up and clean a product, steps. 怎么用"""
    product = desk.order(order_id).product
    return {"kind": product.kind, "steps": guide(product)}


def guide(product: Product) -> list[str]:
    """Return the steps of a product's guide."""
    return [f"Unpack the {product.kind}", *(f"Mind: {feature}" for feature in product.features), "Keep the receipt"]


async def answer_faq(desk: Desk, call: Call, query: str) -> dict[str, Any]:
    """Answer a general question from the help pages."""
    return {"answer": f"The help pages have this on it: {' '.join(sorted(set(split_words(query)))[:5])}."}


@cache
def _titles() -> tuple[tuple[Product, frozenset[str]], ...]:
    return tuple((product, frozenset(split_words(product.title))) for product in catalogue().products.values())


def _offered(product: Product) -> dict[str, Any]:
    return {
        "id": product.id,
        "title": product.title,
        "kind": product.kind,
        "category": product.category,
        "price": product.cents / 100,
    }


def due_of(order: Order) -> str:
    """Return the day on which an order truly arrives, "" where nothing was sent."""
    return order.parcel.due.date().isoformat() if order.parcel else ""
