"""The wordings that an executor understands: verbs and what they are about, by regular expression."""

from __future__ import annotations

import re
from enum import StrEnum

from trainer.worlds.household.things import LIES_ON, PLACES


class Meaning(StrEnum):
    """What an instruction makes the executor do."""

    SEARCH = "SEARCH"  # place by place, none twice, open surfaces first
    OPEN = "OPEN"  # closed receptacles before passing on
    TAKE = "TAKE"
    CLEAN = "CLEAN"
    HEAT = "HEAT"
    COOL = "COOL"
    LAMP = "LAMP"
    GOTO = "GOTO"  # to the destination
    PUT = "PUT"
    REPEAT = "REPEAT"  # for the second object
    VERIFY = "VERIFY"


META = frozenset({Meaning.SEARCH, Meaning.OPEN, Meaning.VERIFY})
"""Meanings that belong to no family; a skill of these alone is a meta skill."""


SLOT = re.compile(r"[{<\[](\w+)[}>\]]")
"""A slot of a command, `{object}` or `<target_receptacle>`; it is read as "the object", "the target receptacle"."""
SPELLINGS = {
    "refrigerator": "fridge",
    "sink basin": "sinkbasin",
    "desk lamp": "desklamp",
    "dining table": "diningtable",
    "coffee table": "coffeetable",
    "side table": "sidetable",
    "counter top": "countertop",
    "garbage can": "garbagecan",
    "trash can": "garbagecan",
    "coffee machine": "coffeemachine",
    "stove burner": "stoveburner",
    "remote control": "remotecontrol",
    "credit card": "creditcard",
    "cell phone": "cellphone",
    "alarm clock": "alarmclock",
    "in/on": "in",
    "’": "'",
}
NO_INSTRUCTION = re.compile(
    r"\b(?:not to use|don't use|when not|pitfalls?|mistakes?|avoid|anti-?patterns?|warnings?|examples?|provenance)\b",
    re.IGNORECASE,
)
LONGEST_SENTENCE = 300
"""Characters of a sentence that are read: nobody follows more, and a pattern's work grows with the cube of it."""
SENTENCE = re.compile(r"(?<=[.;!?])\s+|\s+(?:->|=>|→)\s+")
CLAUSE = re.compile(r",?\s+and then\s+|,\s*then\s+|\s+then\s+|,?\s+and\s+|,\s+|:\s+")
MARKER = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|step \d+[:.]|\[[ x]\])\s*", re.IGNORECASE)
NEGATION = re.compile(
    r"\b(?:do not|don't|never|not|without|avoid|instead of|rather than|no need|forgetting|forget to|unless|before)\b"
)
REMIND = re.compile(r"\b(?:do not|don't|never) (?:forget|fail|neglect) to\b")
LEADING = re.compile(r"^(?:if|when(?:ever)?|where|in case|for)\b(?P<what>[^,:]{2,90})[,:]\s*(?P<rest>.+)$")
TRAILING = re.compile(r"^(?P<rest>.+?),?\s+(?:if|when(?:ever)?|in case)\s+(?P<what>.{2,90})$")
BEFORE = re.compile(r"^before (?P<last>[^,]+),\s*(?P<first>.+)$")
AFTER = re.compile(r"^(?P<last>.+?),?\s+(?:only )?(?:after|once) (?P<first>[^,]+)$")
BOUND = (
    ("clean", re.compile(r"\b(?:clean\w*|wash\w*|rinsed?)\b")),
    ("heat", re.compile(r"\b(?:hot|heat\w*|warm\w*)\b")),
    ("cool", re.compile(r"\b(?:cool\w*|cold|chill\w*)\b")),
    ("two", re.compile(r"\b(?:two|both|several|second|pair)\b")),
    ("look", re.compile(r"\b(?:light|lamp|desklamp|examine)\b")),
)

