"""Give money back. Says success on some days when nothing happened; a key makes a repeat harmless."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import Failed, desk, order_of, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("apply_refund") as shop:
        order, amount = order_of(shop, inputs["order_id"]), round(inputs["amount"], 2)
        key = call.get("idempotency_key") or ""
        if key and key in shop["keys"]:
            return shop["keys"][key]
        if amount > order["listed"]:
            raise Failed("INVALID_AMOUNT", f"the order was listed at {order['listed']}")
        if order["status"] not in ("paid", "shipped", "returning"):
            return {"status": "rejected", "amount": 0}
        answer = {"status": "ok", "amount": amount}
        if shop["day"].get("silent_refunds", 0) > 0:
            shop["day"]["silent_refunds"] -= 1
            return answer
        order["status"] = "refunding"
        shop["refunds"].append({"order_id": order["id"], "amount": amount})
        if key:
            shop["keys"][key] = answer
        return answer


serve(work)
