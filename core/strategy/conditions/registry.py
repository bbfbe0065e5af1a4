"""Which names a condition may use, and of which type they are (STRATEGY 4.1)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.strategy.documents.release import BankSettings
from core.strategy.documents.skill import SkillSchema

TYPES = frozenset({"string", "number", "boolean", "date", "list", "map", "any"})
SESSION: Mapping[str, str] = {
    "utterance": "string",
    "utterance_raw": "string",
    "intent.name": "string",
    "intent.confidence": "number",
    "intent.skill": "string",
    "user": "map",
    "user.id": "string",
    "user.device": "string",
    "user.business_line": "string",
    "session.id": "string",
    "session.summary": "string",
    "turn.count": "number",
    "event.name": "string",
    "event.skill": "string",
    "event.code": "string",
    "event.message": "string",
}
"""What every session has. `utterance` is in its normal form, `utterance_raw` as it was said; `user` is open: whatever
attributes a user comes with."""


@dataclass(frozen=True, slots=True)
class Registry:
    """Path to type. A path of type "map" or "any" is open: whatever lies below it is known to be anything.

    A path that is there only as the beginning of others is a map with just those fields. `patterns` are regular
    expressions by name (the linear-time kind, without looking around). Raises ValueError for a type that isn't one.
    """

    types: Mapping[str, str]
    patterns: Mapping[str, str] = field(default_factory=dict)
    _holders: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_types(self.types)
        object.__setattr__(self, "_holders", _holders(self.types))

    def type_of(self, parts: tuple[str | int, ...], extra: Mapping[str, str]) -> str | None:
        """Return a path's type, None for one that isn't known. `extra` goes before `types`."""
        name = ".".join(map(str, parts))
        if name in extra:
            return extra[name]
        if name in self.types:
            return self.types[name]
        if name in self._holders or name in _holders(extra):
            return "map"
        for length in range(len(parts) - 1, 0, -1):
            holder = ".".join(map(str, parts[:length]))
            kind = extra.get(holder, self.types.get(holder))
            if kind in {"map", "any"} or (kind == "list" and isinstance(parts[length], int)):
                return "any"
            if kind is not None:
                return None
        return None

    def nearest(self, name: str, extra: Mapping[str, str]) -> str:
        """Return the known name that is most like `name`, empty where none is."""
        names = sorted({*extra, *self.types, *self._holders})
        return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=0.6)), "")


def _check_types(types: Mapping[str, str]) -> None:
    for name, kind in types.items():
        if kind not in TYPES:
            raise ValueError(f"{name}: {kind!r} is no type of the registry; there are {', '.join(sorted(TYPES))}")


def _holders(types: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name[:at] for name in types for at, sign in enumerate(name) if sign == ".")


def registry_of(settings: BankSettings, schemas: Iterable[SkillSchema]) -> Registry:
    """Return the names that a bank's conditions may use.

    They are the session's, the results of every skill (`results.<skill>` and its output's fields), what skills need
    and provide, and bank.yaml's own, which win where a name has two types. Among skills two types make "any".
    """
    found: dict[str, set[str]] = {}
    for schema in schemas:
        for name, kind in (*output_types(schema, f"results.{schema.skill}").items(), *_context(schema)):
            found.setdefault(name, set()).add(kind)
    types = {name: _one(kinds - {"any"}) for name, kinds in found.items()}  # a name that is only needed tells no type
    return Registry({**types, **SESSION, **settings.registry}, dict(settings.patterns))


def _one(kinds: set[str]) -> str:
    return kinds.pop() if len(kinds) == 1 else "any"


def _context(schema: SkillSchema) -> Iterator[tuple[str, str]]:
    outputs = schema.signature.outputs.get("properties", {})
    for name in schema.context.provides:
        last = name.rpartition(".")[2]
        yield name, type_of_schema(outputs[last]) if last in outputs else "any"
    for name in schema.context.needs:
        yield name, "any"


def output_types(schema: SkillSchema, prefix: str) -> dict[str, str]:
    """Return the names below `prefix` under which a skill's output is known, the prefix itself among them where the
    output is no closed record. For a node's alias: `output_types(schema, "pre")`."""
    return dict(_flat(schema.signature.outputs, prefix))


def _flat(schema: Mapping[str, Any], name: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties or depth > 6:
        yield name, type_of_schema(schema)
        return
    if schema.get("additionalProperties") not in {None, False} or "patternProperties" in schema:
        yield name, "map"
    for part, inner in properties.items():
        yield from _flat(inner if isinstance(inner, Mapping) else {}, f"{name}.{part}", depth + 1)


_JSON = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "array": "list"}


def type_of_schema(schema: Mapping[str, Any]) -> str:
    """Return the type of what a JSON Schema describes; "any" where it may be several."""
    kinds = schema.get("type")
    if "enum" in schema and kinds is None:
        return _one({_type_of_value(value) for value in schema["enum"] if value is not None})
    several = [kinds] if isinstance(kinds, str) else [kind for kind in kinds or () if kind != "null"]
    if len(several) != 1:
        return "any"
    if several[0] == "string" and schema.get("format") in {"date", "date-time"}:
        return "date"
    return "map" if several[0] == "object" else _JSON.get(several[0], "any")


def _type_of_value(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number" if isinstance(value, int | float) else "any"
