"""Give the help pages."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import desk, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("read_help") as shop:
        return {"pages": shop["help"]}


serve(work)
