"""CASE-002: failures of a gateway by code, out of a log that several nodes wrote."""
import datetime

from .common import Gold, Item, Revision, seeded, tiers

TEXT = """\
# Failures of the gateway

`gateway.log` holds a week of the payment gateway: a time, the node, the level, then `name=value` pairs and a message.
For the review on Monday the failures (level ERROR or worse) are wanted by code.

Write `incidents.csv`, sorted by `code`, one row per `code`, with these columns in this order:

- `code`: the error code, `code` in the log
- `failures`: number of failures
- `first_seen`: time of the earliest, UTC, `YYYY-MM-DDTHH:MM:SSZ`
- `last_seen`: time of the latest, UTC, `YYYY-MM-DDTHH:MM:SSZ`
- `service`: the service that failed, `svc` in the log

Notes of the people on call are in `oncall/`.
"""
ONCALL = """\
# On call

Swap of shifts: Rosa takes Wednesday. The coffee machine on floor 2 is for everybody.
The two oldest nodes write the wall clock without a zone; they stand two hours ahead of UTC (UTC+02:00).
Do not restart n3 during settlement.
"""
SERVICES = ("billing", "cards", "ledger", "payout", "fx", "risk")
MESSAGES = ("upstream refused", "timeout after 3 tries", "signature mismatch", "queue full", "no route", "bad checksum")
NOISE = ("INFO svc={s} req={q} \"accepted\"", "INFO svc={s} req={q} \"settled in {t} ms\"", "WARN svc={s} req={q} \"slow answer {t} ms\"",
         "DEBUG svc={s} req={q} cache=hit")
START = datetime.datetime(2024, 5, 6)


