"""The arguments of a tool call, read strictly from the model's JSON by the tool's own schema.

The subset of JSON Schema that tool descriptions use: type, properties, required, enum, items. A null for an optional
property is the property left out; keys the schema does not name are kept for the tool to judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.foundation import strict_json
from core.foundation.visible import well_formed


class ArgumentsError(ValueError):
    """The arguments are not what the schema asks; the text tells the model what to mend."""


def read_arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, or raise ArgumentsError."""
    try:
        value = strict_json.parse(text, unique=True) if text.strip() else {}
    except ValueError as error:
        raise ArgumentsError(f"the arguments are not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise ArgumentsError(f"the arguments must be a JSON object, not {_kind(value)}")
    return _object(_writable(value), schema, "")


def _writable(value: Any) -> Any:
    """Return the value with every text in a form that can be written: an escape may name half a character."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_writable(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(name): _writable(item) for name, item in value.items()}
    return value


def _object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    missing = [name for name in required if name not in value]
    if missing:
        raise ArgumentsError(f"missing: {', '.join(path + name for name in missing)}")
    checked = {}
    for name, item in value.items():
        if item is None and name not in required:
            continue
        rule = properties.get(name)
        checked[name] = _value(item, rule, path + name) if isinstance(rule, Mapping) else item
    return checked


def _value(value: Any, schema: Mapping[str, Any], path: str) -> Any:
    wanted = schema.get("type")
    kinds = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if kinds and not any(_is(value, kind) for kind in kinds):
        raise ArgumentsError(f"{path} must be {' or '.join(kinds)}, not {_kind(value)}")
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        raise ArgumentsError(f"{path} must be one of {', '.join(json.dumps(item) for item in allowed)}")
    if isinstance(value, dict):
        return _object(value, schema, f"{path}.")
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [_value(item, items, f"{path}[{index}]") for index, item in enumerate(value)]
    if kinds == ["integer"] and isinstance(value, float):
        return int(value)
    return value


def _is(value: object, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            whole = isinstance(value, float) and value.is_integer()
            return whole or (isinstance(value, int) and not isinstance(value, bool))
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True


def _kind(value: object) -> str:
    for kind in ("null", "boolean", "number", "string", "array", "object"):
        if _is(value, kind):
            return kind
    return type(value).__name__
