"""What a skill may answer, made from its output schema: for simulated paths, not for users.

Where a field's name is that of some skill's input, its values are such as that input takes; where a text may be
anything, the words that the strategy itself asks about are among them ("paid", "shipped").
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.strategy.documents.skill import Input, SkillSchema
from core.strategy.documents.strategy import Strategy

MOST = 40
"""Answers made of one schema."""
_DEPTH = 6
_KIND_OF: Mapping[type, str] = {
    int: "number",
    float: "number",
    str: "string",
    bool: "boolean",
    list: "array",
    dict: "object",
}
_LITERAL = re.compile(r"\"([^\"\\]*)\"|'([^'\\]*)'|(?<![\w.])(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Hints:
    """What values should be like: `inputs` of skills by name, texts and numbers that conditions compare with."""

    inputs: Mapping[str, Input] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()


def hints_of(strategies: Iterable[Strategy], schemas: Iterable[SkillSchema]) -> Hints:
    """Return the hints that strategies and skills give. Pure."""
    inputs: dict[str, Input] = {}
    for schema in schemas:
        for name, one in schema.signature.inputs.items():
            if name not in inputs or inputs[name].enum is None:
                inputs[name] = one
    words: dict[str, None] = {}
    numbers: dict[float, None] = {}
    for text in (text for one in strategies for text in _conditions(one.model_dump(by_alias=True))):
        for double, single, number in _LITERAL.findall(text):
            if number:
                numbers |= dict.fromkeys((float(number), float(number) + 1, float(number) - 1))
            elif double or single:
                words[double or single] = None
    return Hints(inputs, tuple(words), tuple(numbers))


def _conditions(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in {"if", "until", "when", "expr"} and isinstance(inner, str):
                yield inner
            else:
                yield from _conditions(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _conditions(inner)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a skill may say: the values of each field of its output, the plainest first. A skill that promises nothing
    says {}."""

    fields: Mapping[str, list[Any]]

    @property
    def first(self) -> dict[str, Any]:
        """Every field at its first value."""
        return {name: values[0] for name, values in self.fields.items()}

    def sweep(self) -> tuple[dict[str, Any], ...]:
        """One field at another of its values at a time, MOST at most."""
        first = self.first
        found = [{**first, name: value} for name, values in self.fields.items() for value in values[1:]]
        return tuple(found[:MOST])

    def drawn(self, draw: random.Random) -> dict[str, Any]:
        """Every field at any of its values."""
        return {name: draw.choice(values) for name, values in self.fields.items()}


def answers_of(schema: SkillSchema, hints: Hints) -> Answers:
    """Return outputs that satisfy the schema."""
    return Answers(_Values(hints).fields(schema.signature.outputs, 0))


def value_at(path: str, kind: str, hints: Hints) -> Any:
    """Return a value for a path of the context's registry, of its type."""
    found = _input_values(path.rpartition(".")[2], hints)
    if found and (kind not in {"list", "map", "date"} or isinstance(found[0], dict)):
        return found[0]
    values: Mapping[str, Any] = {
        "number": 1,
        "boolean": True,
        "date": "2026-05-30T12:00:00Z",
        "list": ["some"],
        "map": {},
    }
    return values.get(kind, "some")


def _input_values(name: str, hints: Hints) -> list[Any]:
    one = hints.inputs.get(name)
    if one is None:
        return []
    if one.enum:
        return list(one.enum)
    low = one.min if one.min is not None else 0
    match one.type:
        case "number" | "integer":
            above = low + 1 if one.max is None or low + 1 <= one.max else low
            return list(dict.fromkeys([above, low, *([one.max] if one.max is not None else [])]))
        case "range":
            high = one.max if one.max is not None else low + 100
            return [{"min": low, "max": high}, [low, high]]
        case "boolean":
            return [True, False]
    return []


class _Values:
    """Values of a schema, the plainest first."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints

    def fields(self, schema: Mapping[str, Any], depth: int) -> dict[str, list[Any]]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or depth > _DEPTH:
            return {}
        found: dict[str, list[Any]] = {}
        for name, inner in properties.items():
            like = [] if isinstance(inner, Mapping) and {"enum", "const"} & inner.keys() else self._like(name, inner)
            found[str(name)] = like or list(self.of(inner, depth))
        return found

    def _like(self, name: str, schema: Any) -> list[Any]:
        """Return what an input of that name takes, where the schema could mean it."""
        values = _input_values(name, self.hints)
        kinds = schema.get("type") if isinstance(schema, Mapping) else None
        known = [kinds] if isinstance(kinds, str) else list(kinds or ())
        return [value for value in values if not known or any(_KIND_OF.get(type(value)) == kind for kind in known)]

    def of(self, schema: Any, depth: int) -> Iterator[Any]:
        """Yield a few values of a schema, the plainest first; at least one."""
        if not isinstance(schema, Mapping):
            yield "some"
            return
        if "const" in schema:
            yield schema["const"]
            return
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            yield from schema["enum"]
            return
        kinds = schema.get("type", "string")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            yield from self._of_kind(str(kind), schema, depth)

    def _of_kind(self, kind: str, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        match kind:
            case "boolean":
                yield from (True, False)
            case "integer" | "number":
                yield from self._numbers(schema, whole=kind == "integer")
            case "array":
                inner = next(self.of(schema.get("items"), depth + 1))
                least = schema.get("minItems", 0)
                yield [inner] * max(1, least)
                if not least:
                    yield []
            case "object":
                yield {name: values[0] for name, values in self.fields(schema, depth + 1).items()}
                if not schema.get("required"):
                    yield {}
            case "null":
                yield None
            case _:
                yield from self._texts(schema)

    def _numbers(self, schema: Mapping[str, Any], *, whole: bool) -> Iterator[int | float]:
        low, high = schema.get("minimum", 0), schema.get("maximum")
        wanted = [low + 1, low, high if high is not None else low + 1000, *self.hints.numbers]
        fitting = [value for value in wanted if value >= low and (high is None or value <= high)]
        if whole:
            fitting = [int(value) for value in fitting if value == int(value)]
        yield from dict.fromkeys(fitting)

    def _texts(self, schema: Mapping[str, Any]) -> Iterator[str]:
        match schema.get("format"):
            case "date":
                yield from ("2026-07-01", "2026-05-01")
            case "date-time":
                yield from ("2026-07-01T00:00:00Z", "2026-05-01T00:00:00Z")
            case "email":
                yield "ada@example.org"
            case _:
                least = int(schema.get("minLength", 0))
                yield "some".ljust(least, "x")
                yield from (word for word in self.hints.words if len(word) >= least)
                if not least:
                    yield ""