def make(name, *, noise=200, plain=0, local=0, spelled=0, repeated=0, levels=0, prose=0, extra=False):
    r = seeded(name)
    gold = Gold(f"{name}:")
    gold.view("main", "csv", "incidents.csv", ["code", "failures", "first_seen", "last_seen", "service"], "code", ["code"])
    codes = iter(r.sample(range(100, 990), 120))
    lines = []
    request = lambda: f"{r.randrange(16**6):06x}"

    def stamp(when, how):
        if how == "local":
            return (when + datetime.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S")
        if how == "offset":
            hours = r.choice((2, -5, 1))
            return (when + datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S") + f"{hours:+03d}:00"
        return when.strftime("%Y-%m-%dT%H:%M:%SZ")

    kinds = ["plain"] * plain + ["local"] * local + ["spelled"] * spelled + ["repeated"] * repeated + ["levels"] * levels
    kinds += ["prose"] * prose
    for kind in kinds:
        code = f"E-{next(codes)}"
        service = r.choice(SERVICES)
        node = {"local": r.choice(("n1", "n2")), "prose": "n9"}.get(kind, r.choice(("n3", "n4", "n5", "n6")))
        times = sorted(START + datetime.timedelta(seconds=r.randrange(7 * 86400)) for _ in range(r.randint(5, 11)))
        count, seen = 0, []
        for i, when in enumerate(times):
            level, written = "ERROR", code
            if kind == "spelled" and i % 3 == 1:
                written = r.choice((code.lower(), code.replace("-", "_"), "".join(chr(ord(c) + 0xFEE0) for c in code)))
            if kind == "levels" and i % 2 == 0:
                level = r.choice(("ERR", "error", "CRIT", "Error", "critical"))
            elif r.random() < 0.1:
                level = "FATAL"
            how = "local" if kind == "local" else "offset" if kind == "levels" and i % 2 else "utc"
            shown = when + datetime.timedelta(seconds=90) if kind == "prose" else when
            place = when
            if kind in ("spelled", "levels"):
                place = r.choice(times)  # buffers of these nodes were written out of turn
            message = r.choice(MESSAGES)
            lines.append((place, 0, f"{stamp(shown, how)} {node} {level} svc={service} code={written} req={request()} \"{message}\""))
            count += 1
            seen.append(when)
            if kind == "repeated" and i % 3 == 0:
                times_more, later = r.randint(2, 20), when + datetime.timedelta(seconds=r.randint(5, 50))
                lines.append((place, 1, f"{stamp(later, 'utc')} {node} INFO last message repeated {times_more} times"))
                count += times_more
                seen.append(later)
        if r.random() < 0.5:
            when = r.choice(times)
            lines.append((when, 2, f"{stamp(when, 'utc')} n7 WARN svc={service} code={code} req={request()} \"will try again\""))
        gold.add(kind, "main", [code, str(count), stamp(min(seen), "utc"), stamp(max(seen), "utc"), service])
    for _ in range(noise):
        when = START + datetime.timedelta(seconds=r.randrange(7 * 86400))
        text = r.choice(NOISE).format(s=r.choice(SERVICES), q=request(), t=r.randint(3, 4000))
        node = r.choice(("n7", "n8"))
        lines.append((when, 3, f"{stamp(when, 'utc')} {node} {text}"))
        if extra and r.random() < 0.3:
            lines.append((when, 4, f"{stamp(when, 'utc')} {node} TRACE heap={r.randint(100, 900)}M threads={r.randint(10, 90)}"))
    lines.sort(key=lambda entry: entry[:2])
    return {"gateway.log": "\n".join(text for *_, text in lines) + "\n"}, gold


INTRO = "Points are decided by checks that compare the rows with gold.json, in groups by how the lines of a code were written."


def columns(points):
    return Item(points, "The table is a file with the requested columns in order and most codes in it.",
                [("columns", points, "the result has the requested columns and most codes", "header main")])


def draft_items():
    return [
        columns(8),
        Item(62, "Codes with regular lines have the right number, times and service.",
             tiers("plain", "plain", "the regular codes", (32, 0.5), (30, 0.9))),
        Item(13, "Times written by the old nodes are given in UTC.", tiers("zone", "local", "the codes of old nodes", (13, 0.9))),
        Item(13, "A code spelled in several ways has one row.", tiers("spelled", "spelled", "the codes spelled apart", (13, 0.9))),
        Item(4, "The table is in order and complete.", [("order", 4, "sorted and no code missing", "ordered main")]),
    ]


def final_items():
    return [
        columns(8),
        Item(28, "Codes with regular lines have the right number, times and service.",
             tiers("plain", "plain", "the regular codes", (14, 0.5), (14, 0.9))),
        Item(14, "Times written by the old nodes are given in UTC.", tiers("zone", "local", "the codes of old nodes", (14, 0.9))),
        Item(14, "A code spelled in several ways has one row.", tiers("spelled", "spelled", "the codes spelled apart", (14, 0.9))),
        Item(14, "Failures that were summed up by the logger are counted, and their end is the last sighting.",
             tiers("summed", "repeated", "the codes that were summed up", (14, 0.9))),
        Item(12, "Lines with other names for a level and with their own zone are understood.",
             tiers("levels", "levels", "the codes with such lines", (12, 0.9))),
        Item(6, "The node whose clock was wrong is set right.", tiers("clock", "prose", "the codes of that node", (6, 0.9))),
        Item(4, "The table is in order and complete.", [("order", 4, "sorted and no code missing", "ordered main")]),
    ]


CLOCK = "\nn9 had its battery changed; all that week its clock was a minute and a half fast, in everything that it wrote.\n"


def gateway():
    made = []
    for name, items, note, counts in (
        ("gateway-draft", draft_items, ONCALL, dict(noise=150, plain=24, local=5, spelled=6)),
        ("gateway-rows", draft_items, ONCALL, dict(noise=260, plain=30, local=6, spelled=8, extra=True)),
        ("gateway-final", final_items, ONCALL + CLOCK,
         dict(noise=170, plain=16, local=8, spelled=9, repeated=8, levels=8, prose=3, extra=False)),
    ):
        files, gold = make(name, **counts)
        files["oncall/notes.md"] = note
        made.append(Revision(TEXT, files, gold, items(), INTRO))
    return made
