"""Send a text message. The provider answers with success when the day's quota is used up as well."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import desk, order_of, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("send_sms") as shop:
        order = order_of(shop, inputs["order_id"])
        if shop["day"].get("sms_left", 5) > 0:
            shop["day"]["sms_left"] = shop["day"].get("sms_left", 5) - 1
            shop["messages"].append({"by": "sms", "text": f"Order {order['id']}: {order['status']}"})
        return {"code": 0, "msg": "success"}


serve(work)
