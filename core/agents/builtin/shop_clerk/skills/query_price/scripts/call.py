"""Give the price of a product at one source today."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import Failed, desk, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("query_price") as shop:
        source, prices = inputs["source"], shop["prices"].get(inputs["product_id"])
        if prices is None:
            raise Failed("INVALID_SKU", f"no product {inputs['product_id']!r}")
        if source in shop["day"].get("down", []):
            raise Failed("HTTP_503", f"{source} does not answer")
        return {"source": source, "price": prices["today"][source], "estimated": False}


serve(work)
