"""The functions of conditions: what they take, what they give, and how they find it (STRATEGY 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, lru_cache
from typing import Any

from core.strategy.conditions.binding import compiled
from core.strategy.conditions.memory import Memory
from core.strategy.conditions.utterance import holds_any

MOST_TURNS = 100
MOST_TEXT = 2_000
"""Of a text that a pattern is matched with; a longer one is a defect, not a long wait."""


@dataclass(frozen=True, slots=True)
class Function:
    """Arguments by kind: a type of the registry, or "texts" (a list of texts that is written out), "turns" (a whole
    number that is written out), "skill" and "pattern" (a text that is written out), "field" (a path)."""

    arguments: tuple[str, ...]
    result: str
    meaning: str


FUNCTIONS: Mapping[str, Function] = {
    "contains_any": Function(
        ("string", "texts"), "boolean", "whether a text has one of the phrases as whole words; `word*` may go on"
    ),
    "is_empty": Function(("any",), "boolean", "whether it is null, or a text, list or map without anything in it"),
    "within": Function(("number", "number", "number"), "boolean", "whether a number lies in a range, ends included"),
    "days_from_now": Function(
        ("date",), "number", "days until a date, below 0 for the past; whole days where it has no time of day"
    ),
    "matches_named": Function(("string", "pattern"), "boolean", "whether a pattern of bank.yaml is found in a text"),
    "successes": Function(("turns",), "number", "skills that succeeded in the last n turns, this one not counted"),
    "failures": Function(("turns",), "number", "skills that failed in the last n turns, this one not counted"),
    "calls": Function(("skill", "turns"), "number", "how often a skill ran in the last n turns, this one not counted"),
    "stability": Function((), "number", "the session's stability score, 0 to 1; unknown in a new session"),
    "size": Function(("sized",), "number", "how long a text, list or map is"),
    "has": Function(("field",), "boolean", "whether a field is there; unknown where what should hold it isn't"),
}


class Complaint(Exception):  # noqa: N818 - no fault of the program: it carries what a condition could not find out
    """A function can't say. `unknown` names what isn't known; empty where the values are of the wrong kind."""

    def __init__(self, said: str, unknown: str = "") -> None:
        super().__init__(said)
        self.unknown = unknown


def host_functions(
    memory: Memory, now: datetime, patterns: Mapping[str, str], complain: Callable[[Complaint], None]
) -> dict[str, Callable[..., Any]]:
    """Return the functions that the binding calls. What one can't say goes to `complain` and is unknown."""

    def said(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            try:
                return function(*values)
            except Complaint as complaint:
                complain(complaint)
                raise

        return call

    recent = cache(memory.last)  # many triggers of a bank ask about the same turns
    found: dict[str, Callable[..., Any]] = {
        "contains_any": _contains_any,
        "is_empty": _is_empty,
        "within": _within,
        "days_from_now": lambda value: _days_from(now, value),
        "matches_named": lambda text, name: _matches_named(text, name, patterns),
        "successes": cache(memory.successes),
        "failures": cache(memory.failures),
        "calls": lambda skill, turns: sum(one.skill == skill for one in recent(turns)),
        "stability": lambda: _stability(memory),
    }
    return {name: said(function) for name, function in found.items()}


def _contains_any(text: Any, phrases: Any) -> bool:
    if not isinstance(text, str):
        raise Complaint(f"contains_any needs a text, not {kind(text)}")
    return holds_any(text, phrases)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _within(value: Any, low: Any, high: Any) -> bool:
    for one in (value, low, high):
        if isinstance(one, bool) or not isinstance(one, int | float):
            raise Complaint(f"within needs numbers, not {kind(one)}")
    return bool(low <= value <= high)


def _days_from(now: datetime, value: Any) -> float:
    if not isinstance(value, str):
        raise Complaint(f"days_from_now needs a date, not {kind(value)}")
    try:
        if len(value) == len("2026-01-31"):
            return (date.fromisoformat(value) - now.date()).days
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise Complaint(f"days_from_now needs a date, not {value[:40]!r}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo)
    return (moment - now).total_seconds() / 86_400


def _matches_named(text: Any, name: str, patterns: Mapping[str, str]) -> bool:
    if not isinstance(text, str):
        raise Complaint(f"matches_named needs a text, not {kind(text)}")
    if len(text) > MOST_TEXT:
        raise Complaint(f"matches_named takes texts of {MOST_TEXT} characters at most, not of {len(text)}")
    if name not in patterns:
        raise Complaint(f"there is no pattern {name}", unknown=f"patterns.{name}")
    return found_in(patterns[name], text)


@lru_cache(maxsize=4096)
def found_in(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text, by the binding's engine, whose time grows with the text only.

    Raises ValueError for a pattern that is none. The engine reads the pattern anew for each text (20 to 800 µs).
    """
    try:
        return bool(_matcher().execute({"text": text, "pattern": pattern}))
    except RuntimeError as error:
        said = str(error)
        reason = said.rpartition("error: ")[2].partition(". Check function")[0]
        raise ValueError(f"{pattern!r} is no pattern: {reason.strip()}") from error


@lru_cache(maxsize=1)
def _matcher() -> Any:
    return compiled("text.matches(pattern)")


def _stability(memory: Memory) -> float:
    if memory.stability is None:
        raise Complaint("too little is known of this session", unknown="stability()")
    return memory.stability


def kind(value: Any) -> str:
    """Return in words what kind of value it is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a map"
