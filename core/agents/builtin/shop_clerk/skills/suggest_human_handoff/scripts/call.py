"""Let a person take over, and say until when that one answers."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import desk, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("suggest_human_handoff") as shop:
        minutes = inputs.get("promise_minutes") or 0
        name = f"H{len(shop['tickets']) + 1:03}"
        shop["tickets"].append({"ticket_id": name, "about": inputs.get("about", ""), "promise_minutes": minutes})
    until = f" and answers within {minutes} minutes" if minutes else ""
    return {"ticket_id": name, "text": f"A colleague takes over{until}."}


serve(work)
