"""How a node of a plan can end without an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.strategy.documents.plan import Recovery
from core.strategy.execution.question import Question

UNKNOWN_SKILL = "NO_SUCH_SKILL"
UNKNOWN_STRATEGY = "NO_SUCH_STRATEGY"
MISSING_CONTEXT = "MISSING_CONTEXT"
MISSING_INPUT = "MISSING_INPUT"
INPUT_REFUSED = "INPUT_REFUSED"
UNBOUND_ROLE = "UNBOUND_ROLE"
CIRCUIT_OPEN = "CIRCUIT_OPEN"
CONFLICT = "CONTEXT_CONFLICT"
CALL_CYCLE = "CALL_CYCLE"
UNANSWERED = "QUESTION_UNANSWERED"
NO_BRANCH = "TOO_FEW_BRANCHES"
SCHEMA_MISMATCH = "SCHEMA_MISMATCH"
PSEUDO_SUCCESS = "PSEUDO_SUCCESS"
NOTHING_FITS = "NOTHING_FITS"
OWN_CODES = frozenset(
    {
        UNKNOWN_SKILL,
        UNKNOWN_STRATEGY,
        MISSING_CONTEXT,
        MISSING_INPUT,
        INPUT_REFUSED,
        UNBOUND_ROLE,
        CIRCUIT_OPEN,
        CONFLICT,
        CALL_CYCLE,
        UNANSWERED,
        NO_BRANCH,
        SCHEMA_MISMATCH,
        PSEUDO_SUCCESS,
        NOTHING_FITS,
    }
)
"""Codes that the executor gives; no skill has to declare them in its failure profile."""


class NodeFailedError(Exception):
    """A node failed. `skill` is whose failure it is, "" where no skill was called; `final` ends the strategy.

    `rules` are the recoveries of the checking strategy that found it, where that isn't the one under way."""

    def __init__(self, code: str, message: str = "", *, skill: str = "", final: bool = False) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message
        self.skill = skill
        self.final = final
        self.on_fail_done = False
        self.rules: Mapping[str, Recovery] = {}


@dataclass(slots=True)
class SupersededError(Exception):
    """Another strategy took the turn over; what is left of the plans under way is not done."""

    by: str
    output: Mapping[str, Any] | None

    def __str__(self) -> str:
        return f"superseded by {self.by}"


class AskedError(Exception):
    """The turn stops here for the user's answer."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


class WithheldError(Exception):
    """A write was not made in a dry run, and what stands on its output can't be told."""


Output = dict[str, Any] | None
