"""Which names an archive member may have. Pure; the same rule for what is read and what is written."""

from __future__ import annotations

import re
import unicodedata

NAME_BYTES = 255  # of one component, the limit of the common file systems
PATH_BYTES = 2048
DEPTH = 40

_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Shown as nothing, so two names that differ by them look alike (and are alike to some file systems).
_IGNORABLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")


def normal(name: str) -> str:
    """Return `name` without a trailing slash, doubled slashes and `.` components; "" for the root itself."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def fault(name: str) -> str | None:
    """Return what is wrong with a member's name as the archive writes it, or None."""
    if name.startswith("/"):
        return "an absolute path"
    parts = normal(name).split("/")
    if ".." in parts:
        return "a path that climbs out (..)"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name) or _REORDERING.search(name):
        return "control characters in the name"
    if "\\" in name:
        return "a backslash in the name"
    if len(parts) > DEPTH or len(name.encode("utf-8")) > PATH_BYTES:
        return "a path that is too long or too deep"
    if any(len(part.encode("utf-8")) > NAME_BYTES for part in parts):
        return "a name that is too long"
    return None


def twin_key(name: str) -> str:
    """Return what two names share where some file system, or an eye, takes them for one.

    Case and composed or decomposed accents fall together, as do characters that are not seen.
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", _IGNORABLE.sub("", name)).casefold())


class Twins:
    """Finds names that would collide. Invariant: every path and parent seen so far has one spelling by key."""

    def __init__(self) -> None:
        self._spelling: dict[str, str] = {}

    def other(self, name: str) -> str | None:
        """Remember `name` and its parents; return an earlier path that one of them collides with, or None."""
        parts = name.split("/")
        for length in range(len(parts), 0, -1):
            path = "/".join(parts[:length])
            first = self._spelling.setdefault(twin_key(path), path)
            if first != path:
                return first
        return None
