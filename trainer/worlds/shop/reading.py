"""How the shop's executors read a skill: sentence by sentence, any wording, into steps (CURATION 2c).

A step is recognised by what a sentence says, so skills of a person, of a model and of the phrase policy work alike.
What can't be read as a step is vague; what names a brand, a color, a price or a kind of product is too specific; both
make an executor trust the skill less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from core.skillrepo.skill import Skill
from core.strategy.shop.catalogue import BRANDS, CATEGORIES, COLORS

QUERY, SCAN, BACK, NEXT = "QUERY", "SCAN", "BACK", "NEXT"
FEATURES, COLOR, SIZE, PRICE, BUY = "FEATURES", "COLOR", "SIZE", "PRICE", "BUY"
BROWSING = (QUERY, SCAN, BACK, NEXT)
NEEDS = (FEATURES, COLOR, SIZE, PRICE)

_CHOOSE = r"\b(?:click|select|choos|pick|set|tick|mark)\w*\b[^.;]*?"
_CHECK = r"\b(?:check|compar|verif|confirm|make sure|mak|ensur|watch|see|look|read|test|reject|insist)\w*\b[^.;]*?"
PATTERNS: Mapping[str, str] = {
    QUERY: r"\b(?:search|query|type|enter|look up)\w*\b[^.;]*"
    r"\b(?:kind|attributes?|keywords?|adjectives?|noun|asked|wanted)\b",
    SCAN: r"\b(?:read|scan|skim|compar|check|go through|look at|look through)\w*\b[^.;]*?"
    r"\b(?:titles?|listings?|results?)\b|\bopen only\b",
    BACK: r"\b(?:go|click|step|head|turn|come)\w*\b[^.;]*?\bback\b|\bprev\b|\breturn\w* to the (?:results?|list)",
    NEXT: r"\bnext (?:result |results )?page\b|\bclick\w* next\b|\b(?:further|following|later) pages?\b|\bpage two\b",
    FEATURES: r"\bfeatures? (?:page|tab|section|list)\b"
    r"|\b(?:open|read|click|check|visit|look)\w*\b[^.;]*?\bfeatures?\b",
    COLOR: _CHOOSE + r"\bcolou?rs?\b|" + _CHOOSE + r"\b(?:every|each|all)\b[^.;]*?\boptions?\b",
    SIZE: _CHOOSE + r"\bsizes?\b|" + _CHOOSE + r"\b(?:every|each|all)\b[^.;]*?\boptions?\b",
    PRICE: _CHECK + r"\b(?:price|cost|budget|limit)\b|\bprice\b[^.;]*\b(?:below|under|lower|within)\b",
    BUY: r"(?<!before )(?<!before you )(?<!until )(?<!without )\b(?:buy|purchase|order it|check out)\b",
}
_RULES = tuple((key, re.compile(pattern)) for key, pattern in PATTERNS.items())
_FORBIDS = re.compile(r"^(?:do not|don't|never|avoid|skip|no need to)\b")
_CONDITION = re.compile(r"\b(?:before|without|unless|until)\b")
_AFTER = re.compile(r"^(.+?)\b(?:after|once)\b(.+)$")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$")
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_ASIDE = re.compile(r"\b(?:not|avoid|never|when|example|scope|applies|overview|goal|purpose)\b")
_AMOUNT = re.compile(r"\$\s?\d|\b\d+(?:\.\d+)?\s?(?:dollars|usd|gb)\b|\bb0[a-z0-9]{8}\b|\b(?:search|click)\[")
_SENTENCE = re.compile(r"[.;!](?:\s+|$)")


@dataclass(frozen=True, slots=True)
class Reading:
    """What an executor gets out of a skill.

    `steps` in the order in which they are to be done, repeats kept; `vague` counts sentences that say nothing to do,
    `specific` counts names of single things, `lines` the sentences of its instructions.
    """

    steps: tuple[str, ...]
    vague: int
    specific: int
    lines: int

    def has(self, key: str) -> bool:
        return key in self.steps


@cache
def _names() -> re.Pattern[str]:
    """Return a pattern of everything that is one thing only: kinds, brands, colors, sizes, features."""
    names: list[str] = [*(brand.lower() for brand in BRANDS), *COLORS]
    for category in CATEGORIES:
        names += [*category.train, *category.test, *category.features, *category.attributes]
        names += [size for size in category.sizes if size not in ("standard", "single")]
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(r"\b(?:" + "|".join(re.escape(name) for name in longest_first) + r")\b")


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of single things that a text holds, in order."""
    return tuple(_names().findall(text.lower()))


def specifics(text: str) -> int:
    """Count the names of single things and amounts in a text."""
    return len(names_in(text)) + len(_AMOUNT.findall(text.lower()))


def sentence_steps(sentence: str) -> tuple[str, ...]:
    """Return the steps that one sentence tells, in the order in which they are to be done."""
    said = sentence.strip().lower()
    if _FORBIDS.search(said) and not _CONDITION.search(said):
        return ()
    if said.startswith(("after ", "once ")):
        said = said.split(" ", 1)[1]
    elif turned := _AFTER.match(said):
        said = f"{turned.group(2)}, {turned.group(1)}"
    found: list[tuple[int, int, str]] = []
    for place, (key, pattern) in enumerate(_RULES):
        match = pattern.search(said)
        if match:
            found.append((match.end(), place, key))
    keys = [key for _, _, key in sorted(found)]
    if _FORBIDS.search(said) and BUY in keys:  # "never buy before ...": the checks count, the purchase doesn't
        keys.remove(BUY)
    return tuple(keys)


def sentences(body: str) -> Iterator[tuple[str, bool]]:
    """Yield each sentence of a body and whether it stands aside: under a heading like "When NOT to use"."""
    aside = False
    for raw in body.splitlines():
        line = _BULLET.sub("", raw.strip())
        if heading := _HEADING.match(line):
            aside = bool(_ASIDE.search(heading.group(1).lower()))
            continue
        for sentence in _SENTENCE.split(line):
            if len(sentence.split()) > 1:
                yield sentence, aside


@lru_cache(maxsize=50_000)
def _read(body: str) -> Reading:
    steps: list[str] = []
    vague = specific = lines = 0
    for sentence, aside in sentences(body):
        specific += specifics(sentence)
        if not aside:
            told = sentence_steps(sentence)
            steps += told
            lines += 1
            vague += not told
    return Reading(tuple(steps), vague, specific, lines)


def read(skill: Skill) -> Reading:
    """Return what an executor reads in a skill. Titles count too where they name single things."""
    reading = _read(skill.body)
    named = specifics(skill.title)
    return reading if not named else Reading(reading.steps, reading.vague, reading.specific + named, reading.lines)
