"""Judge what was done at the desk: shop.json as it was left, and answer.txt, what the customer was told.

    check.py refunded AMOUNT   just this was paid back, once, and the order says so
    check.py kept              no money went back
    check.py alone             nothing else was set going: no ticket, no message, no second refund
    check.py untouched         nothing was set going at all
    check.py told WORD...      the answer holds one of these
    check.py near PRICE        the answer names a price at most 5 % beside this one
    check.py reached           just one message arrived
    check.py stayed            the customer was still there at the end
    check.py promised MINUTES  a person takes over within these, the customer heard when, and was still there
Each holds only where skills were called, the customer was answered, and every effect is one that the desk's own log
tells of. Exit 0: yes. Exit 1: no.
"""
import json
import re
import sys

EFFECTS = {
    "refunds": ("apply_refund",),
    "messages": ("send_sms", "send_wechat_notification"),
    "tickets": ("create_ticket", "suggest_human_handoff"),
}


def served(shop, answer):
    calls = [entry["skill"] for entry in shop["log"] if not entry.get("code")]
    whole = all(len(shop[kind]) <= sum(name in skills for name in calls) for kind, skills in EFFECTS.items())
    return bool(calls) and bool(answer.strip()) and whole


def numbers(text):
    return [float(found) for found in re.findall(r"(?<![\w-])\d+(?:\.\d+)?(?![\w-])", text)]


def _told(word, answer):
    """A number counts where it stands alone, not as a part of another or of an order's."""
    if re.fullmatch(r"\d+(?:\.\d+)?", word):
        return float(word) in numbers(answer)
    return word.casefold() in answer.casefold()


def main(command, *given):
    with open("shop.json", encoding="utf-8") as file:
        shop = json.load(file)
    with open("answer.txt", encoding="utf-8") as file:
        answer = file.read()
    if not served(shop, answer):
        return False
    refunds, tickets, messages = shop["refunds"], shop["tickets"], shop["messages"]
    here = not shop["customer"].get("left")
    if command == "refunded":
        paid = [round(refund["amount"], 2) for refund in refunds]
        states = {order["id"]: order["status"] for order in shop["orders"]}
        return paid == [float(given[0])] and all(states[one["order_id"]] == "refunding" for one in refunds)
    if command == "kept":
        return not refunds
    if command == "alone":
        return not tickets and not messages and len(refunds) <= 1
    if command == "untouched":
        return not (refunds or tickets or messages)
    if command == "told":
        return any(_told(word, answer) for word in given)
    if command == "near":
        price = float(given[0])
        return any(abs(found - price) <= 0.05 * price for found in numbers(answer))
    if command == "reached":
        return len(messages) == 1
    if command == "stayed":
        return here
    if command == "promised":
        minutes = [ticket.get("promise_minutes") or 0 for ticket in tickets]
        return here and len(minutes) == 1 and 0 < minutes[0] <= float(given[0]) and minutes[0] in numbers(answer)
    raise ValueError(command)


if __name__ == "__main__":
    try:
        sys.exit(0 if main(*sys.argv[1:]) else 1)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        print(type(error).__name__, error)
        sys.exit(1)
