"""Outputs against a skill's own contract, a JSON Schema that is compiled once (STRATEGY S40, S50).

Two keywords are checked by our own: `pattern` by the engine of conditions, whose time grows with the text only, and
`format` "date" and "date-time" (the library lets a date-time pass where an extra of its isn't installed).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from core.strategy.conditions.functions import MOST_TEXT, found_in
from core.strategy.documents.reading import dotted
from core.strategy.schema.inputs import Wrong

OUTPUT = "OUTPUT_SCHEMA"
_MOST_WRONG = 20


def check_output(contract: Mapping[str, Any], output: Any) -> tuple[Wrong, ...]:
    """Return what is wrong with an output, by path, nothing where it keeps to the contract.

    Raises ValueError for a contract that is no JSON Schema.
    """
    validator = _validator(contract)
    found: list[Wrong] = []
    for error in validator.iter_errors(output):
        found.append(Wrong(dotted(tuple(error.absolute_path)) or "output", OUTPUT, _reason(error)))
        if len(found) == _MOST_WRONG:
            break
    return tuple(found)


def prepare(contract: Mapping[str, Any]) -> None:
    """Compile a contract ahead of a check that is timed; the first one of a process loads the library too."""
    with contextlib.suppress(ValueError):  # whoever checks by it is told
        _validator(contract)


_KNOWN: dict[int, tuple[Mapping[str, Any], Any]] = {}
_MOST_KNOWN = 1024


def _validator(contract: Mapping[str, Any]) -> Any:
    """Return the validator of a contract; one that was met before is known by being the same object."""
    known = _KNOWN.get(id(contract))
    if known is not None and known[0] is contract:
        return known[1]
    validator = _compiled(_key(contract))
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(contract)] = (contract, validator)
    return validator


def contract_fault(contract: Mapping[str, Any]) -> tuple[tuple[str | int, ...], str] | None:
    """Return what keeps a mapping from being a contract, as path and reason; None where nothing does."""
    from jsonschema import Draft202012Validator

    error = next(iter(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(_plain(contract))), None)
    if error is not None:
        return tuple(error.absolute_path), f"isn't JSON Schema: {_reason(error)}"
    return next(_unusable(contract, ()), None)


def _unusable(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            here = (*path, str(key))
            if key in {"$ref", "$dynamicRef"} and not str(inner).startswith("#"):
                yield here, "may point into this schema only (#/...)"
            elif key == "pattern" and isinstance(inner, str):
                try:
                    found_in(inner, "")
                except ValueError as error:
                    yield here, str(error)
            yield from _unusable(inner, here)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _unusable(inner, (*path, number))


def _key(contract: Mapping[str, Any]) -> str:
    return json.dumps(_plain(contract), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


@lru_cache(maxsize=1024)
def _compiled(key: str) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    contract = json.loads(key)
    fault = contract_fault(contract)
    if fault is not None:
        raise ValueError(f"{dotted(fault[0])}: {fault[1]}" if fault[0] else fault[1])
    checks = {"pattern": _pattern, "format": _format}
    kind: Any = extend(Draft202012Validator, checks)  # type: ignore[no-untyped-call]  # its stub has no types
    return kind(contract)


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(value, str):
        return
    if len(value) > MOST_TEXT:
        yield ValidationError(f"is longer than {MOST_TEXT} characters, too long for a pattern")
    elif not found_in(pattern, value):
        yield ValidationError(f"{value[:60]!r} does not match {pattern!r}")


_FORMATS = {"date": date.fromisoformat, "date-time": datetime.fromisoformat}


def _format(_: Any, name: str, value: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    read = _FORMATS.get(name)
    if read is None or not isinstance(value, str):
        return
    try:
        read(value)
    except ValueError:
        yield ValidationError(f"{value[:60]!r} is no {name}")


def _reason(error: Any) -> str:
    message = str(error.message)
    return message if len(message) <= 200 else f"{message[:197]}..."
