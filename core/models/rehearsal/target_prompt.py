"""What the rehearsal Target finds in its system prompt: procedures of AGENTS.md, and the skills at hand.

The prompt's layout belongs to each agent's own template, so the reader holds on to little: a heading and the
fenced `sh` blocks below it, and list entries that name a path ending in SKILL.md.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

BEFORE_START = "before you start"
BEFORE_FINISH = "before you finish"
PROCEDURE = "procedure"

_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^\s{0,3}```\s*(\w*)")
_SKILL_PATH = re.compile(r"[^\s`\"'<>(),\[\]]+/SKILL\.md")
_ENTRY = re.compile(r"^\s*(?:[-*]\s|<skill\b|name:|#{2,6}\s|\d+\.\s)")
_WORD = re.compile(r"[a-z]+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by each for from in into is it its no of on one or that the there this to was with "
        "you your write file files what which when where use not up their other whatever new old type typed "
        # words of nearly every chore: they tell no skill from another
        "csv json table row rows column columns list text line lines number order ordered sorted value values",
    )
)
_K1, _B = 1.5, 0.75  # the usual Okapi BM25 constants
MIN_TERMS = 3  # a skill that shares fewer words with the task does not speak of it


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """An installed skill as the prompt names it: what it says of itself, and where its SKILL.md is."""

    text: str
    path: str


def blocks(text: str, heading: str) -> tuple[str, ...]:
    """Return the fenced `sh` blocks below every heading that reads `heading`, in order.

    A section ends at the next heading of its own or a higher level. Fences hide headings, so that a comment in
    a script ends nothing.
    """
    found: list[str] = []
    level = 0
    script: list[str] | None = None
    fenced = False
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fenced:
            if fence and not fence[1]:
                fenced = False
                if script is not None:
                    found.append("\n".join(script))
                    script = None
            elif script is not None:
                script.append(line)
            continue
        if fence:
            fenced = True
            script = [] if level and fence[1] in {"sh", "bash", "shell"} else None
            continue
        title = _HEADING.match(line)
        if title:
            if title[2].lower().rstrip(":") == heading:
                level = len(title[1])
            elif level and len(title[1]) <= level:
                level = 0
    return tuple(found)


def skills(system_prompt: str) -> tuple[SkillEntry, ...]:
    """Return the skills that the prompt lists: each entry that names a path of a SKILL.md."""
    entries: list[list[str]] = []
    for line in system_prompt.splitlines():
        if _ENTRY.match(line) or not entries:
            entries.append([line])
        else:
            entries[-1].append(line)
    found: dict[str, SkillEntry] = {}
    for lines in entries:
        text = "\n".join(lines)
        path = _SKILL_PATH.search(text)
        if path is not None and path[0] not in found:
            name = path[0].split("/")[-2]
            found[path[0]] = SkillEntry(f"{name} {text[: path.start()]}", path[0])
    return tuple(found.values())


def _stem(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _terms(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP and len(word) > 1]


def most_relevant(statement: str, entries: Sequence[SkillEntry]) -> SkillEntry | None:
    """Return the skill that speaks most of the work at hand, by BM25 of the statement over the entries' texts.

    The weight of a term never falls below that of a term half the entries hold, so that a lone skill can be
    found. None where none shares MIN_TERMS words with it; ties go to the first path.
    """
    query = set(_terms(statement))
    if not entries:
        return None
    documents = [Counter(_terms(entry.text)) for entry in entries]
    average = sum(sum(document.values()) for document in documents) / len(documents) or 1.0

    def score(document: Counter[str]) -> float:
        length = sum(document.values())
        total = 0.0
        for term in sorted(query & document.keys()):
            holders = sum(term in other for other in documents)
            weight = max(math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5)), math.log(2))
            count = document[term]
            total += weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / average))
        return total

    ranked = sorted(
        (
            (entry, score(document))
            for entry, document in zip(entries, documents, strict=True)
            if len(query & document.keys()) >= MIN_TERMS
        ),
        key=lambda pair: (-round(pair[1], 9), pair[0].path),
    )
    return ranked[0][0] if ranked else None
