"""From a return annotation to the JSON Schema of what comes back (STRATEGY S50, S57)."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from core.strategy.schema.canonical import tidy

_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
    None: "null",
}
_MOST_DEPTH = 16


def contract_of(hint: Any, depth: int = 0) -> dict[str, Any]:
    """Return the schema of a type: plain ones, Literal, lists, mappings, unions, a TypedDict, a dataclass, a pydantic
    model, nested as one likes. Raises TypeError with the type that none follows from."""
    if depth > _MOST_DEPTH:
        raise TypeError(f"{hint} holds itself")
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if typing.is_typeddict(hint):
        required = [name for name in hint.__annotations__ if name in hint.__required_keys__]
        return _record(typing.get_type_hints(hint), required, depth)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint)
        names = [one.name for one in dataclasses.fields(hint)]
        return _record({name: hints[name] for name in names}, names, depth)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return tidy(hint.model_json_schema(mode="serialization"))
    return _composed(hint, depth)


def _record(hints: Mapping[str, Any], required: Sequence[str], depth: int) -> dict[str, Any]:
    properties = {name: contract_of(one, depth + 1) for name, one in hints.items()}
    return {"type": "object", "required": list(required), "properties": properties}


def _composed(hint: Any, depth: int) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated or origin in {typing.Required, typing.NotRequired}:
        return contract_of(arguments[0], depth + 1)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in {typing.Union, types.UnionType}:
        parts = [contract_of(one, depth + 1) for one in arguments]
        if all(part.keys() == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": parts}
    bare = origin or hint
    if isinstance(bare, type) and issubclass(bare, Mapping):
        inner = contract_of(arguments[1], depth + 1) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": inner} if inner else {"type": "object"}
    if isinstance(bare, type) and issubclass(bare, Sequence) and bare is not bytes:
        items = (
            contract_of(arguments[0], depth + 1) if arguments and (len(arguments) == 1 or arguments[1] is ...) else {}
        )
        return {"type": "array", "items": items} if items else {"type": "array"}
    raise TypeError(f"{hint} is no plain value, record, list or mapping")
