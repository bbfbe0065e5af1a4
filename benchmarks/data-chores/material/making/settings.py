"""CASE-003: the settings of a pump controller move to a new layout."""
import json

from .common import STANDARD, Gold, Item, Revision, csv_text, seeded, tiers

TEXT = """\
# Settings of the pump controller

The controller gets a new release. Its settings have to migrate from `controller.ini` to `settings.json`.

`mapping.csv` gives for each old key (written section.key) the new one and its type; dots in a new key part the levels
of nested JSON objects. Types: int, text, bool (true or false), list (parted by commas in the old file), seconds (a
JSON number).{more}
"""
FITTERS = """\
Fitters' notes, north station

Bring a torch, the light in the cabinet is broken.
Durations without a unit are minutes in this old release, the maker never wrote that down anywhere.
The spare fuse is taped under the lid.
"""
SECTIONS = ("inlet", "outlet", "governor", "alarm", "radio", "valves", "history", "panel", "heater", "backup", "modem", "sensors")
NOUNS = ("limit", "level", "rate", "window", "delay", "retry", "label", "mode", "target", "band", "buffer", "channel", "group", "trim")
ADJECTIVES = ("max", "min", "warm", "cold", "night", "day", "first", "last", "spare", "local", "remote", "idle", "peak")
WORDS = ("north", "south", "manual", "auto", "primary", "standby", "blue", "red", "open", "closed")


def make(name, *, plain=0, bare=0, spelled=0, overridden=0, unmapped=0, prose=0, comments=0):
    r = seeded(name)
    gold = Gold(f"{name}:")
    gold.view("main", "json", "settings.json", ["key", "value"], "key")
    taken = set()
    mapping, entries, sites, calls = [], {section: [] for section in SECTIONS}, {"site.d/10-region.ini": {}, "site.d/20-station.ini": {}}, []

    def fresh():
        while True:
            section, key = r.choice(SECTIONS), f"{r.choice(ADJECTIVES)}_{r.choice(NOUNS)}"
            if r.random() < 0.3:
                key += f"_{r.randint(2, 9)}"
            if (section, key) not in taken:
                taken.add((section, key))
                return section, key

    def value(kind):
        """Return (text in the old file, right value)."""
        if kind == "int":
            number = r.randint(1, 5000)
            return str(number), number
        if kind == "bool":
            on = r.random() < 0.5
            return ("true" if on else "false"), on
        if kind == "list":
            parts = r.sample(WORDS, r.randint(2, 4))
            return ", ".join(parts), parts
        word = r.choice(WORDS)
        return word, word

    def place(section, key, kind, right, group):
        new = f"{r.choice(('plant', 'station', 'io'))}.{section}.{key.replace('_', '-') if r.random() < 0.2 else key}"
        mapping.append((f"{section}.{key}", new, kind))
        if right is not None:
            gold.add(group, "main", [new, json.dumps(right, sort_keys=True, ensure_ascii=False)])

    for _ in range(plain):
        section, key = fresh()
        kind = r.choice(("int", "int", "text", "bool", "list"))
        text, right = value(kind)
        entries[section].append(f"{key} = {text}")
        place(section, key, kind, right, "plain")
    for _ in range(bare):
        section, key = fresh()
        number = r.randint(1, 90)
        entries[section].append(f"{key} = {number}")
        place(section, key, "seconds", number * 60, "bare")
    for i in range(spelled):
        section, key = fresh()
        if i % 3 == 0:
            kind = r.choice(("int", "text", "list"))
            text, right = value(kind)
            shown = r.choice((key.replace("_", " ").title(), key.upper(), key.replace("_", "-")))
            entries[section].append(f"{shown} = {text}")
        elif i % 3 == 1:
            kind, right = "bool", r.random() < 0.5
            entries[section].append(f"{key} = {r.choice(('yes', 'On', 'TRUE', '1')) if right else r.choice(('no', 'Off', 'FALSE', '0'))}")
            if not right:
                right = False
        else:
            kind, number, unit = "seconds", r.randint(2, 40), r.choice(("s", "h"))
            right = number * {"s": 1, "h": 3600}[unit]
            entries[section].append(f"{key} = {number}{r.choice(('', ' '))}{unit}   ; set {r.randint(2009, 2021)}")
        place(section, key, kind, right, "spelled")
    for i in range(overridden):
        section, key = fresh()
        kind = r.choice(("int", "text", "list"))
        old, _ = value(kind)
        middle, _ = value(kind)
        text, right = value(kind)
        entries[section].append(f"{key} = {old}")
        if i % 2:
            sites["site.d/10-region.ini"].setdefault(section, []).append(f"{key} = {middle}")
        sites["site.d/20-station.ini" if i % 2 or i % 3 else "site.d/10-region.ini"].setdefault(section, []).append(f"{key} = {text}")
        place(section, key, kind, right, "overridden")
    for i in range(unmapped):
        section, key = fresh()
        if i % 4 == 0:
            entries[section].append(f"{key} = {r.choice(('tbd', 'ask Milo', '??'))}")
            place(section, key, "int", None, "")
        else:
            entries[section].append(f"{key} = {value('int')[0]}")
        gold.undecided("homeless", "main", f"{section}.{key}")
    for _ in range(prose):
        section, key = fresh()
        number = r.randint(1000, 5000)
        entries[section].append(f"{key} = {r.randint(1, 900)}")
        place(section, key, "int", number, "prose")
        calls.append(f"Whatever the file says: since the rebuild the {key.replace('_', ' ')} of the {section} stands at {number}, leave it there.")
    for _ in range(comments):
        entries[r.choice(SECTIONS)].append(f"; {r.choice(('checked', 'was', 'see', 'old'))} {r.choice(WORDS)} {r.randint(2005, 2022)}")
    lines = ["; pump controller, release 2"]
    for section in SECTIONS:
        r.shuffle(entries[section])
        lines += ["", f"[{section}]", *entries[section]]
    r.shuffle(mapping)
    files = {"controller.ini": "\n".join(lines) + "\n", "mapping.csv": csv_text(("old_key", "new_key", "type"), mapping)}
    for path, content in sites.items():
        if any(content.values()):
            files[path] = "".join(f"[{section}]\n" + "\n".join(rows) + "\n\n" for section, rows in sorted(content.items()))
    if calls:
        files["fitters/rebuild.txt"] = "Rebuild\n\n" + "\n".join(calls) + "\n"
    return files, gold


