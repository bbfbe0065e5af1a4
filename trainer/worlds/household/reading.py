"""How the frozen executors read a skill: each sentence by its words, in whatever wording it is written.

A skill's text is all that an executor gets, so a hand-written skill, a model's and the tiny policy's are read alike.
Reading is by rules: verbs and what they are about give the meanings of a clause; a clause that tells what *not* to do
gives none; a condition on the kind of task ("if it must be hot, ...") binds its sentence to that kind; a section such
as "When NOT to use" or "Pitfalls" is no instruction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from core.skillrepo.skill import Skill
from trainer.worlds.household.things import FAMILIES, LIES_ON, PLACES


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


@dataclass(frozen=True, slots=True)
class Instruction:
    """A meaning; `families` are the kinds of task it is bound to, empty where to none."""

    meaning: Meaning
    families: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a body as it was understood. `objects` and `places` are what it names beyond the general."""

    text: str
    instructions: tuple[Instruction, ...]
    vague: bool
    objects: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What a skill tells to do for tasks of one family, in order. `guides` where there is more than meta steps."""

    meanings: tuple[Meaning, ...]
    searches: bool
    opens: bool
    guides: bool

    @classmethod
    def of(cls, meanings: tuple[Meaning, ...]) -> Told:
        """Sum up the meanings."""
        guides = any(meaning not in META for meaning in meanings)
        return cls(meanings, Meaning.SEARCH in meanings, Meaning.OPEN in meanings, guides)


@dataclass(frozen=True, slots=True)
class Reading:
    """A skill as an executor understands it.

    `vague` counts lines that say nothing, `objects` and `places` those that name one (the title is a line here); the
    tool of a family that the skill serves is no such place.
    """

    title: str
    lines: tuple[Line, ...]
    instructions: tuple[Instruction, ...]
    told: Mapping[str, Told]  # by family
    vague: int
    objects: int
    places: int


_TOOL_OF = {Meaning.CLEAN: "sinkbasin", Meaning.HEAT: "microwave", Meaning.COOL: "fridge"}
_NO_INSTRUCTION = re.compile(
    r"\b(?:not to use|don't use|when not|pitfalls?|mistakes?|avoid|anti-?patterns?|warnings?|examples?|provenance)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\s+(?:->|=>|→)\s+")
_CLAUSE = re.compile(r",?\s+and then\s+|,\s*then\s+|\s+then\s+|,?\s+and\s+|,\s+|:\s+")
_MARKER = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|step \d+[:.]|\[[ x]\])\s*", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:do not|don't|never|not|without|avoid|instead of|rather than|no need|forgetting|forget to|unless|before)\b"
)
_REMIND = re.compile(r"\b(?:do not|don't|never) (?:forget|fail|neglect) to\b")
_LEADING = re.compile(r"^(?:if|when(?:ever)?|where|in case|for)\b(?P<what>[^,:]{2,90})[,:]\s*(?P<rest>.+)$")
_TRAILING = re.compile(r"^(?P<rest>.+?),?\s+(?:if|when(?:ever)?|in case)\s+(?P<what>.{2,90})$")
_BEFORE = re.compile(r"^before (?P<last>[^,]+),\s*(?P<first>.+)$")
_AFTER = re.compile(r"^(?P<last>.+?),?\s+(?:only )?(?:after|once) (?P<first>[^,]+)$")
_BOUND = (
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
    r"examine|try|sweep|work through|walk through)\w*\b"
)
_EACH = (
    r"\b(?:every|each|all|one by one|one after another|systematic\w*|in turn|unvisited|unchecked|unsearched|"
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

_RULES: tuple[tuple[Meaning, re.Pattern[str]], ...] = (
    (
        Meaning.REPEAT,
        re.compile(
            r"\brepeat\b|\b(?:second|other|another) (?:object|one|item|copy|instance|piece|thing)\b|"
            r"\b(?:do|go through) (?:it|this|that|the same|all of (?:it|this)|these steps|the steps)\b.{0,20}"
            r"\b(?:again|twice)\b|"
            r"\bstart (?:over|again)\b|\bsame (?:again )?(?:for|with) the (?:second|other|next)\b"
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
            rf"\b(?:take|grab|collect|fetch|retrieve)\b (?!{_IT}(?: \w+)? (?:to|over|back|along|there)\b){_IT}\b|"
            rf"\bpick(?:ing)? (?:{_IT}(?: \w+)? )?up\b|\bpick (?:the|an?) (?:object|item)|"
            r"\b(?:take|get) hold of\b|\bget (?:it|one|the (?:object|item))\b(?! (?:to|into|in|hot|cold|cool|warm)\b)"
        ),
    ),
    (
        Meaning.GOTO,
        re.compile(
            rf"\b(?:go|walk|travel|head|navigate|move|proceed|carry|bring|take|return|deliver|get|run|come)\b.*{_DESTINATION}"
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
_SEARCHES = re.compile(
    rf"{_SEEK}.*{_EACH}.*{_WHERE}|{_SEEK}.*{_WHERE}.*{_EACH}|{_EACH}.*{_SEEK}.*{_WHERE}|"
    r"systematic(?:ally)? search|search systematically"
)
_OPENS = re.compile(
    rf"\bopen(?:ing)?\b (?!surface|shel|counter|place|area|spot|ones\b|side).{{0,40}}?\b{_CLOSED_THING}|"
    r"\b(?:closed|shut) .{0,40}\b(?:has|have|must|needs?|should) (?:to )?(?:be )?opened\b"
)
_OPENS_IT = re.compile(r"\bopen(?:ing)? (?:it|them|each|those|these|every one|any)\b")
_VERIFIES = re.compile(
    r"\b(?:verify|double-? ?check|confirm|make sure|ensure|check (?:that|whether|if)|re-?read|review|validate)\b"
)
_VAGUE = re.compile(
    r"\b(?:careful\w*|care|attenti\w*|attention|efficien\w*|optimi\w*|best|smart\w*|think|thinking|focus\w*|patien\w*|"
    r"mindful|luck|remember|important|mind|ahead|quick\w*|precise\w*|thorough\w*|good|well|wise\w*|strateg\w*|improve\w*|"
    r"effort|calm|adapt\w*|appropriate\w*|proper\w*|as needed|necessary)\b"
)
_OBJECT = re.compile(rf"\b(?P<name>{'|'.join(sorted(LIES_ON, key=len, reverse=True))})(?:s|es)?\b(?: (?P<number>\d+))?")
_PLACE = re.compile(rf"\b(?P<name>{'|'.join(sorted(PLACES, key=len, reverse=True))}|sink)\b(?: (?P<number>\d+))?")
_ANY_PLACE = re.compile(r"\b(?:a|an|any|each|every|some|another|closed|or)\s+$")
_NOT_A_THING = re.compile(r"\bwatch (?:out|for)\b|\bsafe (?:to|way|side|and)\b|\b(?:is|be) safe\b|\bpot(?:ential)\b")


def _families(text: str) -> frozenset[str]:
    return frozenset(family for family, pattern in _BOUND if pattern.search(text))


def _conditioned(sentence: str) -> tuple[str, frozenset[str]]:
    """Split a condition off a sentence; the families it names, empty where it names none or all."""
    if match := _LEADING.match(sentence) or _TRAILING.match(sentence):
        families = _families(match["what"])
        if families:
            return match["rest"], families
    return sentence, frozenset()


def _in_order(sentence: str) -> str:
    """Put what must come first first: "before B, A" and "B after A" are A, then B."""
    if match := _BEFORE.match(sentence) or _AFTER.match(sentence):
        return f"{match['first'].rstrip('.')}, then {match['last']}"
    return sentence


def _clause(text: str, sentence: str) -> list[Meaning]:
    found: list[Meaning] = []
    if _SEARCHES.search(text):
        found.append(Meaning.SEARCH)
    told = _NEGATION.split(text, maxsplit=1)[0] if _NEGATION.search(text) else text
    if _OPENS.search(told) or (_OPENS_IT.search(told) and re.search(r"\bclosed|\bshut", sentence)):
        found.append(Meaning.OPEN)
    doing = [meaning for meaning, pattern in _RULES if pattern.search(told)]
    if Meaning.REPEAT in doing:
        doing = [Meaning.REPEAT]
    if Meaning.PUT in doing and Meaning.GOTO not in doing and re.search(_DESTINATION, told):
        doing.insert(doing.index(Meaning.PUT), Meaning.GOTO)
    found += doing
    if not found and _VERIFIES.search(told):
        found.append(Meaning.VERIFY)
    return found


def _sentence(sentence: str) -> list[Instruction]:
    plain = _REMIND.sub("", sentence)
    rest, families = _conditioned(plain)
    found: list[Meaning] = []
    if _SEARCHES.search(rest):
        found.append(Meaning.SEARCH)
    for clause in _CLAUSE.split(_in_order(rest)):
        found += _clause(clause, plain)
    kept: list[Instruction] = []
    for meaning in found:
        if not any(at.meaning is meaning for at in kept):
            kept.append(Instruction(meaning, families))
    return kept


def named_in(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kinds of object and of place that a text names.

    A numbered place (`cabinet 3`) is an instance like an object; a kind in general ("a closed drawer or cabinet",
    "cabinets") names no place.
    """
    plain = _NOT_A_THING.sub(" ", text.lower())
    objects = [match["name"] for match in _OBJECT.finditer(plain)]
    places: list[str] = []
    for match in _PLACE.finditer(plain):
        if not match["number"] and _ANY_PLACE.search(plain, 0, match.start()):
            continue
        place = "sinkbasin" if match["name"] == "sink" else match["name"]
        (objects if match["number"] else places).append(place)
    return tuple(dict.fromkeys(objects)), tuple(dict.fromkeys(places))


