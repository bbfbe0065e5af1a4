"""What an annotation says of a task: short phrases of five kinds and a difficulty (CURATION 1.5).

An annotation must describe the task's way of thinking, not the task: phrases of more than five words, phrases that hold
the answer, and phrases that repeat five words of the task in a row are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.foundation.errors import UsageError
from core.foundation.visible import visible_line
from core.skillrepo.words import words

KINDS = ("topics", "skills", "concepts", "strategies", "pitfalls")
PHRASE_WORDS = 5
PHRASES_AT_MOST = 8
COPIED_RUN = 5
DIFFICULTY = (0.0, 10.0)
_ABOUT = {
    "topics": "what the task is about",
    "skills": "abilities that solving it needs",
    "concepts": "notions and facts that it rests on",
    "strategies": "ways of reasoning that lead to a solution",
    "pitfalls": "mistakes that it invites",
}


@dataclass(frozen=True, slots=True)
class Attributes:
    """Z = (T, S, C, R, P) of a task: phrases in lower case, each kind without repeats, in the order given."""

    topics: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    pitfalls: tuple[str, ...] = ()

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the phrases of a kind in `KINDS`."""
        phrases: tuple[str, ...] = getattr(self, kind)
        return phrases


@dataclass(frozen=True, slots=True)
class Annotated:
    """A task that can be grouped. `difficulty` is on the annotator's or the data set's own scale."""

    id: str
    attributes: Attributes
    difficulty: float


def schema() -> dict[str, Any]:
    """Return the JSON schema of an annotation, for structured output."""
    phrases = {
        kind: {
            "type": "array",
            "description": f"{about}; phrases of at most {PHRASE_WORDS} words",
            "items": {"type": "string"},
            "maxItems": PHRASES_AT_MOST,
        }
        for kind, about in _ABOUT.items()
    }
    difficulty = {"type": "number", "minimum": DIFFICULTY[0], "maximum": DIFFICULTY[1]}
    return {
        "type": "object",
        "properties": {**phrases, "difficulty": difficulty},
        "required": [*KINDS, "difficulty"],
        "additionalProperties": False,
    }


def phrase(text: str) -> str:
    """Return a phrase in the form in which phrases are compared: lower case, single spaces, no full stop."""
    return re.sub(r"\s+", " ", text.strip().strip(".").lower())


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    said = words(text)
    return frozenset(said[at : at + COPIED_RUN] for at in range(len(said) - COPIED_RUN + 1))


def _holds_answer(said: tuple[str, ...], answer: str) -> bool:
    """Whether the answer's words stand in a phrase as a whole: "12" isn't in "120", "yes" is in "always yes"."""
    wanted = words(answer)
    return bool(wanted) and any(said[at : at + len(wanted)] == wanted for at in range(len(said) - len(wanted) + 1))


def problems(attributes: Attributes, task: str, answer: str | None) -> tuple[str, ...]:
    """Return why an annotation gives its task away or isn't short, a sentence each; empty where it may be used."""
    found = []
    runs = _runs(task)
    for kind in KINDS:
        for said in attributes.of(kind):
            parts = words(said)
            shown = visible_line(said)
            if len(said.split()) > PHRASE_WORDS:
                found.append(f"{kind}: {shown!r} has more than {PHRASE_WORDS} words")
            if answer is not None and _holds_answer(parts, answer):
                found.append(f"{kind}: {shown!r} holds the answer")
            if any(parts[at : at + COPIED_RUN] in runs for at in range(len(parts) - COPIED_RUN + 1)):
                found.append(f"{kind}: {shown!r} repeats {COPIED_RUN} words of the task")
    return tuple(found)


def read(document: Mapping[str, Any], task: str, answer: str | None) -> tuple[Attributes, float]:
    """Return the attributes and the difficulty of an annotation.

    Raises UsageError with every reason where it doesn't keep the schema or gives the task away.
    """
    unknown = sorted(set(document) - {*KINDS, "difficulty"})
    missing = [name for name in (*KINDS, "difficulty") if name not in document]
    if unknown or missing:
        raise UsageError(f"An annotation has the keys {', '.join((*KINDS, 'difficulty'))} and no others.")
    phrases: dict[str, tuple[str, ...]] = {}
    for kind in KINDS:
        listed = document[kind]
        if not isinstance(listed, list) or not all(isinstance(entry, str) and entry.strip() for entry in listed):
            raise UsageError(f"The annotation's {kind} are not a list of phrases.")
        phrases[kind] = tuple(dict.fromkeys(phrase(entry) for entry in listed))
        if len(phrases[kind]) > PHRASES_AT_MOST:
            raise UsageError(f"The annotation has more than {PHRASES_AT_MOST} {kind}.")
    difficulty = document["difficulty"]
    if isinstance(difficulty, bool) or not isinstance(difficulty, int | float):
        raise UsageError("The annotation's difficulty is not a number.")
    if not DIFFICULTY[0] <= difficulty <= DIFFICULTY[1]:
        raise UsageError(f"The annotation's difficulty is not between {DIFFICULTY[0]:g} and {DIFFICULTY[1]:g}.")
    attributes = Attributes(**phrases)
    if reasons := problems(attributes, task, answer):
        raise UsageError(f"An annotation may not be used: {'; '.join(reasons)}.")
    return attributes, float(difficulty)
