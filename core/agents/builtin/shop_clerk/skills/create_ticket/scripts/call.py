"""Open a ticket. A key makes a repeat harmless."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shop_desk" / "scripts"))

from desk import Failed, desk, serve  # noqa: E402  # found by the line above


def work(inputs, call):
    with desk("create_ticket") as shop:
        key = call.get("idempotency_key") or ""
        if key and key in shop["keys"]:
            return shop["keys"][key]
        if any(ticket["ticket_id"] == inputs["ticket_id"] for ticket in shop["tickets"]):
            raise Failed("TICKET_TAKEN", f"there is a ticket {inputs['ticket_id']}")
        shop["tickets"].append({"ticket_id": inputs["ticket_id"], "about": inputs.get("about", "")})
        answer = {"status": "ok", "ticket_id": inputs["ticket_id"]}
        if key:
            shop["keys"][key] = answer
        return answer


serve(work)
