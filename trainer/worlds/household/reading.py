"""How the frozen executors read a skill: each sentence by its words, in whatever wording it is written.

A skill's text is all that an executor gets, so a hand-written skill, a model's and the tiny policy's are read alike.
Reading is by rules: verbs and what they are about give the meanings of a clause; a clause that tells what *not* to do
gives none; a condition on the kind of task ("if it must be hot, ...") binds its sentence to that kind; a section such
as "When NOT to use" or "Pitfalls" is no instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from core.skillrepo.skill import Skill
from trainer.worlds.household.things import FAMILIES
from trainer.worlds.household.wordings import (
    AFTER,
    ANY_PLACE,
    BEFORE,
    BOUND,
    CLAUSE,
    CLOSED,
    INTO_A_TOOL,
    LEADING,
    LONGEST_SENTENCE,
    MARKER,
    META,
    NEGATION,
    NO_INSTRUCTION,
    NOT_A_THING,
    OBJECT,
    OPENS,
    OPENS_IT,
    PLACE,
    REMIND,
    RULES,
    SEARCHES,
    SENTENCE,
    SLOT,
    SPELLINGS,
    TO_DESTINATION,
    TRAILING,
    VAGUE,
    VERIFIES,
    Meaning,
)


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


def _families(text: str) -> frozenset[str]:
    return frozenset(family for family, pattern in BOUND if pattern.search(text))


def _conditioned(sentence: str) -> tuple[str, frozenset[str]]:
    """Split a condition off a sentence; the families it names, empty where it names none or all."""
    if match := LEADING.match(sentence) or TRAILING.match(sentence):
        families = _families(match["what"])
        if families:
            return match["rest"], families
    return sentence, frozenset()


def _in_order(sentence: str) -> str:
    """Put what must come first first: "before B, A" and "B after A" are A, then B."""
    if match := BEFORE.match(sentence) or AFTER.match(sentence):
        return f"{match['first'].rstrip('.')}, then {match['last']}"
    return sentence


def _clause(text: str, sentence: str) -> list[Meaning]:
    found: list[Meaning] = []
    if SEARCHES.search(text):
        found.append(Meaning.SEARCH)
    told = NEGATION.split(text, maxsplit=1)[0] if NEGATION.search(text) else text
    if OPENS.search(told) or (OPENS_IT.search(told) and CLOSED.search(sentence)):
        found.append(Meaning.OPEN)
    doing = [meaning for meaning, pattern in RULES if pattern.search(told)]
    if Meaning.REPEAT in doing:
        doing = [Meaning.REPEAT]
    if Meaning.PUT in doing and INTO_A_TOOL.search(told) and not TO_DESTINATION.search(told):
        doing.remove(Meaning.PUT)
    if Meaning.PUT in doing and Meaning.GOTO not in doing and TO_DESTINATION.search(told):
        doing.insert(doing.index(Meaning.PUT), Meaning.GOTO)
    found += doing
    if not found and VERIFIES.search(told):
        found.append(Meaning.VERIFY)
    return found


def _sentence(sentence: str) -> list[Instruction]:
    plain = REMIND.sub("", sentence)
    rest, families = _conditioned(plain)
    found: list[Meaning] = []
    if SEARCHES.search(rest):
        found.append(Meaning.SEARCH)
    for clause in CLAUSE.split(_in_order(rest)):
        found += _clause(clause, plain)
    kept: list[Instruction] = []
    for meaning in found:
        if not any(at.meaning is meaning for at in kept):
            kept.append(Instruction(meaning, families))
    return kept


def plainly(text: str) -> str:
    """Return a line without list marks, emphasis, capitals, slots and other spellings of a name."""
    plain = MARKER.sub("", text).replace("**", "").replace("`", "").strip().lower()
    plain = SLOT.sub(lambda slot: f"the {slot[1].replace('_', ' ')}", plain)
    for spelled, name in SPELLINGS.items():
        if spelled in plain:
            plain = plain.replace(spelled, name)
    return plain


def named_in(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kinds of object and of place that a text names.

    A numbered place (`cabinet 3`) is an instance like an object; a kind in general ("a closed drawer or cabinet",
    "cabinets") names no place.
    """
    plain = NOT_A_THING.sub(" ", text.lower())
    objects = [match["name"] for match in OBJECT.finditer(plain)]
    places: list[str] = []
    for match in PLACE.finditer(plain):
        if not match["number"] and ANY_PLACE.search(plain, 0, match.start()):
            continue
        place = "sinkbasin" if match["name"] == "sink" else match["name"]
        (objects if match["number"] else places).append(place)
    return tuple(dict.fromkeys(objects)), tuple(dict.fromkeys(places))


def _line(text: str) -> Line:
    plain = plainly(text)
    instructions: list[Instruction] = []
    for sentence in SENTENCE.split(plain):
        for found in _sentence(sentence.strip().rstrip(".")[:LONGEST_SENTENCE]):
            if found.meaning not in META or found not in instructions:
                instructions.append(found)
    objects, places = named_in(plain)
    vague = not instructions and VAGUE.search(plain) is not None
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
                skipping = depth if NO_INSTRUCTION.search(bare) else 0
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
