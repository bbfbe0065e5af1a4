"""CASE-006 and the held-out CASE-008: values written in letters and notes."""
from .common import FIRST, LAST, STANDARD, TOWNS, Gold, Item, Revision, comma, day, dotted, iso, seeded, slash, tiers

CLAIMS = dict(prefix="PH", key=("policy_no", "Policy no"), date=("incident_date", "Date of incident"), amount=("amount", "Amount claimed"),
              person=("reported_by", "Reported by"), source="letters.txt", target="claims.csv", papers="office", top=900000,
              open_line="Dear colleagues,", fill=("the water came through the ceiling of {t}.", "the cat of my neighbour in {t} was involved.",
                                                  "I have added two photographs.", "please answer before the holidays.",
                                                  "the roof in {t} is still open.", "my agent told me to write to you."))
SAMPLES = dict(prefix="SM", key=("sample_tag", "Sample tag"), date=("collected", "Collected on"), amount=("depth_m", "Depth in metres"),
               person=("collector", "Collector"), source="notebook/entries.txt", target="samples.csv", papers="notebook/cover", top=9000,
               open_line="Field entry,", fill=("wind from {t}, light rain.", "mud, few shells near {t}.", "the boat was late again.",
                                              "we lost an anchor off {t}.", "water clear to the ground.", "second core kept at {t}."))

CLAIMS_TEXT = """\
# Claims in letters

`letters.txt` holds the letters of a month, one below the other, parted by lines of equals signs. The claims desk wants
the facts extracted into a table.

Write `claims.csv`, sorted by `policy_no`, one row per `policy_no`, with these columns in this order:

- `policy_no`: what follows "Policy no"
- `incident_date`: what follows "Date of incident", as `YYYY-MM-DD`
- `amount`: what follows "Amount claimed", two decimals after a point
- `reported_by`: what follows "Reported by"
{more}"""
SAMPLES_TEXT = """\
# Samples in a field notebook

The expedition's notebook was typed up as `notebook/entries.txt`; lines of equals signs stand between its notes. For the
laboratory, extract a list from this text: `samples.csv`, one row for each `sample_tag`, ordered by `sample_tag`, with the
columns

- `sample_tag`: the text after "Sample tag"
- `collected`: the day after "Collected on", `YYYY-MM-DD`
- `depth_m`: the figure after "Depth in metres" with two decimals after a point
- `collector`: the name after "Collector"

in this order. The cover of the notebook is in `notebook/cover/`.
"""
DESK = """\
For the holiday stand-in

Tea is in the second drawer. Our customers write day first when they use slashes, and a decimal comma as often as not.
Do not give out telephone numbers.
"""
COVER = """\
Property of the expedition. If found, please return to the harbour office.
Slashed dates here are day/month/year. Depths are noted with a decimal comma. Keep dry.
"""


def make(name, spec, *, plain=0, convention=0, quoted=0, labels=0, corrected=0, undecided=0, prose=0, padding=2):
    r = seeded(name)
    key, date, amount, person = spec["key"], spec["date"], spec["amount"], spec["person"]
    gold = Gold(f"{name}:")
    gold.view("main", "csv", spec["target"], [key[0], date[0], amount[0], person[0]], key[0], [key[0]])
    letters, number = [], 20000

    def entity():
        nonlocal number
        number += r.randint(1, 40)
        return [f"{spec['prefix']}-{number}", day(r, 2022, 2024), r.randint(200, spec["top"]) / 100, f"{r.choice(FIRST)} {r.choice(LAST)}"]

    def right(e):
        return [e[0], iso(e[1]), f"{e[2]:.2f}", e[3]]

    def fill(count):
        return [r.choice(spec["fill"]).format(t=r.choice(TOWNS)).capitalize() for _ in range(count)]

    def lines(e, *, code=None, shown_date=None, shown_amount=None, names=None):
        names = names or (lambda label: label)
        body = [f"{names(key[1])}: {code or e[0]}", f"{names(date[1])}: {shown_date or r.choice((iso, iso, dotted))(e[1])}",
                f"{names(amount[1])}: {shown_amount or f'{e[2]:.2f}'}", f"{names(person[1])}: {e[3]}"]
        head, tail = body[:1], body[1:]
        r.shuffle(tail)
        return head + tail

    def received(month=None):
        return f"Received: 2024-{month or r.randint(1, 6):02d}-{r.randint(1, 28):02d}T{r.randint(8, 17):02d}:{r.randint(0, 59):02d}"

    def letter(body, month=None, before=(), after=()):
        return "\n".join([received(month), "", spec["open_line"], *before, *fill(r.randint(0, padding)), *body, *fill(r.randint(1, padding + 1)), *after])

    def loose(label):
        way = r.randrange(3)
        if way == 0:
            return label.upper()
        if way == 1:
            return label.title().replace(" ", " \u00a0") + " "
        return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in label)

    for _ in range(plain):
        e = entity()
        letters.append((r.random(), letter(lines(e))))
        gold.add("plain", "main", right(e))
    for _ in range(convention):
        e = entity()
        letters.append((r.random(), letter(lines(e, shown_date=slash(e[1]), shown_amount=comma(e[2]) if r.random() < 0.7 else None))))
        gold.add("convention", "main", right(e))
    for _ in range(quoted):
        e, other = entity(), entity()
        old = ["You wrote:", *[f"> {line}" for line in lines(other)], ""]
        letters.append((r.random(), letter(lines(e), before=old)))
        gold.add("quoted", "main", right(e))
    for _ in range(labels):
        e = entity()
        letters.append((r.random(), letter(lines(e, names=loose, code=e[0].lower() if r.random() < 0.3 else None))))
        gold.add("labels", "main", right(e))
    for i in range(corrected):
        e = entity()
        wrong = [e[0], day(r, 2022, 2024), r.randint(200, spec["top"]) / 100, e[3]]
        if i % 2:
            fixed = [wrong[0], e[1], wrong[2], e[3]] if i % 4 == 1 else [wrong[0], wrong[1], e[2], e[3]]
            line = f"Correction: {date[1]}: {iso(e[1])}" if i % 4 == 1 else f"Correction: {amount[1]}: {e[2]:.2f}"
            letters.append((r.random(), letter(lines(wrong), after=["", "P.S.", line])))
            gold.add("corrected", "main", right(fixed))
        else:
            at = r.random() * 0.6
            letters.append((at, letter(lines(wrong), month=2)))
            letters.append((at + 0.2 + r.random() * 0.2, letter(lines(e), month=7)))
            gold.add("corrected", "main", right(e))
    for i in range(undecided):
        e = entity()
        if i % 3 == 0:
            body = [line for line in lines(e) if not line.startswith(amount[1])]
        elif i % 3 == 1:
            body = lines(e, shown_date=r.choice(("31.02.2023", "2024-11-31", "30.02.2022")))
        else:
            body = [*lines(e), f"{amount[1]}: {e[2] + 55:.2f}"]
        letters.append((r.random(), letter(body)))
        gold.undecided("undecided", "main", e[0])
    for _ in range(prose):
        e = entity()
        text = [f"it is {e[0]} that I write about. On {e[1][2]}.{e[1][1]}.{e[1][0]} it happened,",
                f"{e[2]:.2f} is the figure that I hold to, and it was I, {e[3]}, who told you so at once."]
        letters.append((r.random(), letter(text)))
        gold.add("prose", "main", right(e))
    letters.sort(key=lambda pair: pair[0])
    divider = "\n" + "=" * 24 + "\n"
    return {spec["source"]: divider.join(text for _, text in letters) + "\n"}, gold


