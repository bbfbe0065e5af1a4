"""CASE-004: a report from JSON records, several lines for one delivery, several spellings for one site."""
import json

from .common import STANDARD, TOWNS, FIRST, LAST, Gold, Item, Revision, comma, day, iso, seeded, tiers, variant

TEXT = """\
# Deliveries of the quarter

Every weighbridge wrote its deliveries into `deliveries.jsonl`, one JSON object on each line. The controller needs the
figures of the quarter by site.

Write the report `sites.csv`, one row per `site`, sorted by `site`, with these columns in this order:

- `site`: the site, `site.name` in the records
- `deliveries`: number of deliveries
- `weight`: sum of `weight_kg`, two decimals
- `charges`: total of `charge`, two decimals

`delivery_id` numbers a delivery, `revision` the state of its entry.{more}
"""
OFFICE = """\
From the weighbridge office

The printer is out of toner again. Gate 3 was closed for a week in May.
The old scales print a decimal comma and a point for the thousands: 1.204,50 is a little over twelve hundred.
Visitors must wear vests.
"""
SUFFIX = ("Quay", "Yard", "Works", "Depot")


def make(name, *, per=10, plain=0, convention=0, variants=0, revised=0, open_=0, prose=0, noise=False):
    r = seeded(name)
    gold = Gold(f"{name}:")
    gold.view("main", "csv", "sites.csv", ["site", "deliveries", "weight", "charges"], "site", ["site"])
    names = [f"{town} {r.choice(SUFFIX)}" for town in TOWNS]
    names += [f"{town} {second}" for town in TOWNS for second in ("Harbour", "Mill")]
    names = iter(names)
    number = [10000]
    records, late, calls = [], [], []

    def entry(site, weight, charge, identifier=None, revision=1):
        if identifier is None:
            number[0] += r.randint(1, 7)
            identifier = f"D-{number[0]}"
        record = {"delivery_id": identifier, "revision": revision, "site": {"name": site, "gate": r.randint(1, 5)},
                  "delivered": iso(day(r, 2024, 2024)), "weight_kg": weight, "charge": charge}
        if noise:
            record |= {"driver": f"{r.choice(FIRST)} {r.choice(LAST)}", "axles": r.randint(2, 5)}
        return record

    def amounts():
        return r.randint(5000, 900000) / 100, r.randint(1000, 90000) / 100

    kinds = ["plain"] * plain + ["convention"] * convention + ["variants"] * variants + ["revised"] * revised
    kinds += ["open"] * open_ + ["prose"] * prose
    for kind in kinds:
        site = next(names)
        count, weights, charges = 0, 0.0, 0.0
        for i in range(r.randint(per - 3, per + 3)):
            weight, charge = amounts()
            written, spelled = (weight, charge), site
            counted = True
            if kind == "convention" and i % 2 == 0:
                written = (comma(weight), comma(charge))
            if kind == "variants" and i % 3 == 1:
                spelled = variant(r, site)
            if kind == "open" and i < 2:
                record = entry("" if i == 0 else site, weight, charge if i == 0 else r.choice(("n/a", "?", "see note")))
                gold.undecided("open-entries", "main", record["delivery_id"])
                records.append((r.random(), record))
                continue
            record = entry(spelled, *written)
            at = r.random()
            if kind == "revised" and i % 3 == 0:
                old = entry(spelled, *amounts(), identifier=record["delivery_id"])
                record["revision"] = 2
                records.append((at * 0.5, old))
                if i % 2:
                    late.append(record)
                    record = None
                at = 0.5 + at / 2
            elif kind == "revised" and i == 1:
                late.append(record)
                record = None
            elif kind == "prose" and i == 1:
                counted = False
                calls.append(f"{site} says that {record['delivery_id']} never came through the gate, it was a test of the scales.")
            if record is not None:
                records.append((at, record))
            if counted:
                count, weights, charges = count + 1, weights + weight, charges + charge
        gold.add({"open": "open-sites"}.get(kind, kind), "main", [site, str(count), f"{weights:.2f}", f"{charges:.2f}"])
    records.sort(key=lambda pair: pair[0])
    lines = [json.dumps(record, ensure_ascii=False) for _, record in records]
    files = {"deliveries.jsonl": "\n".join(lines) + "\n"}
    if late:
        r.shuffle(late)
        files["late/after-closing.jsonl"] = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in late)
    if calls:
        files["late/calls.txt"] = "Calls after closing\n\n" + "\n".join(calls) + "\n"
    return files, gold


INTRO = "Points are decided by checks that compare the rows with gold.json, in groups by what stands behind a site's figures."


def columns(points):
    return Item(points, "The report is a file with the requested columns in order and most sites in it.",
                [("columns", points, "the result has the requested columns and most sites", "header main")])


def draft_items():
    return [
        columns(8),
        Item(60, "Sites with simple entries have the right count and sums.",
             tiers("plain", "plain", "the simple sites", (30, 0.5), (30, 0.9))),
        Item(14, "Quantities printed by the old scales are read as printed.",
             tiers("scales", "convention", "the sites with old scales", (14, 0.9))),
        Item(14, "A site spelled in more than one way has one row.",
             tiers("spelled", "variants", "the sites with several spellings", (14, 0.9))),
        Item(4, "The report is in order and complete.", [("order", 4, "sorted and no site missing", "ordered main")]),
    ]


def final_items():
    return [
        columns(8),
        Item(26, "Sites with simple entries have the right count and sums.",
             tiers("plain", "plain", "the simple sites", (12, 0.5), (14, 0.9))),
        Item(14, "Quantities printed by the old scales are read as printed.",
             tiers("scales", "convention", "the sites with old scales", (14, 0.9))),
        Item(16, "A site spelled in more than one way has one row.",
             tiers("spelled", "variants", "the sites with several spellings", (16, 0.9))),
        Item(14, "A delivery counts once, in its newest state, with what came in after closing.",
             tiers("newest", "revised", "the sites with later states", (14, 0.9))),
        Item(12, "Entries that cannot be booked are set aside as STANDARD.md says, and the rest of their site is right.",
             [*tiers("rest", "open-sites", "the sites with open entries", (6, 0.9)),
              ("aside-80", 6, "at least 80 % of the open entries are set aside", "exceptions open-entries 0.8")]),
        Item(6, "What was settled by telephone is in the figures.",
             tiers("calls", "prose", "the sites that rang", (6, 0.9))),
        Item(4, "The report is in order and complete.", [("order", 4, "sorted and no site missing", "ordered main")]),
    ]


def deliveries():
    more = " The folder `late/` belongs to the same quarter."
    made = []
    for name, items, standard, counts in (
        ("deliveries-draft", draft_items, STANDARD, dict(plain=22, convention=5, variants=6)),
        ("deliveries-final", final_items, STANDARD,
         dict(per=9, plain=13, convention=7, variants=9, revised=8, open_=6, prose=3, noise=False)),
    ):
        files, gold = make(name, **counts)
        files["late/office.txt"] = OFFICE
        made.append(Revision(TEXT.format(more=more), files, gold, items(), INTRO, standard))
    return made
