"""Skills that look: they change nothing in the shop. The first line of each docstring is what a model would be told."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache
from typing import Annotated, Any

from core.skillrepo.words import split_words
from core.strategy.schema.define import Outputs, Range, domain, rule, skill_definition
from core.strategy.schema.inputs import ends_of
from core.strategy.shop.catalogue import Product, catalogue
from core.strategy.shop.desk import At, SkillFailed
from core.strategy.shop.orders import Order
from core.strategy.shop.promises import (
    ANSWER,
    ARRIVAL,
    BY_ORDER,
    DECISION,
    DELIVERY,
    EVIDENCE,
    FOUND,
    HEARD,
    ORDER,
    ORDER_PATHS,
    PAYMENT,
    PRODUCTS,
    SCAN,
    STATUS,
    TRACE,
    TUTORIAL,
    Row,
    Said,
    Word,
)

DAYS_BY_REGION = {"north": 4, "east": 2, "south": 3, "west": 5}


@skill_definition(side_effects="read", idempotent=True, typical_ms=120, needs=["user.id"], provides=ORDER_PATHS)
async def find_recent_order(call: At, user_id: Word) -> Annotated[Row, Outputs(ORDER)]:
    """Find the newest order of a user."""
    held = call.desk.shop.of(user_id)
    if not held or user_id != call.desk.customer.id:
        raise SkillFailed("NO_ORDERS", f"user {user_id!r} has no orders")
    return held[0].shown()


@skill_definition(
    side_effects="read", idempotent=True, typical_ms=120, needs=BY_ORDER, provides=ORDER_PATHS[1:], providers=FOUND
)
async def query_order(call: At, order_id: Word) -> Annotated[Row, Outputs(ORDER)]:
    """Query an order: status, amounts, product, address."""
    return call.desk.order(order_id).shown()


@skill_definition(
    side_effects="read", idempotent=True, typical_ms=60, needs=BY_ORDER, provides=["order.status"], providers=FOUND
)
async def check_order_status(call: At, order_id: Word) -> Annotated[Row, Outputs(STATUS)]:
    """Check the status of an order."""
    return {"status": call.desk.order(order_id).status}


@skill_definition(
    side_effects="read",
    idempotent=True,
    typical_ms=450,
    needs=BY_ORDER,
    provides=["parcel.tracking_number", "parcel.place"],
    providers=FOUND,
)
async def query_logistics(call: At, order_id: Word) -> Annotated[Row, Outputs(TRACE)]:
    """Query the logistics of a parcel: where is it, when is it delivered; empty where unknown. 包裹到哪里"""
    parcel = call.desk.order(order_id).parcel
    if parcel is None or parcel.silent:
        return {}
    return {
        "tracking_number": parcel.tracking_number,
        "carrier": parcel.carrier,
        "place": parcel.place,
        "estimated_delivery_date": parcel.due.date().isoformat(),
    }


@skill_definition(side_effects="read", idempotent=True, typical_ms=150, needs=BY_ORDER, providers=FOUND)
async def estimate_delivery(call: At, order_id: Word) -> Annotated[Row, Outputs(DELIVERY)]:
    """Estimate the delivery date of a parcel by weight and region, without the carrier."""
    order = call.desk.order(order_id)
    days = DAYS_BY_REGION[call.desk.customer.region] + (1 if order.product.category == "furniture" else 0)
    due = order.paid_at + timedelta(days=days + 1)
    return {"estimated_delivery_date": due.date().isoformat(), "by": "weight"}


@skill_definition(
    side_effects="read",
    idempotent=True,
    typical_ms=150,
    needs=BY_ORDER,
    provides=["payment_method", "order.paid_amount"],
    providers=FOUND,
)
async def get_payment_info(call: At, order_id: Word) -> Annotated[Row, Outputs(PAYMENT)]:
    """Get the payment method and the paid amount of an order."""
    order = call.desk.order(order_id)
    return {"payment_method": order.payment, "paid_amount": order.paid / 100}


@skill_definition(side_effects="read", idempotent=True, typical_ms=700, needs=BY_ORDER, providers=FOUND)
async def refund_precheck(call: At, order_id: Word, paid_at: Word = "") -> Annotated[Row, Outputs(DECISION)]:
    """Check beforehand whether a refund would be approved, and for how much."""
    order = call.desk.order(order_id)
    if not order.refundable:
        return {"decision": "reject", "amount": 0}
    return {"decision": call.desk.fate.approve, "amount": order.listed / 100}


@skill_definition(side_effects="read", idempotent=False, typical_ms=500, needs=BY_ORDER, providers=FOUND)
async def collect_evidence(call: At, order_id: Word) -> Annotated[Row, Outputs(EVIDENCE)]:
    """Collect photos from the customer as evidence."""
    call.desk.order(order_id)
    number = call.desk.counts["collect_evidence"]
    return {"complete": number >= call.desk.fate.evidence_after, "photos": number}


@skill_definition(side_effects="read", idempotent=True, typical_ms=40)
async def check_message(call: At) -> Annotated[Row, Outputs(ARRIVAL)]:
    """Check whether a message really arrived at the customer."""
    arrived = [message for message in call.desk.shop.messages if message.customer == call.desk.customer.id]
    return {"arrived": bool(arrived), "channel": arrived[-1].channel if arrived else ""}


@skill_definition(side_effects="read", idempotent=True, typical_ms=300)
async def risk_scan_device(call: At, device: Word = "") -> Annotated[Row, Outputs(SCAN)]:
    """Scan the reputation of a device for fraud."""
    return {"ok": call.desk.customer.device != "unknown", "device": call.desk.customer.device}


@skill_definition(side_effects="read", idempotent=True, typical_ms=350)
async def search_product(
    call: At,
    query: Said,
    category_filter: Annotated[str, domain("fashion", "beauty", "electronics", "furniture", "kitchen")] = "",
    price_range: Annotated[Range | None, rule(0, 10000)] = None,
) -> Annotated[Row, Outputs(PRODUCTS)]:
    """Search a product to buy: recommend goods by words, category and price range. 推荐"""
    asked = set(split_words(query))
    low, high = ends_of(price_range) if price_range is not None else (0, 1e9)
    found = [
        (len(asked & named), product)
        for product, named in _titles()
        if low * 100 <= product.cents <= high * 100 and category_filter in ("", product.category)
    ]
    best = [product for score, product in sorted(found, key=lambda row: (-row[0], row[1].id))[:3] if score]
    return {"count": len(best), "products": [_offered(product) for product in best]}


@skill_definition(side_effects="none", idempotent=True, typical_ms=10, provides=["price_range"])
async def hear_price_range(call: At, query: Said) -> Annotated[Row, Outputs(HEARD)]:
    """Hear which price range somebody names: under, below, up to a number of dollars."""
    numbers = re.findall(r"\d+", query)
    if not numbers:
        raise SkillFailed("NO_PRICE_NAMED", "no number is named")
    return {"price_range": {"min_price": 0, "max_price": float(numbers[-1])}}


@skill_definition(side_effects="read", idempotent=True, typical_ms=300, needs=BY_ORDER, providers=FOUND)
async def suggest_similar_products(call: At, order_id: Word) -> Annotated[Row, Outputs(PRODUCTS)]:
    """Suggest products similar to what was ordered."""
    product = call.desk.order(order_id).product
    goods = [other for other in catalogue().products.values() if other.kind == product.kind and other.id != product.id]
    return {"count": len(goods[:3]), "products": [_offered(other) for other in goods[:3]]}


@skill_definition(side_effects="read", idempotent=True, typical_ms=400, needs=BY_ORDER, providers=FOUND)
async def tutorial_generation(call: At, order_id: Word) -> Annotated[Row, Outputs(TUTORIAL)]:
    """Generate a tutorial: how to use, set up and clean a product, steps. 怎么用"""
    product = call.desk.order(order_id).product
    return {"kind": product.kind, "steps": guide(product)}


def guide(product: Product) -> list[str]:
    """Return the steps of a product's guide."""
    return [f"Unpack the {product.kind}", *(f"Mind: {feature}" for feature in product.features), "Keep the receipt"]


@skill_definition(side_effects="none", idempotent=True, typical_ms=200)
async def answer_faq(call: At, query: Said) -> Annotated[Row, Outputs(ANSWER)]:
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
