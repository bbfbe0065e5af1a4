"""Who comes to the shop in one seed, with what problem, and what will go wrong: drawn before anything is tried."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Literal

from core.strategy.execution.clock import BEGINNING, Clock
from core.strategy.shop.catalogue import Product, catalogue
from core.strategy.shop.fates import draw_lot
from core.strategy.shop.looking import DAYS_BY_REGION
from core.strategy.shop.orders import (
    AGE_BANDS,
    DEVICES,
    PAYMENTS,
    REASONS,
    REGIONS,
    Customer,
    Order,
    Parcel,
    Status,
)
from core.strategy.shop.talk import AFTER, SMALLTALK, utterances
from core.strategy.shop.world import Fate, Shop

World = Literal["shop", "kiosk"]
MIX: Mapping[World, Mapping[str, int]] = {
    "shop": {
        "refund": 8, "track": 6, "return_item": 5, "price_compare": 5, "notify": 4, "how_to": 3, "find_product": 3,
        "change_address": 4, "complaint": 2, "smalltalk": 4,
    },
    "kiosk": {"how_to": 16, "find_product": 14, "complaint": 6, "smalltalk": 4},
}  # fmt: skip
"""Visits of one seed by task. In the kiosk every problem takes one call and nothing branches (S5)."""
STREETS = ("12 Mill Lane", "7 Harbour Road", "31 Orchard Street", "5 Station Square", "88 Canal Walk")
CHINESE = 0.12
THANKS = 0.45
"""How often a customer says something more when all is done."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that a customer says. `task` is what is truly wanted; `arguments` is what an attentive ear can hear."""

    task: str
    utterance: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Visit:
    """One customer with one problem. `knows` is what the session knows at first; `wanted` is what the truth looks for;
    `answers` what the customer replies to a question, by the path that is asked for: to one that has nothing to do with
    the problem there is no answer. `patience_ms` is how long one waits.
    """

    id: str
    task: str
    customer: Customer
    order: Order
    fate: Fate
    turns: tuple[Turn, ...]
    knows: Mapping[str, Any]
    answers: Mapping[str, str]
    wanted: Mapping[str, Any]
    patience_ms: float = 10_000


@lru_cache(maxsize=256)
def visits(seed: int, world: World = "shop", split: Literal["train", "held_out"] = "held_out") -> tuple[Visit, ...]:
    """Return the visits of a seed in the order in which they come: the same in every process and for every arm."""
    tasks = [task for task, count in MIX[world].items() for _ in range(count)]
    random.Random(f"shop:visits:{world}:{seed}").shuffle(tasks)
    return tuple(_visit(seed, number, task, world, split) for number, task in enumerate(tasks))


def population(seed: int, count: int) -> tuple[Customer, ...]:
    """Return customers without visits: whom a release is drawn from (S67 to S69, S128, S129)."""
    draw = random.Random(f"shop:population:{seed}")
    return tuple(_customer(draw, f"P{seed:03}{number:05}", draw.random() < CHINESE) for number in range(count))


def opened(shown: Sequence[Visit], clock: Clock) -> Shop:
    """Return a shop with the customers and orders of these visits, before anybody has come."""
    return Shop([visit.customer for visit in shown], [visit.order for visit in shown], clock)