def _line(text: str) -> Line:
    plain = _MARKER.sub("", text).replace("**", "").replace("`", "").replace("’", "'").strip().lower()
    instructions: list[Instruction] = []
    for sentence in _SENTENCE.split(plain):
        instructions += _sentence(sentence.strip().rstrip("."))
    objects, places = named_in(plain)
    vague = not instructions and _VAGUE.search(plain) is not None
    return Line(text.strip(), tuple(instructions), vague, objects, places)


def _told(instructions: tuple[Instruction, ...], family: str) -> Told:
    return Told.of(tuple(at.meaning for at in instructions if not at.families or family in at.families))


@lru_cache(maxsize=8_192)
def _read(title: str, body: str) -> Reading:
    lines: list[Line] = []
    skipping = 0
    for text in body.split("\n"):
        bare = text.strip()
        if bare.startswith("#"):
            depth = len(bare) - len(bare.lstrip("#"))
            if not skipping or depth <= skipping:
                skipping = depth if _NO_INSTRUCTION.search(bare) else 0
        elif bare and not skipping:
            lines.append(_line(bare))
    instructions = tuple(at for line in lines for at in line.instructions)
    objects, places = named_in(title)
    tools = {_TOOL_OF[at.meaning] for at in instructions if at.meaning in _TOOL_OF}
    return Reading(
        title,
        tuple(lines),
        instructions,
        {family: _told(instructions, family) for family in FAMILIES},
        vague=sum(line.vague for line in lines),
        objects=bool(objects) + sum(bool(line.objects) for line in lines),
        places=bool(set(places) - tools) + sum(bool(set(line.places) - tools) for line in lines),
    )


def read_skill(skill: Skill) -> Reading:
    """Return how an executor understands a skill; the same text is read once."""
    return _read(skill.title, skill.body)


def patterns() -> tuple[str, ...]:
    """Return every pattern that a reading depends on, for the world's fingerprint."""
    single = (
        _NO_INSTRUCTION, _SENTENCE, _CLAUSE, _MARKER, _NEGATION, _REMIND, _LEADING, _TRAILING, _BEFORE, _AFTER,
        _SEARCHES, _OPENS, _OPENS_IT, _VERIFIES, _VAGUE, _OBJECT, _PLACE, _ANY_PLACE, _NOT_A_THING,
    )  # fmt: skip
    return (
        *(pattern.pattern for pattern in single),
        _DESTINATION,
        *(f"{family} {pattern.pattern}" for family, pattern in _BOUND),
        *(f"{meaning.value} {pattern.pattern}" for meaning, pattern in _RULES),
    )
