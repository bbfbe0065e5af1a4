"""CASE-005: scans get new names and an archive with a manifest."""
import hashlib

from .common import FIRST, LAST, STANDARD, TOWNS, Gold, Item, Revision, day, iso, seeded, tiers

TEXT = """\
# Archive of scanned papers

The scanner drops papers into the folders of `inbox/` under whatever name the clerk typed. Copy them into an archive:
the new path of a file is `archive/<year>/<date>_<title>.<ext>`. The date is the day of the paper, the title is the rest
of the old name in small letters and digits, with a hyphen for whatever stands between. Leave `inbox/` as it is.

List the copies in the manifest `manifest.csv`, one row per `old`, sorted by `old`, with these columns in this order:

- `old`: the path in the inbox
- `new`: the path in the archive
- `sha256`: the checksum of the content

What the clerks left on their table is in `desk/`.
"""
CLERKS = """\
Clerks' table

Lunch money is in the tin. Names typed by the night shift begin with the date in the order day, month, year.
The shredder wants oil, do not use it before Thursday.
"""
FOLDERS = ("01-front", "02-post", "03-phone", "04-court", "05-bank", "06-tenants", "07-works", "08-misc")
KINDS = ("invoice", "lease", "survey", "letter", "permit", "receipt", "minutes", "offer", "claim", "plan")


def make(name, *, folders, plain=0, night=0, twice=0, same=0, inside=0, undated=0, prose=0):
    r = seeded(name)
    gold = Gold(f"{name}:")
    gold.view("tree", "tree", "archive", ["path", "sha256"], "sha256")
    gold.view("manifest", "csv", "manifest.csv", ["old", "new", "sha256"], "old", ["old"])
    places = FOLDERS[:folders]
    files, planned, calls, taken, turn = {}, [], [], set(), 0

    def body(kind, extra=""):
        lines = [f"{kind.upper()}  no. {r.randint(1000, 9999)}", extra, f"{r.choice(FIRST)} {r.choice(LAST)}, {r.choice(TOWNS)}",
                 f"Re: {r.choice(KINDS)} of {r.choice(TOWNS)}, page 1 of {r.randint(1, 9)}"]
        return "\n".join(line for line in lines if line) + f"\nscan {r.randrange(16**8):08x}\n"

    def title():
        while True:
            words = [r.choice(KINDS), r.choice(TOWNS if r.random() < 0.5 else LAST[:20])]
            if r.random() < 0.4:
                words.append(str(r.randint(2, 60)))
            text = " ".join(words)
            if text not in taken:
                taken.add(text)
                return text, words[0], "-".join(words).lower()

    def put(old, content, new, group):
        files[old] = content
        planned.append((old, new, content, group))

    def folder():
        nonlocal turn
        turn += 1
        return places[turn % len(places)]

    def named(d, text, way):
        joined = text.replace(" ", r.choice((" ", "_", "-")))
        return (f"{iso(d)} {joined}", f"{d[0]}{d[1]:02d}{d[2]:02d}_{joined}", f"{joined} {iso(d)}")[way]

    for _ in range(plain):
        text, kind, slug = title()
        d = day(r)
        put(f"inbox/{folder()}/{named(d, text, r.randrange(3))}.txt", body(kind), f"archive/{d[0]}/{iso(d)}_{slug}.txt", "plain")
    for _ in range(night):
        text, kind, slug = title()
        d = day(r)
        put(f"inbox/{folder()}/{d[2]:02d}-{d[1]:02d}-{d[0]} {text}.txt", body(kind), f"archive/{d[0]}/{iso(d)}_{slug}.txt", "night")
    for _ in range(twice):
        text, kind, slug = title()
        d = day(r)
        content = body(kind)
        olds = sorted(f"inbox/{folder()}/{stem}.txt" for stem in (named(d, text, 0), named(d, text + " copy", 2)))
        right = f"archive/{d[0]}/{iso(d)}_{slug + ('-copy' if 'copy' in olds[0] else '')}.txt"
        for old in olds:
            put(old, content, right, "twice")
    for _ in range(same):
        text, kind, slug = title()
        d = day(r)
        olds = sorted(f"inbox/{folder()}/{named(d, text, i)}.txt" for i in (0, 1))
        for number, old in enumerate(olds, 1):
            put(old, body(kind), f"archive/{d[0]}/{iso(d)}_{slug}{'' if number == 1 else '-2'}.txt", "same")
    for _ in range(inside):
        text, kind, slug = title()
        d = day(r)
        put(f"inbox/{folder()}/{text.replace(' ', '_')}.txt", body(kind, f"Date: {iso(d)}"), f"archive/{d[0]}/{iso(d)}_{slug}.txt", "inside")
    for _ in range(undated):
        text, kind, _ = title()
        old = f"inbox/{folder()}/{text}.txt"
        files[old] = body(kind)
        gold.undecided("undated", "manifest", old)
    for _ in range(prose):
        text, kind, slug = title()
        d = day(r)
        put(f"inbox/{folder()}/{text}.txt", body(kind), f"archive/{d[0]}/{iso(d)}_{slug}.txt", "prose")
        calls.append(f"The {text} has no day on it; I was there, it was on {d[2]}.{d[1]}. in {d[0]}.")
    seen = set()
    for old, new, content, group in planned:
        checksum = hashlib.sha256(content.encode()).hexdigest()
        gold.add("manifest" if group in ("plain", "inside", "night") else "manifest-" + group, "manifest", [old, new, checksum])
        if checksum not in seen:
            seen.add(checksum)
            gold.add(group, "tree", [new.removeprefix("archive/"), checksum])
    files["desk/clerks.txt"] = CLERKS
    if calls:
        files["desk/remembered.txt"] = "\n".join(calls) + "\n"
    return files, gold