def _visit(seed: int, number: int, task: str, world: World, split: Literal["train", "held_out"]) -> Visit:
    name = f"{world}-{seed}-{number}"
    draw = random.Random(f"shop:visit:{name}")
    customer = _customer(draw, f"U{seed:03}{number:03}", draw.random() < CHINESE)
    product = draw.choice(_goods())
    order = _order(draw, task, customer, product, f"A{seed:03}{number:03}")
    lot = draw_lot(draw, task, order)
    street = draw.choice(STREETS)
    slots = {"kind": product.kind, "address": street, "cap": _cap(draw, product.kind)}
    reason = draw.choice(REASONS)
    arguments: dict[str, dict[str, Any]] = {
        "return_item": {"reason_code": reason},
        "change_address": {"address": slots["address"]},
        "find_product": {"query": product.kind, "price_range": {"min_price": 0, "max_price": slots["cap"]}},
        "price_compare": {"product_id": product.id},
    }
    wanted: dict[str, Any] = {"person": lot.person, "kind": product.kind, "product": product, "reason": reason}
    wanted |= {"cap": slots["cap"], "address": slots["address"]}
    turns = [Turn(task, _said(draw, task, split, customer, slots), arguments.get(task, {}))]
    if task != SMALLTALK and draw.random() < THANKS:
        turns.append(Turn(AFTER + task, _said(draw, AFTER + task, split, customer, slots)))
    knows: dict[str, Any] = {"user": customer.attributes(), "product": {"id": product.id, "kind": product.kind}}
    if draw.random() < 0.6:  # the customer came from the order's page
        knows["order"] = {"id": order.id}
    answers = {"wish": task} | {"return_item": {"reason_code": reason}, "change_address": {"address": street}}.get(
        task, {}
    )
    return Visit(name, task, customer, order, lot.fate, tuple(turns), knows, answers, wanted, lot.patience_ms)


@cache
def _goods() -> tuple[Product, ...]:
    return tuple(product for product in catalogue().products.values() if product.kind != "accessory")


def _customer(draw: random.Random, name: str, chinese: bool) -> Customer:
    band = draw.choices(AGE_BANDS, (4, 4, 2, 1))[0]
    device = draw.choices(DEVICES, (2, 5, 4) if band == "65+" else (4, 4, 2))[0]
    days = min(30, int(draw.expovariate(1 / 7)))
    return Customer(name, band, draw.choice(REGIONS), device, days, "zh" if chinese else "en")


def _said(
    draw: random.Random,
    task: str,
    split: Literal["train", "held_out"],
    customer: Customer,
    slots: Mapping[str, Any],
) -> str:
    said = utterances()[task][split]
    own = [text for text in said if text.isascii() == (customer.language == "en")]
    return draw.choice(own or list(said)).format(**slots)


def _cap(draw: random.Random, kind: str) -> int:
    cheapest = sorted(product.cents for product in catalogue().by_kind[kind])
    return cheapest[draw.randrange(2, 8)] // 100 + 1


_STATUS: Mapping[str, Status] = {
    "refund": "paid",
    "track": "shipped",
    "return_item": "delivered",
    "how_to": "delivered",
}


def _order(draw: random.Random, task: str, customer: Customer, product: Product, name: str) -> Order:
    size, pieces = draw.choice(product.sizes), draw.choices((1, 2, 4), (6, 3, 1))[0]
    listed = product.price(size) * pieces
    coupon = draw.random() < 0.25
    status: Status = _STATUS.get(task, draw.choice(("paid", "shipped", "delivered")))
    if task == "refund" and draw.random() < 0.2:
        status = "shipped"
    if task == "change_address":
        status = draw.choices(("paid", "shipped"), (6, 4))[0]
    paid_at = BEGINNING - timedelta(days=draw.randint(5, 10) if status == "paid" else draw.randint(1, 4))
    silent = draw.random() < (0.3 if task == "track" else 0.05)
    parcel = None if status == "paid" else _parcel(draw, customer, product, name, paid_at, silent)
    return Order(
        id=name,
        customer=customer.id,
        product=product,
        size=size,
        pieces=pieces,
        listed=listed,
        paid=round(listed * 0.8) if coupon else listed,
        status=status,
        paid_at=paid_at,
        payment=draw.choice(PAYMENTS),
        address="1 Old Street",
        parcel=parcel,
        refundable=draw.random() >= 0.1,
    )


def _parcel(
    draw: random.Random, customer: Customer, product: Product, name: str, paid_at: datetime, silent: bool
) -> Parcel:
    late = 4 if silent and draw.random() < 0.25 else draw.choice((0, 1, 1, 2))
    days = DAYS_BY_REGION[customer.region] + (1 if product.category == "furniture" else 0) + late
    return Parcel(
        f"TN{name[1:]}", draw.choice(("Swiftline", "Polepost")), "hub", paid_at + timedelta(days=days), silent
    )
