"""What an operator types to see only some Sessions: words, `role:target`, `status:failed`, `!agent:x`. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

FIELDS = ("role", "agent", "run", "status", "case", "model")
HINT = "words, role: agent: run: case: status:failed|running|done|cut  ! in front: not"


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. `field` is "" for a word that may stand anywhere."""

    field: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """All terms must hold. A term that is unfinished (`role:`) lets everything through."""

    terms: tuple[Term, ...] = ()

    def lets(self, fields: Mapping[str, str], text: str) -> bool:
        """Tell whether a Session is wanted, by its fields (see FIELDS) and by all that is said of it."""
        return all(_holds(term, fields, text) != term.negated for term in self.terms if term.value)

    def __bool__(self) -> bool:
        return any(term.value for term in self.terms)


def parse(query: str) -> SessionFilter:
    """Return the filter that a query means; what is no known field is a word. Quotes keep words together."""
    try:
        words = shlex.split(query, posix=True)
    except ValueError:
        words = query.split()
    return SessionFilter(tuple(_term(word) for word in words))


def _term(word: str) -> Term:
    negated = word.startswith("!")
    word = word.removeprefix("!")
    name, colon, value = word.partition(":")
    if colon and name.casefold() in FIELDS:
        return Term(name.casefold(), value.casefold(), negated)
    return Term("", word.casefold(), negated)


def _holds(term: Term, fields: Mapping[str, str], text: str) -> bool:
    if not term.field:
        return term.value in text.casefold()
    value = fields.get(term.field, "").casefold()
    if term.field == "run" and term.value.isdigit():
        return term.value in value.split()  # `run:2` is the second run of a Case, not a date with a 2 in it
    if term.field in ("role", "status"):
        return value.startswith(term.value)
    return term.value in value
