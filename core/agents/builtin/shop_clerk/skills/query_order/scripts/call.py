"""Give an order as it stands."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import desk, order_of, serve, shown  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("query_order") as shop:
        return shown(order_of(shop, inputs["order_id"]))


serve(work)
