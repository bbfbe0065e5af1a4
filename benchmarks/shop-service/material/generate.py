"""Write the Cases of shop-service beside this directory: `python generate.py`. Change it, run it, commit what it wrote."""

import json
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATEMENT = """\
# At the desk

A customer writes:

> {said}

Your desk is `shop.json`: your skills work on it, and nobody edits it by hand. Have done for the customer what the shop
can do, once and no more, and write what you tell the customer to `answer.txt`.
"""
HELP = {
    "refunds": "Money is back within five working days after a refund.",
    "shipping": "Parcels leave the warehouse two days after payment.",
    "warranty": "Two years on everything.",
}


def order(number, kind, listed, paid=None, status="paid", paid_at="2026-05-11", refundable=True):
    return {
        "id": number,
        "status": status,
        "paid_at": paid_at,
        "listed": listed,
        "paid": listed if paid is None else paid,
        "product": kind,
        "refundable": refundable,
    }


def shop(customer, orders, carrier=None, day=None, prices=None, patience_s=5):
    return {
        "today": "2026-06-02",
        "customer": {"id": customer, "patience_s": patience_s},
        "orders": orders,
        "carrier": carrier or {},
        "prices": prices or {},
        "help": HELP,
        "day": day or {},
        "refunds": [],
        "messages": [],
        "tickets": [],
        "keys": {},
        "log": [],
    }


# Name: what the customer says, the desk, the rubric as (points, words, check).
CASES = {
    "CASE-001-nothing-came": (
        "I paid for a kettle three weeks ago and it never arrived. I want my money back.",
        shop("U-1041", [order("A-2207", "KETTLE-3", 86.0)]),
        [
            (70, "The customer has the money back: what was paid, once.", "refunded 86"),
            (20, "The customer is told how much.", "told 86"),
            (10, "Nothing else was set going.", "alone"),
        ],
    ),
    "CASE-002-on-its-way": (
        "I was promised my order for last week. Nothing came, I want a refund.",
        shop(
            "U-1058",
            [order("A-2214", "DESK-1", 214.0, status="shipped", paid_at="2026-05-27")],
            carrier={
                "A-2214": {
                    "tracking_number": "TN2214",
                    "carrier": "Swiftline",
                    "place": "regional hub",
                    "estimated_delivery_date": "2026-06-04",
                }
            },
        ),
        [
            (30, "No money went back while the parcel is on its way, and nothing else was set going.", "untouched"),
            (70, "The customer is told the day on which it comes.", "told 2026-06-04"),
        ],
    ),
    "CASE-003-slow-day": (
        "My lamp never arrived, although I paid for it long ago. Please give me a refund.",
        shop("U-1063", [order("A-2219", "LAMP-2", 42.5)], day={"precheck_takes_s": 6}),
        [
            (15, "The customer did not give up waiting.", "stayed"),
            (70, "A person takes over within the hour, and the customer knows when.", "promised 60"),
            (15, "No money moved behind the back of somebody who had gone.", "kept"),
        ],
    ),
    "CASE-004-coupon": (
        "Nothing came of what I paid for with my coupon in May. Please refund the order.",
        shop("U-1077", [order("A-2231", "CHAIR-4", 120.0, paid=96.0)]),
        [
            (70, "The customer has back what the customer paid, not what the list says.", "refunded 96"),
            (20, "The customer is told how much.", "told 96"),
            (10, "Nothing else was set going.", "alone"),
        ],
    ),
    "CASE-005-text-me": (
        "Please send the details of my order to my phone in a text message.",
        shop("U-1082", [order("A-2238", "KETTLE-1", 54.0, paid_at="2026-06-01")], day={"sms_left": 0}),
        [
            (90, "Just one message has really arrived, by whatever way.", "reached"),
            (10, "No money moved.", "kept"),
        ],
    ),
    "CASE-006-cheaper-elsewhere": (
        "Is the lamp that I ordered yesterday cheaper elsewhere? Compare it with JD, Tmall and PDD please.",
        shop(
            "U-1090",
            [order("A-2245", "LAMP-2", 34.0, paid_at="2026-06-01")],
            day={"down": ["tmall"]},
            prices={
                "LAMP-2": {
                    "today": {"jd": 31.5, "tmall": 27.8, "pdd": 30.2},
                    "mean": {"jd": 32.0, "tmall": 29.0, "pdd": 33.0},
                    "discount": {"jd": 0.97, "tmall": 0.95, "pdd": 0.9},
                }
            },
        ),
        [
            (60, "The customer hears the lowest price, near enough.", "near 27.8"),
            (25, "And at which source.", "told tmall"),
            (15, "Nothing was set going.", "untouched"),
        ],
    ),
    "CASE-007-if-it-came-to-that": (
        "I am thinking of another order. If I asked for a refund, how many days would it be until you pay?",
        shop("U-1096", [order("A-2251", "TABLE-2", 310.0, paid_at="2026-06-01")]),
        [
            (50, "Nothing was set going: the customer only asked.", "untouched"),
            (50, "The customer is told how many days it takes.", 'told "five working days" "5 working days"'),
        ],
    ),
    "CASE-008-says-done": (
        "The order that I paid for never arrived. Refund it, please.",
        shop("U-1103", [order("A-2260", "CHAIR-1", 75.0, paid=60.0)], day={"silent_refunds": 1}),
        [
            (70, "The customer really has back what was paid, once.", "refunded 60"),
            (20, "The customer is told how much.", "told 60"),
            (10, "Nothing else was set going.", "alone"),
        ],
    ),
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def checks(rows):
    told = ["checks:"]
    for number, (points, words, check) in enumerate(rows, 1):
        told += [
            f"  - id: {check.split()[0]}",
            f"    item: {number}",
            f"    points: {points}",
            f"    asserts: {json.dumps(words)}",
            f"    command: 'python3 -I -S \"$CASE_RUBRIC/check.py\" {check}'",
        ]
    return "\n".join(told) + "\n"


def rubric(name, rows):
    title = name.split("-", 2)[2].replace("-", " ").capitalize()
    points = "\n".join(f"- {points} pts: {words}" for points, words, _ in rows)
    return f"# Rubric: {title}\n\nChecks over the desk as it was left and the answer decide all points.\n\n{points}\n"


def main():
    for name, (said, desk, rows) in CASES.items():
        case = HERE.parent / name
        shutil.rmtree(case, ignore_errors=True)
        write(case / "statement" / "README.md", STATEMENT.format(said=said))
        write(case / "statement" / "shop.json", json.dumps(desk, indent=1, ensure_ascii=False) + "\n")
        write(case / "rubric" / "README.md", rubric(name, rows))
        write(case / "rubric" / "checks.yaml", checks(rows))
        shutil.copy(HERE / "check.py", case / "rubric" / "check.py")


if __name__ == "__main__":
    main()