INTRO = "Points are decided by checks that compare every key and value of the JSON file with gold.json, in groups by how the old entry was written."


def columns(points):
    return Item(points, "The file is JSON with most of the new keys in it.",
                [("keys", points, "the JSON file holds at least half of the new keys", "header main")])


def draft_items():
    return [
        columns(8),
        Item(62, "Plain entries have their new place and a value of the right type.",
             tiers("plain", "plain", "the plain entries", (32, 0.5), (30, 0.95))),
        Item(15, "Times are numbers of seconds.", tiers("times", "bare", "the times", (15, 0.9))),
        Item(15, "Entries spelled loosely are understood.", tiers("loose", "spelled", "the loosely spelled entries", (15, 0.9))),
    ]


def final_items():
    return [
        columns(8),
        Item(30, "Plain entries have their new place and a value of the right type.",
             tiers("plain", "plain", "the plain entries", (14, 0.5), (16, 0.95))),
        Item(12, "Times are numbers of seconds.", tiers("times", "bare", "the times", (12, 0.9))),
        Item(16, "Entries spelled loosely are understood.", tiers("loose", "spelled", "the loosely spelled entries", (16, 0.9))),
        Item(14, "The station's own values are in force where it has any.",
             tiers("station", "overridden", "the entries with a value of the station", (14, 0.9))),
        Item(14, "Entries without a place, or with a value that is none, are set aside as STANDARD.md says.",
             [("aside", 14, "at least 80 % of these entries are set aside", "exceptions homeless 0.8")]),
        Item(6, "What the rebuild fixed is in the new file.", tiers("rebuild", "prose", "the entries of the rebuild", (6, 0.9))),
    ]


def controller():
    made = []
    draft_more = " What the fitters wrote down is in `fitters/`."
    more = " The station keeps its own files in `site.d/`. What the fitters wrote down is in `fitters/`."
    for name, items, standard, text, counts in (
        ("controller-draft", draft_items, STANDARD, draft_more, dict(plain=170, bare=24, spelled=36, comments=60)),
        ("controller-final", final_items, STANDARD, more,
         dict(plain=110, bare=30, spelled=60, overridden=48, unmapped=28, prose=4, comments=90)),
    ):
        files, gold = make(name, **counts)
        files["fitters/notes.txt"] = FITTERS
        made.append(Revision(TEXT.format(more=text), files, gold, items(), INTRO, standard))
    return made
