"""What goes wrong for a customer, by what is wanted; drawn from the visit's own seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from core.strategy.shop.orders import Order
from core.strategy.shop.pricing import SOURCES
from core.strategy.shop.world import Fate

LIE = (0.17, 0.05)
"""How often a skill that acts says success and does nothing once, and how often every time."""
ALWAYS = 99
SLOW_PRECHECK, SLOW_PRECHECK_MS = 0.2, (9_000, 18_000)
ASKS_EVIDENCE, NEVER_ENOUGH = 0.12, 0.3
TIMES_OUT = 0.1
DOWN, SLOW = 0.45, 0.1
NO_SMS_LEFT = 0.3
SHIPS_MEANWHILE, SHIPS_MS = 0.2, (100, 500)


@dataclass(frozen=True, slots=True)
class Lot:
    """A fate, whether a person is the best that can be had then, and how long the customer waits."""

    fate: Fate
    person: bool = False
    patience_ms: float = 8_000


def draw_lot(draw: random.Random, task: str, order: Order) -> Lot:
    """Return what one visit meets."""
    if task == "refund":
        return _refund(draw, order)
    if task == "return_item":
        lies = _lies(draw, "create_return_request")
        return Lot(Fate(lies=lies), ALWAYS in lies.values(), 10_000)
    if task == "track":
        return Lot(Fate(fails=_times_out(draw, "query_logistics")))
    if task == "price_compare":
        down = _one_source(draw, DOWN)
        return Lot(Fate(down=down, slow=_one_source(draw, SLOW)), patience_ms=2_500)
    if task == "notify":
        return Lot(Fate(sms_left=0 if draw.random() < NO_SMS_LEFT else 5), patience_ms=6_000)
    if task == "change_address" and order.status == "paid" and draw.random() < SHIPS_MEANWHILE:
        return Lot(Fate(ships_after_ms=draw.uniform(*SHIPS_MS)))
    return Lot(Fate(), person=task == "complaint")


def _refund(draw: random.Random, order: Order) -> Lot:
    slow, asks = draw.random() < SLOW_PRECHECK, draw.random() < ASKS_EVIDENCE
    lies = _lies(draw, "apply_refund")
    never = asks and draw.random() < NEVER_ENOUGH
    fate = Fate(
        lies=lies,
        late_ms={"refund_precheck": draw.uniform(*SLOW_PRECHECK_MS)} if slow else {},
        fails=_times_out(draw, "apply_refund"),
        approve="need_evidence" if asks else "approve",
        evidence_after=ALWAYS if never else draw.randint(1, 3),
    )
    return Lot(fate, slow or never or ALWAYS in lies.values() or not order.refundable, 10_000)


def _lies(draw: random.Random, skill: str) -> dict[str, int]:
    once, always = LIE
    at = draw.random()
    return {skill: 1} if at < once else {skill: ALWAYS} if at < once + always else {}


def _times_out(draw: random.Random, skill: str) -> dict[str, tuple[str, int]]:
    return {skill: ("NETWORK_TIMEOUT", 1)} if draw.random() < TIMES_OUT else {}


def _one_source(draw: random.Random, share: float) -> frozenset[str]:
    return frozenset({draw.choice(SOURCES)}) if draw.random() < share else frozenset()
