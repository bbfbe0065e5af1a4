"""The shop's desk: shop.json in the Workspace, held by one skill at a time.

A skill's script gives `serve` a function of its inputs and the call; what it returns is the skill's output. `desk`
gives the desk for as long as it is held, and keeps what was changed. Needs Python's standard library and no more.
"""

import fcntl
import json
import sys
from contextlib import contextmanager

FILE = "shop.json"


class Failed(Exception):
    """A skill can't do it: a code of its failure profile, and why."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@contextmanager
def desk(skill):
    """Hold the desk, and write down that `skill` was called. What is changed before a failure is kept too."""
    with open(FILE, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        shop = json.load(file)
        entry = {"skill": skill}
        shop["log"].append(entry)
        try:
            yield shop
        except Failed as failed:
            entry["code"] = failed.code
            raise
        finally:
            file.seek(0)
            json.dump(shop, file, indent=1, ensure_ascii=False)
            file.write("\n")
            file.truncate()


def order_of(shop, order_id):
    """Return the order. Raises Failed where the customer has none of that name."""
    found = next((order for order in shop["orders"] if order["id"] == order_id), None)
    if found is None:
        raise Failed("INVALID_ORDER", f"the customer has no order {order_id!r}")
    return found


def shown(order):
    """Return what an order's owner may know of it."""
    return {
        "id": order["id"],
        "status": order["status"],
        "amount": order["listed"],
        "paid_amount": order["paid"],
        "paid_at": order["paid_at"],
        "product": order["product"],
    }


def serve(work):
    """Answer one call: the inputs come as JSON on the standard input, the answer is the last line of the output."""
    asked = json.load(sys.stdin)
    try:
        answer = {"output": work(asked["inputs"], asked.get("call", {}))}
    except Failed as failed:
        answer = {"code": failed.code, "message": str(failed)}
    print(json.dumps(answer, ensure_ascii=False))
