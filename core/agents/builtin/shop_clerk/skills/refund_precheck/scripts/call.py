"""Say whether a refund would be approved. Takes as long as it takes that day: who waits too long leaves."""

import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import desk, order_of, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("refund_precheck") as shop:
        order = order_of(shop, inputs["order_id"])
        takes_s = shop["day"].get("precheck_takes_s", 0)
    if takes_s:
        time.sleep(takes_s)
        with desk("refund_precheck") as shop:
            if takes_s > shop["customer"]["patience_s"]:
                shop["customer"]["left"] = True
    # It knows the price list only, and nothing of coupons.
    return {"decision": "approve" if order["refundable"] else "reject", "amount": order["listed"]}


serve(work)