INTRO = "Points are decided by checks that compare the rows with gold.json, in groups by how the values were written."


def columns(points):
    return Item(points, "The table is a file with the requested columns in order and most entries in it.",
                [("columns", points, "the result has the requested columns and most entries", "header main")])


def draft_items():
    return [
        columns(8),
        Item(60, "Values that are written plainly are in the table in the requested form.",
             tiers("plain", "plain", "the plain entries", (30, 0.5), (30, 0.95))),
        Item(14, "Days and figures in other habits are read as meant.", tiers("habit", "convention", "the entries in other habits", (14, 0.9))),
        Item(14, "Values of an earlier text that is only cited are not taken.", tiers("cited", "quoted", "the entries that cite", (14, 0.9))),
        Item(4, "The table is in order and complete.", [("order", 4, "sorted and no entry missing", "ordered main")]),
    ]


def final_items():
    return [
        columns(8),
        Item(26, "Values that are written plainly are in the table in the requested form.",
             tiers("plain", "plain", "the plain entries", (12, 0.5), (14, 0.95))),
        Item(14, "Days and figures in other habits are read as meant.", tiers("habit", "convention", "the entries in other habits", (14, 0.9))),
        Item(12, "Values of an earlier text that is only cited are not taken.", tiers("cited", "quoted", "the entries that cite", (12, 0.9))),
        Item(8, "Captions written in other letters are recognised.", tiers("captions", "labels", "the entries with odd captions", (8, 0.9))),
        Item(10, "What a writer set right later is what stands in the table.", tiers("later", "corrected", "the entries set right", (10, 0.9))),
        Item(12, "Entries that the text leaves open are set aside as STANDARD.md says.",
             [("aside", 12, "at least 60 % of the open entries are set aside", "exceptions undecided 0.6")]),
        Item(6, "Entries told in sentences are in the table.", tiers("told", "prose", "the entries told in sentences", (6, 0.9))),
        Item(4, "The table is in order and complete.", [("order", 4, "sorted and no entry missing", "ordered main")]),
    ]


def claims():
    made = []
    more = "\nThe folder `office/` was left for whoever stands in.\n"
    for name, items, standard, counts in (
        ("claims-draft", draft_items, STANDARD, dict(plain=90, convention=16, quoted=14)),
        ("claims-final", final_items, STANDARD,
         dict(plain=62, convention=24, quoted=22, labels=18, corrected=24, undecided=18, prose=3)),
    ):
        files, gold = make(name, CLAIMS, **counts)
        files["office/stand-in.txt"] = DESK
        made.append(Revision(CLAIMS_TEXT.format(more=more), files, gold, items(), INTRO, standard))
    return made


def samples():
    files, gold = make("samples-final", SAMPLES, plain=56, convention=22, quoted=18, labels=16, corrected=20, undecided=15, prose=3)
    files["notebook/cover/cover.md"] = COVER
    return [Revision(SAMPLES_TEXT, files, gold, final_items(), INTRO, STANDARD)]
