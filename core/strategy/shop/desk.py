"""What every skill of the shop stands on: the visit it is called in, its time, its lies, its failures."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.strategy.execution.skills import Call
from core.strategy.shop.orders import Customer, Order
from core.strategy.shop.world import Done, Fate, Shop

SPREAD = (0.8, 1.3)
"""A skill takes its typical time times something in between."""


class SkillFailed(Exception):  # noqa: N818  # a skill's own report, not a fault of the program
    """A skill reports a failure code of its profile, or one it never declared (S56)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(slots=True)
class Desk:
    """The shop's skills as one customer's session meets them. Invariant: what a skill meets at its n-th call depends on
    the customer, the skill and n alone, so every arm meets the same, whatever else it called.
    """

    shop: Shop
    customer: Customer
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def fate(self) -> Fate:
        return self.shop.fates.get(self.customer.id) or Fate()

    def order(self, order_id: str) -> Order:
        """Return an order of this customer as it is now. Fails with INVALID_ORDER."""
        self.shop.catch_up()
        order = self.shop.orders.get(order_id)
        if order is None or order.customer != self.customer.id:
            raise SkillFailed("INVALID_ORDER", f"no order {order_id!r} of this customer")
        return order

    async def work(self, skill: str, typical_ms: float) -> None:
        """Take the skill's time, then fail where fate says so."""
        number = self.counts[skill] = self.counts.get(skill, 0) + 1
        draw = random.Random(f"shop:time:{self.customer.id}:{skill}:{number}")
        late = self.fate.late_ms.get(skill)
        await self.shop.clock.sleep(round(typical_ms * draw.uniform(*SPREAD) if late is None else late))
        self.shop.catch_up()
        code, times = self.fate.fails.get(skill, ("", 0))
        if number <= times:
            raise SkillFailed(code, f"{skill} did not answer properly")

    def lies(self, skill: str) -> bool:
        """Whether this call says success and does nothing (S38, S39)."""
        return self.counts.get(skill, 0) <= self.fate.lies.get(skill, 0)

    def once(self, skill: str, call: Call) -> Mapping[str, Any] | None:
        """Return what a call with the same idempotency key did before, None where it is the first (X2)."""
        return self.shop.keys.get(f"{skill}:{call.idempotency_key}") if call.idempotency_key else None

    def keep(self, skill: str, call: Call, output: dict[str, Any]) -> dict[str, Any]:
        """Remember what a call did under its key. A call that did nothing is not remembered: a repeat may help."""
        if call.idempotency_key:
            self.shop.keys[f"{skill}:{call.idempotency_key}"] = output
        return output

    def note(self, skill: str, code: str, ms: float) -> None:
        self.shop.done.append(Done(skill, code, ms))


@dataclass(frozen=True, slots=True)
class At:
    """Where a skill of the shop is called: at a customer's desk, with what the executor says of the call."""

    desk: Desk
    request: Call
