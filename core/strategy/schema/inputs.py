"""Arguments against a skill's signature, each by its role (STRATEGY S47 to S49)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.strategy.conditions.utterance import holds
from core.strategy.documents.skill import Input, SkillSchema

MISSING, UNKNOWN, TYPE, RANGE, VOCABULARY, SAID = (
    "MISSING_INPUT",
    "UNKNOWN_INPUT",
    "INPUT_TYPE",
    "INPUT_RANGE",
    "INPUT_VOCABULARY",
    "INPUT_NOT_SAID",
)
_MOST_TOLD = 12


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that breaks a contract: the path of the value, a failure code, and the reason in words."""

    path: str
    code: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def check_inputs(schema: SkillSchema, arguments: Mapping[str, Any], *, said: Sequence[str] = ()) -> tuple[Wrong, ...]:
    """Return what is wrong with the arguments of a call, nothing where they keep to the signature.

    A `business_rule` lies in its range, a `domain_constraint` in its vocabulary. A `user_intent_phrase` is the user's
    own text: with `said`, the utterances of the session, it must stand in one of them, so that no model can put words
    into a user's mouth. Null counts as missing.
    """
    found: list[Wrong] = []
    for name in arguments:
        if name not in schema.signature.inputs:
            known = ", ".join(schema.signature.inputs) or "none"
            found.append(Wrong(name, UNKNOWN, f"is no input of {schema.skill}; there are {known}"))
    for name, wanted in schema.signature.inputs.items():
        value = arguments.get(name)
        if value is None:
            if not wanted.optional:
                found.append(Wrong(name, MISSING, f"is missing; {schema.skill} needs it"))
            continue
        found += _check(name, wanted, value, said)
    return tuple(found)


def _check(name: str, wanted: Input, value: Any, said: Sequence[str]) -> Iterator[Wrong]:
    if not _TYPES[wanted.type](value):
        yield Wrong(name, TYPE, f"is {_shown(value)}, not {_A[wanted.type]}")
        return
    if wanted.type == "range":
        yield from _range(name, wanted, value)
    elif wanted.min is not None or wanted.max is not None:
        yield from _bounds(name, wanted, value)
    if wanted.enum is not None:
        for one in value if isinstance(value, list | tuple) else (value,):
            if not any(one == known and isinstance(one, bool) == isinstance(known, bool) for known in wanted.enum):
                yield Wrong(name, VOCABULARY, f"is {_shown(one)}; there are {_told(wanted.enum)}")
    if wanted.role == "user_intent_phrase" and isinstance(value, str):
        if not value.strip():
            yield Wrong(name, MISSING, "is empty; it carries what the user said")
        elif said and not any(value in one or holds(one, value) for one in said):
            yield Wrong(name, SAID, f"is {_shown(value)}, which the user has not said")


def _bounds(name: str, wanted: Input, value: Any) -> Iterator[Wrong]:
    """Check a number, or how long a text or list is."""
    size, of = (value, "") if _number(value) else (len(value), " long")
    if (wanted.min is not None and size < wanted.min) or (wanted.max is not None and size > wanted.max):
        yield Wrong(name, RANGE, f"is {_shown(size)}{of}, not {_within(wanted)}")


def _range(name: str, wanted: Input, value: Any) -> Iterator[Wrong]:
    low, high = ends_of(value)
    if low > high:
        yield Wrong(name, RANGE, f"begins above its end: {_shown(low)} to {_shown(high)}")
    elif (wanted.min is not None and low < wanted.min) or (wanted.max is not None and high > wanted.max):
        yield Wrong(name, RANGE, f"is {_shown(low)} to {_shown(high)}, not {_within(wanted)}")


def ends_of(value: Any) -> tuple[float, float]:
    """Return the ends of a range: two numbers in a list, or under names that begin with min and max."""
    if isinstance(value, Mapping):
        ends = {str(key)[:3]: end for key, end in value.items()}
        return ends["min"], ends["max"]
    low, high = value
    return low, high


def _is_range(value: Any) -> bool:
    if isinstance(value, Mapping):
        return (
            {str(key)[:3] for key in value} == {"min", "max"} and len(value) == 2 and all(map(_number, value.values()))
        )
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_number, value))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: Any) -> bool:
    return _number(value) and value == int(value)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _whole,
    "number": _number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "range": _is_range,
}
_A = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map",
    "range": "a range (two numbers, such as {min_price: 0, max_price: 100})",
}


def _within(wanted: Input) -> str:
    if wanted.max is None:
        return f"{wanted.min} or more"
    return f"{wanted.max} or less" if wanted.min is None else f"{wanted.min} to {wanted.max}"


def _told(values: Sequence[Any]) -> str:
    more = f" and {len(values) - _MOST_TOLD} more" if len(values) > _MOST_TOLD else ""
    return ", ".join(str(value) for value in values[:_MOST_TOLD]) + more


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