_IT = r"(?:it|them|this|that|the|an?|each|every|any|both|one|object|objects|item|items|what|whatever|your|its)"
_ADJECTIVE = r"(?<!\ba )(?<!\bthe )(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bput )(?<!\bplace )(?<!\bsome )(?<!\bnow )"
_WHERE = (
    r"\b(?:receptacles?|surfaces?|locations?|containers?|places?|spots?|rooms?|cabinets?|drawers?|shel(?:f|ves)|"
    r"furniture|storage|counter\w*|areas?)\b"
)
_SEEK = (
    r"\b(?:search|check|look (?:in|into|inside|through|around|at|over)|visit|inspect|explore|scan|go through|go over|"
    r"examine|try|sweep|work through|walk through|prioriti[sz])\w*\b"
)
_EACH = (
    r"\b(?:every|each|all|one by one|one after another|systematic\w*|in turn|unvisited|unchecked|unsearched|unexplored|"
    r"not (?:yet )?(?:been )?(?:visited|checked|searched|seen|looked)|once|twice|revisit\w*|methodical\w*|"
    r"exhaustive\w*|remaining|until)\b"
)
_DESTINATION = (
    r"\b(?:destination|target (?:receptacle|location|place|spot|furniture|surface)|goal (?:receptacle|location|place)|"
    r"where (?:it|they|the \w+) (?:belongs?|must|should|has to|is to|needs? to|is wanted)|"
    r"(?:receptacle|place|location|spot|furniture) (?:that )?(?:the task|you were|is|was|it|named|given|asked|"
    r"mentioned|required|wanted|stated|in the task|of the task|from the task)|"
    r"(?:required|named|requested|wanted|final|stated|given) (?:receptacle|place|location|spot|furniture))"
)
_CLOSED_THING = r"(?:closed|shut|container|receptacle|cabinet|drawer|door|anything|whatever|lid)"