INTRO = "Points are decided by checks that compare the archive and the manifest with gold.json, in groups by what a file's name and content say."


def columns(points):
    return Item(points, "The manifest has the requested columns in order and most files in it.",
                [("columns", points, "the manifest has the requested columns and most files", "header manifest")])


def draft_items():
    return [
        Item(46, "Papers with a plain name lie in the archive under the right path.",
             tiers("plain", "plain", "the plainly named papers", (26, 0.5), (20, 0.95))),
        columns(8),
        Item(18, "The manifest names old path, new path and checksum truly.",
             tiers("listed", "manifest", "the listed papers", (18, 0.75))),
        Item(14, "Papers named by the night shift lie under their day.", tiers("night", "night", "the papers of the night shift", (14, 0.9))),
        Item(14, "Papers that would get one path both survive.", tiers("both", "same", "the papers with one path", (14, 0.9))),
    ]


def final_items():
    return [
        Item(24, "Papers with a plain name lie in the archive under the right path.",
             tiers("plain", "plain", "the plainly named papers", (12, 0.5), (12, 0.95))),
        columns(6),
        Item(10, "The manifest names old path, new path and checksum truly.",
             tiers("listed", "manifest", "the listed papers", (10, 0.6))),
        Item(8, "Papers named by the night shift lie under their day.", tiers("night", "night", "the papers of the night shift", (8, 0.9))),
        Item(12, "One content is archived once, however often it was scanned.", tiers("once", "twice", "the papers scanned twice", (12, 0.9))),
        Item(12, "Papers that would get one path both survive.", tiers("both", "same", "the papers with one path", (12, 0.9))),
        Item(12, "Papers whose name has no day lie under the day written in them.", tiers("inside", "inside", "the papers with a day inside", (12, 0.9))),
        Item(10, "Papers without any day are set aside as STANDARD.md says.",
             [("aside", 10, "at least 80 % of the undated papers are set aside", "exceptions undated 0.8")]),
        Item(6, "Papers whose day somebody remembered lie under it.", tiers("remembered", "prose", "the remembered papers", (6, 0.9))),
    ]


def scans():
    made = []
    for name, items, standard, counts in (
        ("scans-draft", draft_items, STANDARD, dict(folders=4, plain=28, night=5, same=3)),
        ("scans-files", draft_items, STANDARD, dict(folders=4, plain=44, night=8, same=4)),
        ("scans-final", final_items, STANDARD, dict(folders=7, plain=28, night=6, twice=5, same=5, inside=8, undated=6, prose=2)),
    ):
        files, gold = make(name, **counts)
        made.append(Revision(TEXT, files, gold, items(), INTRO, standard))
    return made
