"""What a model may say: which skill it has in mind and what it would need. Nothing else is heard (S92, S90)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.foundation import strict_json

KEYS = ("intent", "confidence", "intended_skill", "required_context", "arguments")
_LONGEST = 200
_MOST_CONTEXT = 50
_DEEPEST = 20
_MOST_ARGUMENTS = 8_192


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One input among others to the decision. "" and None mean that the model did not say.

    `confidence` is from 0 to 1; `required_context` are paths of the context; `arguments` are values for the skill's
    inputs by name.
    """

    intent: str = ""
    confidence: float | None = None
    intended_skill: str = ""
    required_context: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)


def read(value: Any) -> tuple[Suggestion, tuple[str, ...]]:
    """Return the suggestion in `value` (a mapping or a JSON text) and what was dropped from it, each with the reason.

    Strict and never raises: a model that invents strategies, failure profiles or keys is not refused, it is just not
    heard there (S92). A text that is no JSON object gives an empty suggestion.
    """
    dropped: list[str] = []
    if isinstance(value, str | bytes):
        try:
            value = strict_json.parse(value, unique=True)
        except ValueError as error:
            return Suggestion(), (f"everything: not JSON ({error})",)
    if not isinstance(value, Mapping):
        return Suggestion(), ("everything: not an object",)
    invented = sorted(str(key) for key in value if key not in KEYS)
    dropped += [f"{key[:_LONGEST]}: no key of a suggestion" for key in invented]
    return (
        Suggestion(
            intent=_text(value, "intent", dropped),
            confidence=_confidence(value.get("confidence"), dropped),
            intended_skill=_text(value, "intended_skill", dropped),
            required_context=_paths(value.get("required_context"), dropped),
            arguments=_arguments(value.get("arguments"), dropped),
        ),
        tuple(dropped),
    )


def _text(value: Mapping[str, Any], key: str, dropped: list[str]) -> str:
    found = value.get(key)
    if found is None:
        return ""
    if not isinstance(found, str) or len(found) > _LONGEST:
        dropped.append(f"{key}: not a text of at most {_LONGEST} characters")
        return ""
    return found


def _confidence(value: Any, dropped: list[str]) -> float | None:
    if value is None:
        return None
    if not strict_json.is_number(value) or not 0 <= value <= 1:
        dropped.append("confidence: not a number from 0 to 1")
        return None
    return float(value)


def _paths(value: Any, dropped: list[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        dropped.append("required_context: not a list")
        return ()
    kept = [item for item in value if isinstance(item, str) and 0 < len(item) <= _LONGEST][:_MOST_CONTEXT]
    if len(kept) != len(value):
        dropped.append(f"required_context: {len(value) - len(kept)} that are no names")
    return tuple(dict.fromkeys(kept))


def _arguments(value: Any, dropped: list[str]) -> Mapping[str, Any]:
    if value is None:
        return {}
    try:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise ValueError("not an object")
        if strict_json.is_deeper(value, _DEEPEST):
            raise ValueError(f"nested deeper than {_DEEPEST}")
        if len(strict_json.dumps(dict(value))) > _MOST_ARGUMENTS:
            raise ValueError(f"longer than {_MOST_ARGUMENTS} characters")
    except (TypeError, ValueError) as error:
        dropped.append(f"arguments: {error}")
        return {}
    return dict(value)
