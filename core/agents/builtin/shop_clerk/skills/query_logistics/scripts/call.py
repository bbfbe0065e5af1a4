"""Give what the carrier knows of an order's parcel, which may be nothing."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import desk, order_of, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("query_logistics") as shop:
        return shop["carrier"].get(order_of(shop, inputs["order_id"])["id"], {})


serve(work)
