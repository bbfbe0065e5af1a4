"""Give the mean price of a product at one source less the season's discount."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import Failed, desk, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("estimate_price") as shop:
        source, prices = inputs["source"], shop["prices"].get(inputs["product_id"])
        if prices is None:
            raise Failed("INVALID_SKU", f"no product {inputs['product_id']!r}")
        price = round(prices["mean"][source] * prices["discount"][source], 2)
        return {"source": source, "price": price, "estimated": True}


serve(work)
