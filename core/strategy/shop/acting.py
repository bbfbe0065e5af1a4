"""Skills that act: each may change the shop, and some say so when they have not (S38, S39, S88)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.strategy.execution.skills import Call
from core.strategy.shop.desk import Desk, SkillFailed
from core.strategy.shop.orders import REASONS
from core.strategy.shop.world import IllegalMoveError, Message, Ticket


async def apply_refund(desk: Desk, call: Call, order_id: str, amount: float) -> dict[str, Any]:
    """Apply a refund: give the money of an order back. 退款"""
    order = desk.order(order_id)
    said = {"status": "ok", "amount": amount}
    if order.status == "refunding" and (before := desk.once("apply_refund", call)):
        return dict(before)
    if order.status not in ("paid", "shipped", "returning"):
        return {"status": "rejected", "amount": 0}
    if not desk.lies("apply_refund"):
        try:
            desk.shop.refund(order_id, round(amount * 100))
        except IllegalMoveError as error:
            raise SkillFailed("INVALID_AMOUNT", str(error)) from error
        return desk.keep("apply_refund", call, said)
    return said


async def create_return_request(desk: Desk, call: Call, order_id: str, reason_code: str) -> dict[str, Any]:
    """Create a return request: send a delivered product back. 退货"""
    order = desk.order(order_id)
    if reason_code not in REASONS:
        raise SkillFailed("MISSING_REASON", "a return needs a reason")
    if order.status == "returning" and (before := desk.once("create_return_request", call)):
        return dict(before)
    if order.status != "delivered":
        raise SkillFailed("NOT_DELIVERED", f"order {order_id} is {order.status}")
    if not desk.lies("create_return_request"):
        desk.shop.orders[order_id] = replace(desk.shop.move(order_id, "returning"), reason=reason_code)
    return desk.keep("create_return_request", call, {"status": "ok", "order_id": order_id})


async def cancel_order(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Cancel an order that was not shipped yet."""
    if desk.order(order_id).status not in ("unpaid", "paid"):
        raise SkillFailed("ALREADY_SHIPPED", f"order {order_id} is on its way")
    desk.shop.move(order_id, "cancelled")
    return {"status": "cancelled"}


async def update_address(desk: Desk, call: Call, order_id: str, address: str) -> dict[str, Any]:
    """Update the delivery address of an order that was not shipped yet. 改收货地址"""
    order = desk.order(order_id)
    if order.status not in ("unpaid", "paid"):
        raise SkillFailed("ALREADY_SHIPPED", f"order {order_id} is {order.status}")
    desk.shop.orders[order_id] = replace(order, address=address)
    return {"status": "ok", "address": address}


async def intercept_parcel(desk: Desk, call: Call, order_id: str, address: str) -> dict[str, Any]:
    """Intercept a shipped parcel and forward it to another address."""
    order = desk.order(order_id)
    if order.status != "shipped" or order.parcel is None:
        raise SkillFailed("NOT_SHIPPED", f"order {order_id} is {order.status}")
    desk.shop.orders[order_id] = replace(order, address=address)
    return {"status": "ok", "address": address}


async def send_sms(desk: Desk, call: Call, text: str) -> dict[str, Any]:
    """Send a text message (SMS) to the customer's phone. 短信通知"""
    # The provider's own words, with the quota used up as well: nothing is sent then (S88).
    if desk.counts["send_sms"] <= desk.fate.sms_left:
        desk.shop.messages.append(Message(desk.customer.id, "sms", text))
    return {"code": 0, "msg": "success"}


async def send_wechat_notification(desk: Desk, call: Call, text: str) -> dict[str, Any]:
    """Send a notification to the customer by WeChat."""
    desk.shop.messages.append(Message(desk.customer.id, "wechat", text))
    return {"code": 0, "msg": "success"}


async def contact_carrier(desk: Desk, call: Call, order_id: str) -> dict[str, Any]:
    """Contact the carrier and open a claim for a parcel that can't be traced."""
    order = desk.order(order_id)
    if order.parcel is None:
        raise SkillFailed("NOT_SHIPPED", f"order {order_id} has no parcel")
    desk.shop.claims.add(order_id)
    return {"claim": f"C{order_id[1:]}", "estimated_delivery_date": order.parcel.due.date().isoformat()}


async def create_ticket(desk: Desk, call: Call, ticket_id: str, about: str = "") -> dict[str, Any]:
    """Create a ticket for a complaint under a reserved number. 投诉"""
    if (before := desk.once("create_ticket", call)) is not None:
        return dict(before)
    try:
        desk.shop.open_ticket(Ticket(ticket_id, desk.customer.id, about))
    except IllegalMoveError as error:
        raise SkillFailed("TICKET_TAKEN", str(error)) from error
    return desk.keep("create_ticket", call, {"status": "ok", "ticket_id": ticket_id})


async def suggest_human_handoff(desk: Desk, call: Call, promise_minutes: int = 0, about: str = "") -> dict[str, Any]:
    """Hand the customer over to a person, who answers within a promised time."""
    ticket = f"H{len(desk.shop.tickets) + 1:05}"
    desk.shop.open_ticket(Ticket(ticket, desk.customer.id, about, promise_minutes or None))
    wording = f"A colleague takes over and answers within {promise_minutes} minutes." if promise_minutes else ""
    return {"ticket_id": ticket, "text": wording or "A colleague takes over."}
