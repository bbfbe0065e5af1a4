"""One form for JSON Schemas that ask for the same: what is compared, and what is written (STRATEGY S57)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SAID = frozenset({"title", "description", "default", "examples", "$schema", "$id", "$comment"})
_MOST_DEPTH = 16


def tidy(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without remarks, with its definitions where they are used. Recursive ones stay as they are."""
    definitions = schema.get("$defs", {})
    bare = {key: value for key, value in schema.items() if key != "$defs"}
    try:
        found = _inlined(bare, definitions, 0)
    except RecursionError:
        found = dict(schema)
    assert isinstance(found, dict)
    return found


def _inlined(value: Any, definitions: Mapping[str, Any], depth: int, *, names: bool = False) -> Any:
    """Return a part with its references replaced. `names` is set where the keys are names of fields, not keywords."""
    if depth > _MOST_DEPTH:
        raise RecursionError
    if isinstance(value, list | tuple):
        return [_inlined(one, definitions, depth + 1) for one in value]
    if not isinstance(value, Mapping):
        return value
    name = str(value.get("$ref", "")).removeprefix("#/$defs/")
    if not names and name in definitions:
        return _inlined(definitions[name], definitions, depth + 1)
    return {
        key: inner
        if key in {"enum", "const"} and not names
        else _inlined(inner, definitions, depth + 1, names=key in {"properties", "patternProperties"} and not names)
        for key, inner in value.items()
        if names or key not in _SAID
    }


def canonical(value: Any, *, names: bool = False) -> Any:
    """Return a schema so that two which ask for the same in another order or wording are equal."""
    if isinstance(value, list | tuple):
        return [canonical(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    if names:
        return {key: canonical(inner) for key, inner in value.items()}
    found = {key: inner for key, inner in value.items() if key not in _SAID}
    if "const" in found:
        found["enum"] = [found.pop("const")]
    for key in ("enum", "required", "type"):
        if isinstance(found.get(key), list | tuple):
            found[key] = sorted(found[key], key=json.dumps)
    if "enum" in found and _implied(found):
        del found["type"]
    if found.get("required") == []:
        del found["required"]
    if found.get("additionalProperties") is True:
        del found["additionalProperties"]
    kept = {"enum", "required", "type", "const"}
    return {
        key: inner if key in kept else canonical(inner, names=key in {"properties", "patternProperties", "$defs"})
        for key, inner in found.items()
    }


def _implied(schema: Mapping[str, Any]) -> bool:
    """Whether `type` adds nothing to the values of `enum`."""
    kinds = schema.get("type")
    allowed = {kinds} if isinstance(kinds, str) else set(kinds or ())
    return bool(allowed) and all(bool(_kinds(value) & allowed) for value in schema["enum"])


def _kinds(value: Any) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    names = {float: "number", str: "string", list: "array", dict: "object"}
    return {names.get(type(value), "")}
