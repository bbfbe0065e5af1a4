"""Reading one JSON object field by field: what is missing is None, what can't be is an error that names the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.foundation.strict_json import is_number

_MISSING = object()
_ROUNDING = 1e-6
_MOST = 2**63  # what no counter reaches; larger ones would be infinite as soon as somebody reckons with them


class Fields:
    """A JSON object and the name it has in its record, for messages."""

    def __init__(self, values: Mapping[str, Any], name: str = "") -> None:
        self._values = values
        self._name = name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; `default` where it is missing, or ValueError where there is none."""
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def whole(self, name: str) -> int:
        """Return a count that must be there."""
        value = self.count(name)
        if value is None:
            raise self._wrong(name, "a whole number")
        return value

    def count(self, name: str) -> int | None:
        """Return a whole number of 0 or more, None where it is missing."""
        value = self._values.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST):
            raise self._wrong(name, "a whole number")
        return value

    def number(self, name: str) -> float | None:
        """Return a finite number, None where it is missing."""
        value = self._values.get(name)
        if value is None:
            return None
        if not is_number(value):
            raise self._wrong(name, "a number")
        return float(value)

    def amount(self, name: str) -> float | None:
        """Return a number of 0 or more."""
        value = self.number(name)
        if value is not None and value < 0:
            raise self._wrong(name, "a number of 0 or more")
        return value

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1; what a mean of shares adds to that by rounding is taken off."""
        value = self.number(name)
        if value is None:
            return None
        if not -_ROUNDING <= value <= 1 + _ROUNDING:
            raise self._wrong(name, "a share from 0 to 1")
        return min(1.0, max(0.0, value))

    def flag(self, name: str) -> bool | None:
        """Return a truth value, None where it is missing."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return an object as it is; empty where it is missing."""
        value = self._values.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return value

    def part(self, name: str) -> Fields:
        """Return the fields of an object inside; without any where it is missing."""
        return Fields(self.mapping(name), f"{self._name}{name}.")

    def parts(self, name: str) -> tuple[Fields, ...]:
        """Return the objects of a list; none where it is missing."""
        items = self._list(name)
        if not all(isinstance(item, dict) for item in items):
            raise self._wrong(name, "a list of objects")
        return tuple(Fields(item, f"{self._name}{name}[{index}].") for index, item in enumerate(items))

    def items(self, name: str) -> tuple[Any, ...]:
        """Return a list as it is; empty where it is missing."""
        return tuple(self._list(name))

    def counts(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers of 0 or more; none where it is missing."""
        items = self._list(name)
        if not all(isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= _MOST for item in items):
            raise self._wrong(name, "a list of whole numbers")
        return tuple(items)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; none where it is missing."""
        items = self._list(name)
        if not all(isinstance(item, str) for item in items):
            raise self._wrong(name, "a list of texts")
        return tuple(items)

    def _list(self, name: str) -> list[Any]:
        value = self._values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return value

    def _wrong(self, name: str, wanted: str) -> ValueError:
        value = self._values.get(name, _MISSING)
        found = "nothing" if value is _MISSING else repr(value)[:40]
        return ValueError(f"{self._name}{name}: {found} is not {wanted}")
