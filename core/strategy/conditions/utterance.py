"""What a user said, in one form: the only place where utterances are normalised (STRATEGY S19).

"How to?" and "how to" are the same question; stored, compared and searched is the normal form.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

MOST_CHARACTERS = 4_000
"""A longer utterance is cut: what a condition looks for stands in a sentence, not in a pasted log."""
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,](?=\d)")
_DROPPED = frozenset("'\u2019\u02bc`")
_JOINED_SCRIPTS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Letters of scripts that put no space between words (Thai, Lao, Burmese, Khmer, Kana, Han) or none that tell words
apart from their endings (Hangul)."""


@lru_cache(maxsize=8192)
def normal(text: str) -> str:
    """Return `text` in lower case, without punctuation and symbols, words apart by one space.

    A point or comma between digits stays, an apostrophe falls away without leaving a gap ("don't" is "dont"). Given
    a text that is normal, it returns the same text.
    """
    folded = text[:MOST_CHARACTERS]
    for _ in range(2):  # folding a case may decompose, composing may bring a case back
        folded = unicodedata.normalize("NFKC", folded.casefold())
    kept = {match.start() for match in _BETWEEN_DIGITS.finditer(folded)}
    return " ".join("".join(_shown(folded, at, kept) for at in range(len(folded))).split())


def _shown(text: str, at: int, kept: set[int]) -> str:
    sign = text[at]
    kind = unicodedata.category(sign)
    if at in kept:
        return sign
    if sign in _DROPPED or (kind[0] == "C" and not sign.isspace()):
        return ""
    return " " if kind[0] in "PSZ" or sign.isspace() else sign


def holds(text: str, phrase: str) -> bool:
    """Return whether `text` has `phrase` as whole words, both brought to the normal form.

    A phrase that ends in `*` may go on: "refund*" is found in "refunded". In scripts that don't part words by spaces
    any place counts. An empty phrase is in no text.
    """
    return _found(normal(text), *_wanted(phrase))


def holds_any(text: str, phrases: Iterable[str]) -> bool:
    """Return whether `text` has one of the phrases, as `holds` does."""
    said = normal(text)
    return any(_found(said, *_wanted(phrase)) for phrase in phrases)


@lru_cache(maxsize=8192)
def _wanted(phrase: str) -> tuple[str, bool]:
    return normal(phrase), phrase.rstrip().endswith("*")


def _found(said: str, wanted: str, ends_anywhere: bool) -> bool:
    at = said.find(wanted) if wanted else -1
    while at >= 0:
        after = at + len(wanted)
        begins = at == 0 or _parted(said[at - 1], said[at])
        if begins and (ends_anywhere or after == len(said) or _parted(said[after - 1], said[after])):
            return True
        at = said.find(wanted, at + 1)
    return False


def _parted(left: str, right: str) -> bool:
    if left == " " or right == " ":
        return True
    return bool(_JOINED_SCRIPTS.match(left) or _JOINED_SCRIPTS.match(right))
