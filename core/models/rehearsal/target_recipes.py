"""The hurried way of each kind of chore: what the rehearsal Target does when nobody gave it a procedure.

Every recipe is a real script over the variables of `target_statement.bind`. It reads the named input as it
stands, believes the first value that it sees, and asks no other paper; conventions count only where they were
bound (DATE_ORDER, DECIMAL, TZ_OFFSET, UNIT).
"""

from __future__ import annotations

_COMMON = """\
import csv, datetime, json, os, re
E = os.environ
columns = [name for name in E.get("COLUMNS", "").split(",") if name]
spec = dict(part.partition("=")[::2] for part in E.get("SPEC", "").split(";") if part)
spec = {name: tuple(what.partition(":")[::2]) for name, what in spec.items()}
key = E.get("KEY") or (columns[0] if columns else "")

def number(text):
    text = str(text).strip()
    if E.get("DECIMAL") == "comma":
        text = text.replace(".", "").replace(",", ".") if "," in text else text
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None

def date(text):
    slash = "%d/%m/%Y" if E.get("DATE_ORDER") == "dmy" else "%m/%d/%Y"
    for form in ("%Y-%m-%d", "%d.%m.%Y", slash):
        try:
            return datetime.datetime.strptime(text.strip(), form).strftime("%Y-%m-%d")
        except ValueError:
            pass
    return text.strip()

def shaped(how, text):
    if how == "date":
        return date(text)
    if how == "number":
        value = number(text)
        return text if value is None else f"{value:.2f}"
    return text.strip()

def write(rows):
    with open(E["OUT"], "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\\n")
        out.writerow(columns)
        out.writerows(rows)
    print(len(rows), "rows in", E["OUT"])
"""

_TABLE = """
first = {}
with open(E["IN"], encoding="utf-8-sig", errors="replace", newline="") as file:
    for row in csv.DictReader(file):
        name = (row.get(spec[key][1]) or "").strip()
        if name and name not in first:
            first[name] = row
rows = [[shaped(spec[c][0], row.get(spec[c][1]) or "") for c in columns] for _, row in sorted(first.items())]
write(rows)
"""

_REPORT = """
text = open(E["IN"], encoding="utf-8-sig", errors="replace").read()
try:
    records = json.loads(text)
    if isinstance(records, dict):
        records = next(value for value in records.values() if isinstance(value, list))
except ValueError:
    records = [json.loads(line) for line in text.splitlines() if line.strip()]

def get(record, path):
    for step in path.split("."):
        record = record.get(step) if isinstance(record, dict) else None
    return record

groups = {}
for record in records:
    name = get(record, spec[key][1])
    if name:
        groups.setdefault(str(name), []).append(record)
rows = []
for name, members in sorted(groups.items()):
    cells = []
    for c in columns:
        how, source = spec[c]
        if c == key:
            cells.append(name)
        elif how == "count":
            cells.append(len(members))
        else:
            cells.append(f"{sum(number(get(m, source)) or 0 for m in members):.2f}")
    rows.append(cells)
write(rows)
"""

_LOG = """
tags = {}
for line in open(E["IN"], encoding="utf-8-sig", errors="replace"):
    found = re.search(re.escape(spec[key][1]) + r"=(\\S+)", line)
    if found and re.search(r"\\b(ERROR|FATAL)\\b", line):
        tags.setdefault(found[1], []).append(line)

def moment(line):
    text = line.split()[0]
    when = datetime.datetime.fromisoformat(text[:19])
    if E.get("TZ_OFFSET") and len(text) == 19:
        sign = -1 if E["TZ_OFFSET"][0] == "-" else 1
        hours, minutes = E["TZ_OFFSET"].lstrip("+-").split(":")
        when -= sign * datetime.timedelta(hours=int(hours), minutes=int(minutes))
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")

rows = []
for name, lines in sorted(tags.items()):
    cells = []
    for c in columns:
        how, source = spec[c]
        if c == key:
            cells.append(name)
        elif how == "count":
            cells.append(len(lines))
        elif how in ("min", "max"):
            cells.append(moment(lines[0] if how == "min" else lines[-1]))
        else:
            found = re.search(re.escape(source) + r"=(\\S+)", lines[0])
            cells.append(found[1] if found else lines[0].split()[1])
    rows.append(cells)
write(rows)
"""

