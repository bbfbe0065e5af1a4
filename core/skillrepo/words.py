"""The words that retrieval sees: lower-case Unicode words, Chinese, Japanese and Korean as bigrams (DECISIONS 24)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_IS_CJK = re.compile(f"[{_CJK}]")


@lru_cache(maxsize=4_096)
def words(text: str) -> tuple[str, ...]:
    """Return the words of `text` in order, with repeats; remembered, since one task asks many repositories."""
    return tuple(split_words(text))


def split_words(text: str) -> list[str]:
    """Return what `words` returns, for a text that is read once.

    A run of CJK characters, which has no spaces between words, gives its overlapping pairs (a single one itself).
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if _IS_CJK.match(word) and len(word) > 1:
            found.extend(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.append(word)
    return found
