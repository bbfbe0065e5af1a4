"""Send a notification."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import desk, order_of, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("send_wechat_notification") as shop:
        order = order_of(shop, inputs["order_id"])
        shop["messages"].append({"by": "wechat", "text": f"Order {order['id']}: {order['status']}"})
        return {"code": 0, "msg": "success"}


serve(work)
