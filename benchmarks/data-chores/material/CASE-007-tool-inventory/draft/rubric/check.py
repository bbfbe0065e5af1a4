"""Judge a workspace against gold.json beside this file.

gold.json holds views (how a produced file is read as rows of cells) and sets (salted digests of the rows that are
right, by the kind of difficulty that stood behind them), so nothing of the input is repeated here.

    check.py header VIEW            the file is there, has these columns and at least half of the rows
    check.py ordered VIEW           as header, sorted by its key, and nothing missing
    check.py share SET MINIMUM      at least this part of the set is there, each key once
    check.py exceptions SET MINIMUM at least this part is named with a reason and kept out of the result
Exit 0: yes. Exit 1: no.
"""
import csv
import hashlib
import io
import json
import os
import sys
import unicodedata

CODEC = "utf-8-sig"
with open(os.path.join(os.environ["CASE_RUBRIC"], "gold.json"), encoding="utf-8") as file:
    GOLD = json.load(file)


def fold(cell):
    one_width = unicodedata.normalize("NFKC", cell)
    return " ".join(one_width.split()).casefold()


def digest(cells):
    return hashlib.sha256((GOLD["salt"] + "\x1f".join(cells)).encode()).hexdigest()[:12]


def read_csv(path):
    with open(path, "rb") as file:
        text = str(file.read(), CODEC, "replace")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    return [name.strip() for name in reader.fieldnames or []], list(reader)


def leaves(value, path=()):
    if isinstance(value, dict):
        for name in sorted(value):
            yield from leaves(value[name], (*path, name))
    else:
        yield [".".join(path), json.dumps(value, sort_keys=True, ensure_ascii=False)]


def rows_of(view):
    """Return (header, rows of cells in the gold's order)."""
    kind, path = view["kind"], view["path"]
    if kind == "csv":
        header, records = read_csv(path)
        if not set(view["columns"]) <= set(header):
            return header, []
        folded = set(view["fold"])
        rows = []
        for record in records:
            cells = {(name or "").strip(): str(value or "") for name, value in record.items()}
            rows.append([fold(cells[c]) if c in folded else cells[c].strip() for c in view["columns"]])
        return header, rows
    if kind == "json":
        with open(path, encoding="utf-8") as file:
            return view["columns"], list(leaves(json.load(file)))
    rows = []
    for folder, _, names in os.walk(path):
        for name in names:
            full = os.path.join(folder, name)
            with open(full, "rb") as file:
                rows.append([os.path.relpath(full, path), hashlib.sha256(file.read()).hexdigest()])
    return view["columns"], rows


def keyed(view):
    """Return (header, rows, digests of the rows whose key stands there once)."""
    header, rows = rows_of(view)
    at = view["columns"].index(view["key"])
    times = {}
    for row in rows:
        times[fold(row[at])] = times.get(fold(row[at]), 0) + 1
    return header, rows, {digest(row) for row in rows if times[fold(row[at])] == 1}


def expected(name):
    return sum(len(group["rows"]) for group in GOLD["sets"].values() if group["view"] == name)


def main(command, name, minimum="0"):
    if command in ("header", "ordered"):
        view = GOLD["views"][name]
        header, rows, _ = keyed(view)
        if header != view["columns"] or len(rows) < expected(name) / 2:
            return False
        if command == "header":
            return True
        keys = [row[view["columns"].index(view["key"])] for row in rows]
        return keys == sorted(keys) and len(rows) >= expected(name)
    group = GOLD["sets"][name]
    if command == "share":
        _, _, found = keyed(GOLD["views"][group["view"]])
        return len(found & set(group["rows"])) >= float(minimum) * len(group["rows"])
    header, records = read_csv("exceptions.csv")
    reason = next((column for column in header if fold(column) in ("reason", "why")), None)
    named = {
        digest([fold(str(cell))])
        for record in records
        if reason and str(record.get(reason) or "").strip()
        for column, cell in record.items()
        if column != reason
    }
    view = GOLD["views"][group["view"]]
    _, rows = rows_of(view)
    at = view["columns"].index(view["key"])
    kept = {digest([fold(row[at])]) for row in rows}
    right = [key for key in group["keys"] if key in named and key not in kept]
    return len(records) <= 3 * len(group["keys"]) and len(right) >= float(minimum) * len(group["keys"])


if __name__ == "__main__":
    try:
        sys.exit(0 if main(*sys.argv[1:]) else 1)
    except (OSError, ValueError, KeyError, AttributeError, TypeError, csv.Error) as error:
        print(type(error).__name__, error)
        sys.exit(1)
