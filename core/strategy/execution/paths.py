"""Values by path: looked up, set without changing what others hold, and put in where a plan says `$path`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final

from core.strategy.conditions.view import hollow


class Missing:
    """The value of a path that isn't there. Not None: a skill may well say None."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing()
_REFERENCE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*)")


def look(values: Any, path: str) -> Any:
    """Return the value at a dotted path of nested mappings, MISSING where there is none."""
    for part in path.split("."):
        if not isinstance(values, Mapping) or part not in values:
            return MISSING
        values = values[part]
    return values


def known(values: Any, path: str) -> bool:
    """Tell whether something stands at `path`; null counts as nothing (X3)."""
    return look(values, path) not in (MISSING, None)


def with_value(values: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return `values` with another value at `path`; what was given stays as it is and shares all the rest."""
    head, _, rest = path.partition(".")
    if not rest:
        return {**values, head: value}
    inner = values.get(head)
    return {**values, head: with_value(inner if isinstance(inner, Mapping) else {}, rest, value)}


def chosen(look_up: Callable[[str], Any], reads: Iterable[str]) -> dict[str, Any]:
    """Return a nested mapping of just what conditions read (`Condition.reads`), as far as it is there.

    A shorter path holds what lies under it. Conditions are judged on such a part: making a large mapping ready for
    them costs more than judging.
    """
    found: dict[str, Any] = {}
    for path, holders, last, whole in _order(frozenset(reads)):
        value = look_up(path)
        if value is not MISSING:
            inner = found
            for part in holders:
                inner = inner.setdefault(part, {})
            if whole:
                inner[last] = value
            else:
                inner.setdefault(last, hollow(value))  # what a longer name has put there isn't empty
    return found


@lru_cache(maxsize=4096)
def _order(reads: frozenset[str]) -> tuple[tuple[str, list[str], str, bool], ...]:
    """Return what is read as path, its holders, its own name and whether the whole of it, longer paths first."""
    names = {name.partition("[")[0] for name in reads}  # of a place in a list the whole list
    rows = []
    for name in sorted(names, key=lambda name: (-name.count("."), not name.endswith("?"), name)):  # the whole goes last
        path = name.removesuffix("?")
        *holders, last = path.split(".")
        rows.append((path, holders, last, path == name))
    return tuple(rows)


def references(value: Any) -> set[str]:
    """Return the paths that `value` refers to by `$path`, however deep."""
    if isinstance(value, str):
        return set(_REFERENCE.findall(value))
    if isinstance(value, Mapping):
        return {path for inner in value.values() for path in references(inner)}
    return {path for inner in value for path in references(inner)} if isinstance(value, list | tuple) else set()


def filled(value: Any, look_up: Callable[[str], Any]) -> Any:
    """Return `value` with each `$path` replaced; MISSING if the whole of it is a path that isn't there.

    A text that is nothing but a reference becomes the value itself, of whatever type; inside a longer text it is
    written out. In a mapping, keys whose value is missing are left out.
    """
    if isinstance(value, str):
        whole = _REFERENCE.fullmatch(value)
        if whole:
            return look_up(whole[1])
        return _REFERENCE.sub(lambda at: _written(look_up(at[1])), value)
    if isinstance(value, Mapping):
        inner = {key: filled(item, look_up) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item is not MISSING}
    if isinstance(value, list | tuple):
        return [None if (item := filled(part, look_up)) is MISSING else item for part in value]
    return value


def _written(value: Any) -> str:
    return "" if value is MISSING or value is None else str(value)


def provided(output: Mapping[str, Any], path: str) -> Any:
    """Return what `output` holds for a path of the context: under the whole path, or under its last part."""
    value = look(output, path)
    if value is MISSING:
        value = output.get(path, MISSING)
    return output.get(path.rpartition(".")[2], MISSING) if value is MISSING else value


def plain(value: Any) -> Any:
    """Return `value` as JSON has it: times as ISO 8601, sets sorted, keys as text. Raises TypeError for other types."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON value")
