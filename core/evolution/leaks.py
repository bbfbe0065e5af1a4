"""Does a public text give a private one away? (EVOLUTION 3.2 no. 22; DECISIONS 17)

A run of eight words or forty characters that stands in a rubric and in a file that others see is a finding,
unless the Case declared the text as shared material. Numbers and file names are shared all the time; runs of
that length are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

WORD_RUN = 8
CHARACTER_RUN = 40
_SCAN_LIMIT = 4 << 20  # bytes of one file; what lies beyond is data, not prose
_WORD = re.compile(r"\w+", re.UNICODE)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Leak:
    """A shared run: where it stands on both sides and what it is (cut to 120 characters)."""

    public: str
    private: str
    text: str


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _collapsed(text: str) -> str:
    return _SPACE.sub(" ", text).strip().casefold()


def _word_runs(text: str) -> Iterator[str]:
    words = _words(text)
    for start in range(len(words) - WORD_RUN + 1):
        yield " ".join(words[start : start + WORD_RUN])


def _shared_words(public: str, private: str) -> str | None:
    private_runs = set(_word_runs(private))
    return next((run for run in _word_runs(public) if run in private_runs), None) if private_runs else None


def _shared_characters(public: str, private: str) -> str | None:
    """Return a run of CHARACTER_RUN characters that both hold.

    Blocks of half the length taken at half-length steps from the private text are looked up first, so that a
    long public file is scanned by substring search and not character by character.
    """
    half = CHARACTER_RUN // 2
    if len(private) < CHARACTER_RUN or len(public) < CHARACTER_RUN:
        return None
    for start in range(0, len(private) - half + 1, half):
        block = private[start : start + half]
        at = public.find(block)
        while at != -1:
            left = 0
            while left < min(start, at) and private[start - left - 1] == public[at - left - 1]:
                left += 1
            right = half
            limit = min(len(private) - start, len(public) - at)
            while right < limit and private[start + right] == public[at + right]:
                right += 1
            if left + right >= CHARACTER_RUN:
                return private[start - left : start + right]
            at = public.find(block, at + 1)
    return None


def shared_run(public: str, private: str, declared: Iterable[str] = ()) -> str | None:
    """Return a run both texts share, or None. Text in `declared` is taken out of the private side first."""
    remaining = private
    for text in declared:
        if text.strip():
            remaining = re.sub(r"\s+".join(re.escape(word) for word in text.split()), "\n", remaining)
    return _shared_words(public, remaining) or _shared_characters(_collapsed(public), _collapsed(remaining))


def scan(public: Mapping[str, str], private: Mapping[str, str], declared: Iterable[str] = ()) -> tuple[Leak, ...]:
    """Compare every public text with every private one; both map a name to its text."""
    material = tuple(declared)
    return tuple(
        Leak(public_name, private_name, run[:120])
        for public_name, public_text in public.items()
        for private_name, private_text in private.items()
        if (run := shared_run(public_text, private_text, material)) is not None
    )


def texts_of(directory: Path) -> dict[str, str]:
    """Return the UTF-8 text files below `directory` by relative path; what is binary holds no prose."""
    texts: dict[str, str] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            raw = file.read(_SCAN_LIMIT)
        if b"\0" in raw:
            continue
        texts[path.relative_to(directory).as_posix()] = raw.decode("utf-8", errors="replace")
    return texts
