"""The same Case in other clothes: another id, other words, another order of columns."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
from pathlib import Path

# Every statement holds some of these.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "Write": ("Produce", "Make", "Prepare"),
    "wants": ("asks for", "needs"),
    "needs": ("would like", "asks for"),
    "with these columns in this order": ("with the following columns, in this order", "made of these fields, in order"),
    "sorted by": ("ordered by", "in the order of"),
    "one row per": ("one row for each", "a single row for every"),
    "one row for each": ("one row per", "a single row for every"),
    "number of": ("count of",),
    "sum of": ("total of",),
    "total of": ("sum of",),
    "two decimals": ("two decimal places",),
    "the earliest": ("the first", "the oldest"),
    "the latest": ("the last", "the most recent"),
    "what follows": ("the words behind",),
    "holds": ("contains", "keeps"),
    "people": ("persons",),
    "gets": ("receives",),
    "gives": ("names",),
    "Types:": ("Kinds:",),
    "several": ("many", "a number of"),
    "Several": ("Many", "A number of"),
    "before the season": ("ahead of the season",),
    "has to migrate": ("must move",),
    "have to migrate": ("must be migrated",),
    "Copy them into": ("Put copies of them into",),
    "left behind": ("did not take along",),
    "under whatever name": ("with any name that",),
}


def reword(statement: str, seed: int) -> str:
    """Return a statement in other words; what stands in backticks or quotes is kept."""
    rng = random.Random(seed)
    parts = re.split(r"(`[^`]+`|\"[^\"]+\")", statement)
    for at in range(0, len(parts), 2):
        for old, new in SYNONYMS.items():
            if old in parts[at] and rng.random() < 0.9:
                parts[at] = parts[at].replace(old, rng.choice(new))
    return "".join(parts)


def _permuted_csv(text: str, rng: random.Random) -> str:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    order = list(range(len(rows[0])))
    rng.shuffle(order)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[row[at] for at in order] for row in rows])
    return out.getvalue()


def _permuted_json(text: str, rng: random.Random) -> str:
    names = list(json.loads(text.splitlines()[0]))
    rng.shuffle(names)
    rows = [json.loads(line) for line in text.splitlines()]
    return "".join(json.dumps({name: row[name] for name in names}, ensure_ascii=False) + "\n" for row in rows)


def permute_columns(statement: Path, seed: int) -> int:
    """Give every table and record file of a statement another order of columns; return how many were changed.

    A mapping's columns mean something by their place and stay.
    """
    changed = 0
    for path in sorted(statement.rglob("*")):
        rng = random.Random(f"{seed} {path.suffix}")
        text = path.read_text(encoding="utf-8") if path.suffix in (".csv", ".jsonl") else ""
        if not text or path.name == "mapping.csv":
            continue
        path.write_text((_permuted_csv if path.suffix == ".csv" else _permuted_json)(text, rng), encoding="utf-8")
        changed += 1
    return changed


def dressed(case: Path, root: Path, seed: int, *, columns: bool = False, words: bool = False) -> Path:
    """Return a copy of a Case under another id below `root`, reworded or with its columns in another order."""
    copy = root / f"CASE-9{seed:02d}-{'columns' if columns else 'words' if words else 'name'}"
    shutil.copytree(case, copy)
    if columns:
        permute_columns(copy / "statement", seed)
    if words:
        readme = copy / "statement" / "README.md"
        before = readme.read_text(encoding="utf-8")
        after = reword(before, seed)
        assert after != before
        readme.write_text(after, encoding="utf-8")
    return copy
