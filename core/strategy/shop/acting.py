"""Skills that act: each may change the shop, and some say so when they have not (S38, S39, S88)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from core.strategy.schema.define import Outputs, domain, rule, skill_definition
from core.strategy.shop.desk import At, SkillFailed
from core.strategy.shop.orders import REASONS
from core.strategy.shop.promises import (
    ADDRESS,
    BY_ORDER,
    CANCELLED,
    CLAIM,
    FOUND,
    HANDOFF,
    MESSAGE,
    REFUND,
    REQUEST,
    TICKET,
    Row,
    Said,
    Word,
)
from core.strategy.shop.world import IllegalMoveError, Message, Ticket


@skill_definition(
    side_effects="irreversible",
    idempotent=True,
    typical_ms=600,
    needs=["order.id", "payment_method"],
    provides=["refund.status"],
    providers={"order.id": "find_recent_order", "payment_method": "get_payment_info"},
)
async def apply_refund(
    call: At, order_id: Word, amount: Annotated[float, rule(0, 10000)]
) -> Annotated[Row, Outputs(REFUND)]:
    """Apply a refund: give the money of an order back. 退款"""
    order = call.desk.order(order_id)
    said = {"status": "ok", "amount": amount}
    if order.status == "refunding" and (before := call.desk.once("apply_refund", call.request)):
        return dict(before)
    if order.status not in ("paid", "shipped", "returning"):
        return {"status": "rejected", "amount": 0}
    if not call.desk.lies("apply_refund"):
        try:
            call.desk.shop.refund(order_id, round(amount * 100))
        except IllegalMoveError as error:
            raise SkillFailed("INVALID_AMOUNT", str(error)) from error
        return call.desk.keep("apply_refund", call.request, said)
    return said


@skill_definition(side_effects="write", idempotent=True, typical_ms=400, needs=BY_ORDER, providers=FOUND)
async def create_return_request(
    call: At,
    order_id: Word,
    reason_code: Annotated[str, domain("quality_issue", "wrong_item", "do_not_want")],
) -> Annotated[Row, Outputs(REQUEST)]:
    """Create a return request: send a delivered product back. 退货"""
    order = call.desk.order(order_id)
    if reason_code not in REASONS:
        raise SkillFailed("MISSING_REASON", "a return needs a reason")
    if order.status == "returning" and (before := call.desk.once("create_return_request", call.request)):
        return dict(before)
    if order.status != "delivered":
        raise SkillFailed("NOT_DELIVERED", f"order {order_id} is {order.status}")
    if not call.desk.lies("create_return_request"):
        call.desk.shop.orders[order_id] = replace(call.desk.shop.move(order_id, "returning"), reason=reason_code)
    return call.desk.keep("create_return_request", call.request, {"status": "ok", "order_id": order_id})


@skill_definition(side_effects="write", idempotent=True, typical_ms=300, needs=BY_ORDER, providers=FOUND)
async def cancel_order(call: At, order_id: Word) -> Annotated[Row, Outputs(CANCELLED)]:
    """Cancel an order that was not shipped yet."""
    if call.desk.order(order_id).status not in ("unpaid", "paid"):
        raise SkillFailed("ALREADY_SHIPPED", f"order {order_id} is on its way")
    call.desk.shop.move(order_id, "cancelled")
    return {"status": "cancelled"}


@skill_definition(side_effects="write", idempotent=True, typical_ms=250, needs=BY_ORDER, providers=FOUND)
async def update_address(call: At, order_id: Word, address: Word) -> Annotated[Row, Outputs(ADDRESS)]:
    """Update the delivery address of an order that was not shipped yet. 改收货地址"""
    order = call.desk.order(order_id)
    if order.status not in ("unpaid", "paid"):
        raise SkillFailed("ALREADY_SHIPPED", f"order {order_id} is {order.status}")
    call.desk.shop.orders[order_id] = replace(order, address=address)
    return {"status": "ok", "address": address}


@skill_definition(side_effects="write", idempotent=True, typical_ms=500, needs=BY_ORDER, providers=FOUND)
async def intercept_parcel(call: At, order_id: Word, address: Word) -> Annotated[Row, Outputs(ADDRESS)]:
    """Intercept a shipped parcel and forward it to another address."""
    order = call.desk.order(order_id)
    if order.status != "shipped" or order.parcel is None:
        raise SkillFailed("NOT_SHIPPED", f"order {order_id} is {order.status}")
    call.desk.shop.orders[order_id] = replace(order, address=address)
    return {"status": "ok", "address": address}


@skill_definition(side_effects="write", idempotent=False, typical_ms=80)
async def send_sms(call: At, text: Said) -> Annotated[Row, Outputs(MESSAGE)]:
    """Send a text message (SMS) to the customer's phone. 短信通知"""
    # The provider's own words, with the quota used up as well: nothing is sent then (S88).
    if call.desk.counts["send_sms"] <= call.desk.fate.sms_left:
        call.desk.shop.messages.append(Message(call.desk.customer.id, "sms", text))
    return {"code": 0, "msg": "success"}


@skill_definition(side_effects="write", idempotent=False, typical_ms=60)
async def send_wechat_notification(call: At, text: Said) -> Annotated[Row, Outputs(MESSAGE)]:
    """Send a notification to the customer by WeChat."""
    call.desk.shop.messages.append(Message(call.desk.customer.id, "wechat", text))
    return {"code": 0, "msg": "success"}


@skill_definition(side_effects="write", idempotent=True, typical_ms=900, needs=BY_ORDER, providers=FOUND)
async def contact_carrier(call: At, order_id: Word) -> Annotated[Row, Outputs(CLAIM)]:
    """Contact the carrier and open a claim for a parcel that can't be traced."""
    order = call.desk.order(order_id)
    if order.parcel is None:
        raise SkillFailed("NOT_SHIPPED", f"order {order_id} has no parcel")
    call.desk.shop.claims.add(order_id)
    return {"claim": f"C{order_id[1:]}", "estimated_delivery_date": order.parcel.due.date().isoformat()}


@skill_definition(side_effects="write", idempotent=True, typical_ms=150)
async def create_ticket(call: At, ticket_id: Word, about: Said = "") -> Annotated[Row, Outputs(TICKET)]:
    """Create a ticket for a complaint under a reserved number. 投诉"""
    if (before := call.desk.once("create_ticket", call.request)) is not None:
        return dict(before)
    try:
        call.desk.shop.open_ticket(Ticket(ticket_id, call.desk.customer.id, about))
    except IllegalMoveError as error:
        raise SkillFailed("TICKET_TAKEN", str(error)) from error
    return call.desk.keep("create_ticket", call.request, {"status": "ok", "ticket_id": ticket_id})


@skill_definition(side_effects="write", idempotent=False, typical_ms=100)
async def suggest_human_handoff(
    call: At, promise_minutes: Annotated[int, rule(0, 1440)] = 0, about: Said = ""
) -> Annotated[Row, Outputs(HANDOFF)]:
    """Hand the customer over to a person, who answers within a promised time."""
    ticket = f"H{len(call.desk.shop.tickets) + 1:05}"
    call.desk.shop.open_ticket(Ticket(ticket, call.desk.customer.id, about, promise_minutes or None))
    wording = f"A colleague takes over and answers within {promise_minutes} minutes." if promise_minutes else ""
    return {"ticket_id": ticket, "text": wording or "A colleague takes over."}
