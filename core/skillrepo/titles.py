"""Titles of skills: what one may be, when two are the same, and the folder name a title gets (CURATION 1.1, 2c).

A title is free text of one line. Two titles that differ only in case, spacing or punctuation are one skill to a
reader, so they collide: otherwise a fresh spelling of an old title would always be a valid insert (CURATION 2c,
finding 5).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

TITLE_LIMIT = 64
"""Characters of a title at most; agentskills.io has the same limit for names."""

_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_WORD = re.compile(r"[^\W_]+")
_FOLDER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")


def title_problem(title: str) -> str:
    """Return why `title` can't be a title, in half a sentence; empty where it can."""
    if not title.strip():
        return "the title is empty"
    if len(title) > TITLE_LIMIT:
        return f"the title has {len(title)} characters; at most {TITLE_LIMIT}"
    if _UNFIT.search(title):
        return "the title holds a control character or a line end"
    if title != title.strip():
        return "the title begins or ends with white space"
    if not slug(title):
        return "the title has no word in it"
    return ""


@lru_cache(maxsize=65_536)
def slug(title: str) -> str:
    """Return the words of `title`, lower case, joined by '-': titles with the same slug collide."""
    folded = title if title.isascii() else unicodedata.normalize("NFKC", title)
    return "-".join(_WORD.findall(folded.lower()))


def folder_name(title: str) -> str:
    """Return the name of the folder that holds the skill: its slug where agentskills.io allows it as a name.

    A title in other letters gets the ASCII part of its slug, if any, and eight digits of its hash: still one name for
    one slug.
    """
    name = slug(title)
    if _FOLDER.match(name) and len(name) <= TITLE_LIMIT:
        return name
    plain = re.sub(r"-+", "-", re.sub(r"[^a-z0-9]+", "-", unicodedata.normalize("NFKD", name))).strip("-")
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[:40].strip('-') or 'skill'}-{mark}"
