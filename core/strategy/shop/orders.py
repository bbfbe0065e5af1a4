"""Customers, what they ordered, and how an order may go on. Values and rules only; `world` holds the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from core.strategy.shop.catalogue import Product

Status = Literal["unpaid", "paid", "shipped", "delivered", "returning", "refunding", "cancelled"]
MOVES: Mapping[Status, frozenset[Status]] = {
    "unpaid": frozenset({"paid", "cancelled"}),
    "paid": frozenset({"shipped", "refunding", "cancelled"}),
    "shipped": frozenset({"delivered", "refunding"}),
    "delivered": frozenset({"returning"}),
    "returning": frozenset({"refunding"}),
    "refunding": frozenset(),
    "cancelled": frozenset(),
}
"""What each status may become; nothing leads back."""
AGE_BANDS = ("18-30", "31-50", "51-64", "65+")
REGIONS = ("north", "east", "south", "west")
DEVICES = ("ios", "android", "web")
PAYMENTS = ("card", "wallet", "transfer")
REASONS = ("quality_issue", "wrong_item", "do_not_want")


@dataclass(frozen=True, slots=True)
class Customer:
    """Who asks. `active_days_30d` is how many of the last thirty days the customer came to the shop (S129)."""

    id: str
    age_band: str
    region: str
    device: str
    active_days_30d: int
    language: Literal["en", "zh"] = "en"

    def attributes(self) -> dict[str, object]:
        """Return the segments by which a release is drawn and compared (S67 to S72, S128)."""
        return {
            "id": self.id,
            "age_band": self.age_band,
            "region": self.region,
            "device": self.device,
            "active_days_30d": self.active_days_30d,
        }


@dataclass(frozen=True, slots=True)
class Parcel:
    """What a carrier has. `silent`: the carrier's own system answers nothing about it (empty logistics)."""

    tracking_number: str
    carrier: str
    place: str
    due: datetime
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """One product, some pieces of it. Amounts are cents; `paid` is what was really paid, after a coupon."""

    id: str
    customer: str
    product: Product
    size: str
    pieces: int
    listed: int
    paid: int
    status: Status
    paid_at: datetime
    payment: str
    address: str
    parcel: Parcel | None = None
    refundable: bool = True
    reason: str = ""

    def shown(self) -> dict[str, object]:
        """Return what the shop's own system tells of it; dollars."""
        return {
            "id": self.id,
            "status": self.status,
            "amount": self.listed / 100,
            "paid_amount": self.paid / 100,
            "paid_at": self.paid_at.isoformat(),
            "product": self.product.title,
            "kind": self.product.kind,
            "address": self.address,
        }