RULES: tuple[tuple[Meaning, re.Pattern[str]], ...] = (
    (
        Meaning.REPEAT,
        re.compile(
            r"\brepeat\b|\b(?:second|other|another) (?:object|one|item|copy|instance|piece|thing)\b|"
            r"\b(?:do|go through) (?:it|this|that|the same|all of (?:it|this)|these steps|the steps)\b.{0,20}"
            r"\b(?:again|twice)\b|"
            r"\bstart (?:over|again)\b|\bsame (?:again )?(?:for|with) the (?:second|other|next)\b|"
            r"\bfor the (?:second|other)$"
        ),
    ),
    (
        Meaning.LAMP,
        re.compile(
            r"\b(?:turn|switch|toggle|use|activate|light|examine|look|inspect)\w*\b.{0,40}"
            r"\b(?:desk ?lamp|lamp|light)\b|"
            r"\b(?:desk ?lamp|lamp|light)\b.{0,20}\bon\b|\b(?:turn|switch)(?:ing)? (?:it|this|that) on\b"
        ),
    ),
    (
        Meaning.CLEAN,
        re.compile(
            rf"{_ADJECTIVE}\bclean(?:ing)?\b.{{0,12}}\b(?:{_IT}|with|at|in|using|up)\b|\b(?:wash|rins|scrub)(?:e|ing)?\b|"
            r"\buse the sink(?:basin)?\b|\bhav(?:e|ing) (?:cleaned|washed|rinsed)\b"
        ),
    ),
    (
        Meaning.HEAT,
        re.compile(
            rf"{_ADJECTIVE}\b(?:heat|warm)(?:ing)?\b.{{0,12}}\b(?:{_IT}|with|at|in|using|up)\b|"
            r"\bmicrowave (?:it|them|the)\b|\b(?:make|get) (?:it|them|the \w+) (?:hot|warm)\b|\buse the microwave\b|"
            r"\bhav(?:e|ing) (?:heated|warmed)\b"
        ),
    ),
    (
        Meaning.COOL,
        re.compile(
            rf"{_ADJECTIVE}\b(?:cool|chill|refrigerat)(?:e|ing)?\b.{{0,12}}\b(?:{_IT}|with|at|in|using|down)\b|"
            r"\b(?:make|get) (?:it|them|the \w+) (?:cool|cold)\b|\buse the fridge\b|"
            r"\bhav(?:e|ing) (?:cooled|chilled)\b"
        ),
    ),
    (
        Meaning.TAKE,
        re.compile(
            r"\b(?:take|grab|collect|fetch|retrieve|acquire|obtain)\b "
            rf"(?!{_IT}(?: \w+)? (?:to|over|back|along|there)\b){_IT}\b|"
            rf"\bpick(?:ing)? (?:{_IT}(?: \w+)? )?up\b|\bpick (?:the|an?) (?:object|item)|"
            r"\b(?:take|get) hold of\b|\bget (?:it|one|the (?:object|item))\b(?! (?:to|into|in|hot|cold|cool|warm)\b)"
        ),
    ),
    (
        Meaning.GOTO,
        re.compile(
            rf"\b(?:go|walk|travel|head|navigate|move|proceed|carry|bring|take|return|deliver|transport|get|run|come)\b.*{_DESTINATION}"
        ),
    ),
    (
        Meaning.PUT,
        re.compile(
            rf"(?<!the )(?<!each )(?<!every )(?<!one )(?<!any )\b(?:put|place|drop|deposit|set|leave|store|lay)\b "
            rf"(?:{_IT}|down)\b|\bmove (?:it|them|the (?:object|item)) (?:to|into|in|onto|on)\b|"
            r"\bdeliver (?:it|them)\b|\bputting (?:it|them|the)\b"
        ),
    ),
)
SEARCHES = re.compile(
    rf"{_SEEK}.*{_EACH}.*{_WHERE}|{_SEEK}.*{_WHERE}.*{_EACH}|{_EACH}.*{_SEEK}.*{_WHERE}|"
    rf"systematic(?:ally)? search|search systematically|\bfor (?:each|every) (?:\w+ ){{0,2}}{_WHERE}|"
    r"\b(?:do not|don't|never|avoid) "
    rf"(?:re-?(?:visit|check|search|open)\w*|(?:go(?:ing)?|come|return\w*) (?:back )?to)\b.*{_WHERE}"
)
OPENS = re.compile(
    rf"\bopen(?:ing)?\b (?!surface|shel|counter|place|area|spot|ones\b|side).{{0,40}}?\b{_CLOSED_THING}|"
    r"\b(?:closed|shut) .{0,40}\b(?:has|have|must|needs?|should) (?:to )?(?:be )?opened\b"
)
OPENS_IT = re.compile(r"\bopen(?:ing)? (?:it|them|each|those|these|every one|any)\b")
CLOSED = re.compile(r"\bclosed\b|\bshut\b")
INTO_A_TOOL = re.compile(r"\b(?:in|into|inside|on|with) (?:the |a )?(?:microwave|fridge|sink|sinkbasin)\b")
"""Where an object is put to be changed, not to stay: an executor needs no such step."""
TO_DESTINATION = re.compile(_DESTINATION)
VERIFIES = re.compile(
    r"\b(?:verify|double-? ?check|confirm|make sure|ensure|check (?:that|whether|if)|re-?read|review|validate)\b"
)
VAGUE = re.compile(
    r"\b(?:careful\w*|care|attenti\w*|attention|efficien\w*|optimi\w*|best|smart\w*|think|thinking|focus\w*|patien\w*|"
    r"mindful|luck|remember|important|mind|ahead|quick\w*|precise\w*|thorough\w*|good|well|wise\w*|strateg\w*|improve\w*|"
    r"effort|calm|adapt\w*|appropriate\w*|proper\w*|as needed|necessary)\b"
)
OBJECT = re.compile(rf"\b(?P<name>{'|'.join(sorted(LIES_ON, key=len, reverse=True))})(?:s|es)?\b(?: (?P<number>\d+))?")
PLACE = re.compile(rf"\b(?P<name>{'|'.join(sorted(PLACES, key=len, reverse=True))}|sink)\b(?: (?P<number>\d+))?")
ANY_PLACE = re.compile(r"\b(?:a|an|any|each|every|some|another|closed|or)\s+$")
NOT_A_THING = re.compile(r"\bwatch (?:out|for)\b|\bsafe (?:to|way|side|and)\b|\b(?:is|be) safe\b|\bpot(?:ential)\b")


def patterns() -> tuple[str, ...]:
    """Return every pattern that a reading depends on, for the world's fingerprint."""
    single = (
        SLOT, NO_INSTRUCTION, SENTENCE, CLAUSE, MARKER, NEGATION, REMIND, LEADING, TRAILING, BEFORE, AFTER, SEARCHES,
        OPENS, OPENS_IT, CLOSED, INTO_A_TOOL, VERIFIES, VAGUE, OBJECT, PLACE, ANY_PLACE, NOT_A_THING, TO_DESTINATION,
    )  # fmt: skip
    return (
        f"{LONGEST_SENTENCE}",
        *(pattern.pattern for pattern in single),
        *(f"{spelled} {name}" for spelled, name in SPELLINGS.items()),
        *(f"{family} {pattern.pattern}" for family, pattern in BOUND),
        *(f"{meaning.value} {pattern.pattern}" for meaning, pattern in RULES),
    )
