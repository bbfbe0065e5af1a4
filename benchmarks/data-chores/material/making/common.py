"""What every kind of Case shares: a seeded hand, gold sets, and the writing of a revision."""
import csv
import hashlib
import io
import json
import random
import shutil
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

CHECK = Path(__file__).with_name("check.py")


def fold(text):
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


@dataclass
class Gold:
    """Rows that are right, by the difficulty behind them; saved as salted digests."""

    salt: str
    views: dict = field(default_factory=dict)
    sets: dict = field(default_factory=dict)

    def view(self, name, kind, path, columns, key, folded=()):
        self.views[name] = {"kind": kind, "path": path, "columns": list(columns), "key": key, "fold": list(folded)}

    def digest(self, cells):
        return hashlib.sha256((self.salt + "\x1f".join(cells)).encode()).hexdigest()[:12]

    def add(self, name, view, row):
        layout = self.views[view]
        cells = [fold(cell) if column in layout["fold"] else cell for column, cell in zip(layout["columns"], row, strict=True)]
        self.sets.setdefault(name, {"view": view, "rows": []})["rows"].append(self.digest(cells))

    def undecided(self, name, view, key):
        self.sets.setdefault(name, {"view": view, "rows": [], "keys": []})["keys"].append(self.digest([fold(key)]))

    def text(self):
        for group in self.sets.values():
            group["rows"].sort()
            if "keys" in group:
                group["keys"].sort()
        return json.dumps({"salt": self.salt, "views": self.views, "sets": self.sets}, indent=0, sort_keys=True) + "\n"


@dataclass
class Item:
    """A rubric item: points, its text, and checks of (id, points, what it asserts, arguments of check.py)."""

    points: int
    text: str
    checks: list


@dataclass
class Revision:
    """One state of a Case: public files by path, gold, items, and whether the standard applies."""

    statement: str
    files: dict
    gold: Gold
    items: list
    intro: str
    standard: str | None = None


def tiers(name, item, what, *steps):
    """Return checks that give points for shares of a set: steps of (points, minimum)."""
    return [
        (f"{name}-{int(minimum * 100)}", points, f"at least {int(minimum * 100)} % of {what}", f"share {item} {minimum}")
        for points, minimum in steps
    ]


def csv_text(columns, rows, delimiter=","):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", delimiter=delimiter)
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def write_statement(revision, root):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    (root / "README.md").write_text(revision.statement, encoding="utf-8")
    for name, content in revision.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def write_rubric(revision, title, root):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    lines = [f"# Rubric: {title}", "", revision.intro, ""]
    lines += [f"- {item.points} pts: {item.text}" for item in revision.items]
    assert sum(item.points for item in revision.items) == 100, (title, [item.points for item in revision.items])
    (root / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    checks = ["checks:"]
    for number, item in enumerate(revision.items, 1):
        assert sum(check[1] for check in item.checks) == item.points, (title, item)
        for identifier, points, asserts, arguments in item.checks:
            checks += [
                f"  - id: {identifier}",
                f"    item: {number}",
                f"    points: {points}",
                f'    asserts: "{asserts}"',
                f"    command: 'python3 -I -S \"$CASE_RUBRIC/check.py\" {arguments}'",
            ]
    (root / "checks.yaml").write_text("\n".join(checks) + "\n", encoding="utf-8")
    (root / "gold.json").write_text(revision.gold.text(), encoding="utf-8")
    shutil.copyfile(CHECK, root / "check.py")
    if revision.standard:
        (root / "STANDARD.md").write_text(revision.standard, encoding="utf-8")


STANDARD = """\
# Standard: what cannot be decided is set aside

Reusable policy of this house, fixed before anything was measured; it holds for every piece of clerical work here.

1. An entry that the papers do not settle is never guessed and never silently lost: two entries of equal standing
   that disagree, a needed value that is absent or unreadable, a calendar day that does not exist, a setting
   nobody assigned a place.
2. It is kept out of the result and listed in `exceptions.csv` in the top directory, with at least a column that
   identifies the entry by its key and a column `reason` with a few words.
3. Only such entries are listed; what can be settled is settled.
"""

FIRST = "Ada Bela Carl Dana Emil Fay Gus Hana Igor Jana Karl Lena Milo Nora Olaf Pia Quentin Rosa Sven Tilda Ugo Vera Wim Xenia Yann Zora Åsa Björn Chloé Dória".split()
LAST = "Abel Brandt Costa Duarte Eklund Ferrari Gruber Hansen Ivanov Jensen Keller Lindqvist Moreau Novak Olsen Petit Quinn Rossi Schmid Tanaka Ulrich Varga Weiss Yilmaz Zeller Ågren Müller Peña Łuczak Nuñez".split()
TOWNS = "Aldern Brookham Carrow Dunmere Eastholt Farleigh Gorsewick Hartwell Inverlea Juniper Kestrel Lowick Marlow Norbury Otterly Penrose Quarley Ravenhill Selby Thornton Ullsby Venmoor Westlake Yarrow Zennor Ashby Birling Coldra Denholm Ecclesby".split()


def variant(random_, text):
    """Return `text` spelled as another clerk would: other case, spaces, or full-width letters."""
    way = random_.randrange(4)
    if way == 0:
        return text.lower() if text != text.lower() else text.upper()
    if way == 1:
        return " " + text + "  "
    if way == 2:
        return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    return text.swapcase() + " "


def day(random_, first=2015, last=2024):
    return (random_.randint(first, last), random_.randint(1, 12), random_.randint(1, 28))


def iso(d):
    return f"{d[0]:04d}-{d[1]:02d}-{d[2]:02d}"


def slash(d):
    return f"{d[2]:02d}/{d[1]:02d}/{d[0]:04d}"


def dotted(d):
    return f"{d[2]:02d}.{d[1]:02d}.{d[0]:04d}"


def comma(value):
    """1234.5 -> 1.234,50"""
    return f"{value:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def seeded(*parts):
    return random.Random("/".join(map(str, parts)))
