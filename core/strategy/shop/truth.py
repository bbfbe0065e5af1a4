"""Did the customer's problem really get solved? Judged from the shop's state, never from what a skill said (S39)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, Literal

from core.strategy.shop.pricing import SOURCES, price_today
from core.strategy.shop.talk import SMALLTALK
from core.strategy.shop.visits import Visit
from core.strategy.shop.world import Shop

Verdict = Literal["solved", "handed_over", "unsolved", "wrong"]
"""`handed_over`: a person took over where that was the best that could be had; elsewhere it is `unsolved`. `wrong`:
something was done to the customer that nobody wanted."""
NEAR_DAYS = 1
"""How far a told delivery date may lie beside the true one."""
NEAR_PRICE = 0.05
"""How far a told best price may lie beside the lowest true one, as a share."""
EFFECTS = frozenset({"refund", "return_item", "notify", "change_address", "complaint"})
"""Tasks whose solution is a change of the shop, not an answer."""


def judge(shop: Shop, visit: Visit, told: Mapping[str, Any] | None, waited_ms: float) -> Verdict:
    """Return how a visit's first turn ended. `told` is the answer that the customer got, None where there was none."""
    shop.catch_up()
    if _unwanted(shop, visit):
        return "wrong"
    if waited_ms > visit.patience_ms:
        return "unsolved"
    if visit.task == SMALLTALK:
        return "solved"
    if _SOLVED[visit.task](shop, visit, told or {}):
        return "solved"
    handed = any(ticket.customer == visit.customer.id for ticket in shop.tickets.values())
    return "handed_over" if handed and visit.wanted.get("person") else "unsolved"


def effected(shop: Shop, visit: Visit) -> bool:
    """Tell whether the shop shows the effect that the visit's task is about, rightly or wrongly, now or too late."""
    order = shop.orders[visit.order.id]
    match visit.task:
        case "refund":
            return any(refund.order == order.id for refund in shop.refunds)
        case "return_item":
            return order.status == "returning"
    return visit.task in EFFECTS and _SOLVED[visit.task](shop, visit, {})


def _unwanted(shop: Shop, visit: Visit) -> bool:
    order = shop.orders[visit.order.id]
    given = sum(refund.cents for refund in shop.refunds if refund.order == order.id)
    lost = visit.order.parcel is None or visit.order.parcel.silent
    may = visit.task == "refund" and order.refundable and lost
    returned = order.status == "returning" and visit.task != "return_item"
    moved = order.address != visit.order.address and visit.task != "change_address"
    person = visit.task == SMALLTALK and any(one.customer == order.customer for one in shop.tickets.values())
    sent = visit.task == SMALLTALK and any(one.customer == order.customer for one in shop.messages)
    over = given > (order.paid if may else 0)
    return over or returned or moved or order.status == "cancelled" or person or sent


def _refund(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    if visit.order.parcel is not None and not visit.order.parcel.silent:
        return _track(shop, visit, told)  # it is on its way: the customer is told where
    given = [refund.cents for refund in shop.refunds if refund.order == visit.order.id]
    return given == [visit.order.paid]


def _track(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    parcel = shop.orders[visit.order.id].parcel
    said = next(_said(told, "estimated_delivery_date"), "")
    try:
        day = date.fromisoformat(str(said))
    except ValueError:
        return False
    return parcel is not None and abs((day - parcel.due.date()).days) <= NEAR_DAYS


def _return_item(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    order = shop.orders[visit.order.id]
    return order.status == "returning" and order.reason == str(visit.wanted["reason"])


def _price(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    lowest = min(price_today(source, visit.wanted["product"]) for source in SOURCES)
    said = next(_said(told, "price"), None)
    return isinstance(said, int | float) and abs(said - lowest) <= NEAR_PRICE * lowest


def _notify(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    return any(message.customer == visit.customer.id for message in shop.messages)


def _how_to(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    return str(next(_said(told, "kind"), "")) == str(visit.wanted["kind"]) and any(_said(told, "steps"))


def _find(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    offered = next(_said(told, "products"), None)
    best = offered[0] if isinstance(offered, list) and offered else {}
    return bool(best.get("kind") == visit.wanted["kind"] and best.get("price", 1e9) <= visit.wanted["cap"])


def _address(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    return shop.orders[visit.order.id].address == str(visit.wanted["address"])


def _complaint(shop: Shop, visit: Visit, told: Mapping[str, Any]) -> bool:
    return any(ticket.customer == visit.customer.id for ticket in shop.tickets.values())


_SOLVED: Mapping[str, Callable[[Shop, Visit, Mapping[str, Any]], bool]] = {
    "refund": _refund,
    "track": _track,
    "return_item": _return_item,
    "price_compare": _price,
    "notify": _notify,
    "how_to": _how_to,
    "find_product": _find,
    "change_address": _address,
    "complaint": _complaint,
}


def _said(told: Any, name: str) -> Iterator[Any]:
    """Yield what an answer holds under a name, the outermost first."""
    if isinstance(told, Mapping):
        if told.get(name) is not None:
            yield told[name]
        for value in told.values():
            yield from _said(value, name)
