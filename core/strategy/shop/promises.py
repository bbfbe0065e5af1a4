"""What each skill promises to give back: JSON Schemas, said beside the code that keeps them (STRATEGY S50)."""

from __future__ import annotations

from typing import Annotated, Any, Final

from core.strategy.schema.define import domain, phrase

Row = dict[str, Any]
Contract = dict[str, Any]
Word = Annotated[str, domain()]
Said = Annotated[str, phrase()]
Source = Annotated[str, domain("jd", "tmall", "pdd")]
Offer = Annotated[dict[str, Any] | None, domain()]
BY_ORDER: Final = ("order.id",)
FOUND: Final = {"order.id": "find_recent_order"}
"""Who provides what skills by order need."""
ORDER_PATHS: Final = (
    "order.id",
    "order.status",
    "order.amount",
    "order.paid_amount",
    "order.paid_at",
    "order.product",
    "order.kind",
    "order.address",
)
"""The paths of the context that an order provides."""
ORDER: Final[Contract] = {
    "type": "object",
    "required": ["id", "status", "amount", "paid_amount", "paid_at", "product", "kind", "address"],
    "properties": {
        "id": {"type": "string"},
        "status": {"enum": ["unpaid", "paid", "shipped", "delivered", "returning", "refunding", "cancelled"]},
        "amount": {"type": "number"},
        "paid_amount": {"type": "number"},
        "paid_at": {"type": "string"},
        "product": {"type": "string"},
        "kind": {"type": "string"},
        "address": {"type": "string"},
    },
}
STATUS: Final[Contract] = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"enum": ["unpaid", "paid", "shipped", "delivered", "returning", "refunding", "cancelled"]}
    },
}
TRACE: Final[Contract] = {
    "type": "object",
    "required": [],
    "properties": {
        "tracking_number": {"type": "string"},
        "carrier": {"type": "string"},
        "place": {"type": "string"},
        "estimated_delivery_date": {"type": "string"},
    },
}
DELIVERY: Final[Contract] = {
    "type": "object",
    "required": ["estimated_delivery_date"],
    "properties": {"estimated_delivery_date": {"type": "string"}, "by": {"type": "string"}},
}
PAYMENT: Final[Contract] = {
    "type": "object",
    "required": ["payment_method", "paid_amount"],
    "properties": {"payment_method": {"enum": ["card", "wallet", "transfer"]}, "paid_amount": {"type": "number"}},
}
DECISION: Final[Contract] = {
    "type": "object",
    "required": ["decision", "amount"],
    "properties": {"decision": {"enum": ["approve", "need_evidence", "reject"]}, "amount": {"type": "number"}},
}
EVIDENCE: Final[Contract] = {
    "type": "object",
    "required": ["complete"],
    "properties": {"complete": {"type": "boolean"}, "photos": {"type": "integer"}},
}
ARRIVAL: Final[Contract] = {
    "type": "object",
    "required": ["arrived"],
    "properties": {"arrived": {"type": "boolean"}, "channel": {"type": "string"}},
}
SCAN: Final[Contract] = {
    "type": "object",
    "required": ["ok"],
    "properties": {"ok": {"type": "boolean"}, "device": {"type": "string"}},
}
PRODUCTS: Final[Contract] = {
    "type": "object",
    "required": ["count", "products"],
    "properties": {"count": {"type": "integer"}, "products": {"type": "array"}},
}
HEARD: Final[Contract] = {
    "type": "object",
    "required": ["price_range"],
    "properties": {"price_range": {"type": "object"}},
}
TUTORIAL: Final[Contract] = {
    "type": "object",
    "required": ["kind", "steps"],
    "properties": {"kind": {"type": "string"}, "steps": {"type": "array"}},
}
ANSWER: Final[Contract] = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
PRICE: Final[Contract] = {
    "type": "object",
    "required": ["source", "price"],
    "properties": {"source": {"type": "string"}, "price": {"type": "number"}, "estimated": {"type": "boolean"}},
}
PRICES: Final[Contract] = {
    "type": "object",
    "required": ["source", "price"],
    "properties": {
        "source": {"type": "string"},
        "price": {"type": "number"},
        "rows": {"type": "array"},
        "estimated": {"type": "array"},
    },
}
REFUND: Final[Contract] = {
    "type": "object",
    "required": ["status", "amount"],
    "properties": {"status": {"enum": ["ok", "rejected"]}, "amount": {"type": "number"}},
}
REQUEST: Final[Contract] = {
    "type": "object",
    "required": ["status"],
    "properties": {"status": {"enum": ["ok"]}, "order_id": {"type": "string"}},
}
CANCELLED: Final[Contract] = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
ADDRESS: Final[Contract] = {
    "type": "object",
    "required": ["status", "address"],
    "properties": {"status": {"type": "string"}, "address": {"type": "string"}},
}
MESSAGE: Final[Contract] = {
    "type": "object",
    "required": ["code", "msg"],
    "properties": {"code": {"type": "integer"}, "msg": {"type": "string"}},
}
CLAIM: Final[Contract] = {
    "type": "object",
    "required": ["claim", "estimated_delivery_date"],
    "properties": {"claim": {"type": "string"}, "estimated_delivery_date": {"type": "string"}},
}
TICKET: Final[Contract] = {
    "type": "object",
    "required": ["status", "ticket_id"],
    "properties": {"status": {"type": "string"}, "ticket_id": {"type": "string"}},
}
HANDOFF: Final[Contract] = {
    "type": "object",
    "required": ["ticket_id", "text"],
    "properties": {"ticket_id": {"type": "string"}, "text": {"type": "string"}},
}
