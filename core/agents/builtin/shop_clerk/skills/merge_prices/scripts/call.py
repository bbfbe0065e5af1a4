"""Give the lowest of the prices that are known."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import Failed, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    rows = [row for name in ("jd", "tmall", "pdd") if (row := inputs.get(name)) and "price" in row]
    if not rows:
        raise Failed("NO_PRICES", "no source answered")
    best = min(rows, key=lambda row: (row["price"], row["source"]))
    return {
        "source": best["source"],
        "price": best["price"],
        "rows": [{"source": row["source"], "price": row["price"]} for row in rows],
        "estimated": [row["source"] for row in rows if row.get("estimated")],
    }


serve(work)