_CONFIG = """
names = {}
with open(E["MAPPING"], encoding="utf-8-sig", newline="") as file:
    for row in csv.reader(file):
        names[row[0].strip()] = (row[1].strip(), row[2].strip() if len(row) > 2 else "text")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}

def value(kind, text):
    if kind in ("int", "integer", "number"):
        return int(re.sub(r"\\D", "", text) or 0)
    if kind in ("bool", "boolean", "switch"):
        return text == "true"
    if kind in ("seconds", "duration"):
        return int(re.sub(r"\\D", "", text) or 0) * UNITS[E.get("UNIT", "s")]
    return [part.strip() for part in text.split(",")] if kind == "list" else text

section, result = "", {}
for line in open(E["IN"], encoding="utf-8-sig", errors="replace"):
    line = line.strip()
    if line.startswith("["):
        section = line.strip("[]")
    elif "=" in line and line[0] not in "#;":
        name, text = (part.strip() for part in line.split("=", 1))
        if f"{section}.{name}" in names:
            new, kind = names[f"{section}.{name}"]
            place = result
            for step in new.split(".")[:-1]:
                place = place.setdefault(step, {})
            place[new.split(".")[-1]] = value(kind, text)
json.dump(result, open(E["OUT"], "w", encoding="utf-8"), indent=2, sort_keys=True)
print("wrote", E["OUT"])
"""

_TEXT = """
text = open(E["IN"], encoding="utf-8-sig", errors="replace").read()
rows = {}
for part in re.split(r"(?m)^(?:=|-|\\*){5,}\\s*$", text):
    cells = []
    for c in columns:
        how, label = spec[c]
        found = re.search(r"(?m)" + re.escape(label) + r"\\s*:\\s*(.+)$", part)
        cells.append(shaped(how, found[1]) if found else "")
    name = cells[columns.index(key)]
    if name and name not in rows:
        rows[name] = cells
write([cells for _, cells in sorted(rows.items())])
"""

ARCHIVE_FOLDER = """\
import datetime, os, re, shutil
E = os.environ
folder = E["FOLDER"]
for name in sorted(os.listdir(folder)):
    source = os.path.join(folder, name)
    stem, ext = os.path.splitext(name)
    found = re.search(r"(\\d{4})-(\\d\\d)-(\\d\\d)", stem) or re.search(r"(\\d{4})(\\d\\d)(\\d\\d)", stem)
    year, month, day = found.groups() if found else ("undated", "00", "00")
    turned = re.search(r"(\\d\\d)-(\\d\\d)-(\\d{4})", stem)
    if turned and E.get("DATE_ORDER") == "dmy":
        found, (day, month, year) = turned, turned.groups()
    title = re.sub(r"[^a-z0-9]+", "-", (stem.replace(found[0], "") if found else stem).lower()).strip("-")
    target = E["PATTERN"]
    for mark, value in (("year", year), ("month", month), ("date", f"{year}-{month}-{day}"), ("title", title),
                        ("ext", ext.lstrip("."))):
        target = target.replace(f"<{mark}>", value)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    print("moved", source, target, sep="\\t", file=open("moves.tmp", "a"))
print("done with", folder)
"""

_MANIFEST = """
import hashlib
rows = []
for line in open("moves.tmp"):
    _, source, target = line.rstrip("\\n").split("\\t")
    rows.append((source, target, hashlib.sha256(open(target, "rb").read()).hexdigest()))
columns = columns[:3] or ["old", "new", "sha256"]
write(sorted(rows))
os.remove("moves.tmp")
"""

RECIPES: dict[str, str] = {
    "table": _COMMON + _TABLE,
    "report": _COMMON + _REPORT,
    "log": _COMMON + _LOG,
    "config": _COMMON + _CONFIG,
    "text": _COMMON + _TEXT,
    "archive": _COMMON + _MANIFEST,
}
