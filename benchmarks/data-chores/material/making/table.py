"""Registers: rows of a CSV, several for the same key."""
from .common import FIRST, LAST, Gold, comma, csv_text, day, dotted, iso, seeded, slash, variant


def make(name, *, key, prefix, text, extra, date, amount, stamp, source, target, papers,
         plain=0, convention=0, variants=0, corrected=0, undecided=0, prose=0, noise=(), text_values=None, extra_values=None):
    """Return (files, gold). `text`, `extra`, `date`, `amount` are column names; `noise` further columns."""
    r = seeded(name)
    columns = [key, text, extra, date, amount]
    gold = Gold(f"{name}:")
    gold.view("main", "csv", target, columns, key, [key])
    records, corrections, letters, number = [], [], [], 100
    taken = set()

    def entity():
        nonlocal number
        number += r.randint(1, 9)
        code = f"{prefix}-{number:05d}"
        label = r.choice(text_values) if text_values else f"{r.choice(FIRST)} {r.choice(LAST)}"
        other = r.choice(extra_values) if extra_values else f"{label.split()[0].lower()}.{number}@example.org"
        return [code, label, other, day(r), r.randint(500, 250000) / 100]

    def stamp_at(step):
        d = day(r, 2023, 2023)
        return f"{2022 + step}-{d[1]:02d}-{d[2]:02d}T{r.randint(7, 18):02d}:{r.randint(0, 59):02d}:{r.randint(0, 59):02d}"

    def record(e, when, write_key=None, write_date=None, write_amount=None):
        row = {key: write_key or e[0], text: e[1], extra: e[2],
               date: write_date if write_date is not None else r.choice((iso, iso, dotted))(e[3]),
               amount: write_amount if write_amount is not None else f"{e[4]:.2f}", stamp: when}
        row.update({column: r.choice(values) for column, values in noise})
        return row

    def right(e):
        return [e[0], e[1], e[2], iso(e[3]), f"{e[4]:.2f}"]

    for _ in range(plain):
        e = entity()
        one = record(e, stamp_at(1))
        records.append([one, dict(one)] if r.random() < 0.06 else [one])
        gold.add("plain", "main", right(e))
    for _ in range(convention):
        e = entity()
        records.append([record(e, stamp_at(1), write_date=slash(e[3]), write_amount=comma(e[4]) if r.random() < 0.7 else None)])
        gold.add("convention", "main", right(e))
    for i in range(variants):
        e = entity()
        old = [e[0], e[1], f"old.{e[2]}" if "@" in e[2] else r.choice(extra_values), day(r), r.randint(500, 99000) / 100]
        group = [record(old, stamp_at(1), write_key=None if i % 3 else variant(r, e[0]))]
        group.append(record(e, stamp_at(2), write_key=variant(r, e[0]) if i % 3 else None))
        if i % 4 == 0:
            group.append(record(e, stamp_at(0), write_key=variant(r, e[0]), write_date=iso(day(r))))
        records.append(group)
        gold.add("variants", "main", right(e))
    for _ in range(corrected):
        e = entity()
        wrong = list(e)
        if r.random() < 0.5:
            wrong[4] = r.randint(500, 99000) / 100
            corrections.append([e[0] if r.random() < 0.6 else variant(r, e[0]), amount, f"{e[4]:.2f}"])
        else:
            wrong[3] = day(r)
            corrections.append([e[0] if r.random() < 0.6 else variant(r, e[0]), date, iso(e[3])])
        records.append([record(wrong, stamp_at(1))])
        gold.add("corrected", "main", right(e))
    for i in range(undecided):
        e = entity()
        if i % 3 == 0:
            when = stamp_at(1)
            other = [e[0], e[1], e[2], day(r), e[4] + 10]
            records.append([record(e, when), record(other, when)])
        elif i % 3 == 1:
            records.append([record(e, stamp_at(1), write_date=r.choice(("31.02.2021", "2019-11-31", "30.02.2020")))])
        else:
            records.append([record(e, stamp_at(1), write_amount=r.choice(("", "tba", "?")))])
        gold.undecided("undecided", "main", e[0])
    for _ in range(prose):
        e = entity()
        wrong = [*e[:4], r.randint(500, 99000) / 100]
        records.append([record(wrong, stamp_at(1))])
        letters.append(f"{e[1]} rang again about {e[0]}: we had agreed on {e[4]:.2f} and nothing else, please see to it.")
        gold.add("prose", "main", right(e))
    groups = [(r.random(), group) for group in records]
    rows = []
    for at, group in groups:
        rows += [(at + i * (1 - at) / len(group), row) for i, row in enumerate(group)]  # older rows stand first
    rows.sort(key=lambda pair: pair[0])
    header = [key, text, extra, date, amount, *[column for column, _ in noise], stamp]
    files = {source: csv_text(header, [[row[c] for c in header] for _, row in rows])}
    if corrections:
        r.shuffle(corrections)
        files[f"{papers}/corrections.csv"] = csv_text([key, "column", "value"], corrections)
    if letters:
        files[f"{papers}/calls.txt"] = "Calls that came in this month, noted as they came.\n\n" + "\n".join(letters) + "\n"
    return files, gold, len(rows)
