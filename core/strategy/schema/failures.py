"""Failure cases that stand in tests, read from the tests' source (STRATEGY S57).

A test with a mocked failure says which row of the profile it stands for:

    @pytest.mark.failure("NETWORK_TIMEOUT", skill="apply_refund", severity="high", recovery="retry_with_backoff",
                         fallback="check_order_status")
    def test_a_timeout_of_the_payment_service(...): ...

The source is read, not run: a profile must not depend on how a test run went. Several tests may name one row alike.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.strategy.documents.reading import Fault
from core.strategy.documents.skill import FailureMode

MARKER = "failure"
_KEYS = {"severity": "severity", "recovery": "auto_recovery", "fallback": "fallback_skill"}


@dataclass(frozen=True, slots=True)
class Collected:
    """Rows by skill, each code once, in the order of the files; and what could not be read."""

    rows: dict[str, tuple[FailureMode, ...]]
    faults: tuple[Fault, ...]


def collect(tests: Path) -> Collected:
    """Return the failure cases of the tests below a directory, or of one file."""
    found: dict[str, dict[str, FailureMode]] = {}
    faults: list[Fault] = []
    for path in [tests] if tests.is_file() else sorted(tests.rglob("*.py")):
        file = path.name if tests.is_file() else path.relative_to(tests).as_posix()
        for skill, row in _rows(path, file, faults):
            rows = found.setdefault(skill, {})
            if rows.setdefault(row.code, row) != row:
                faults.append(Fault(file, 0, 0, f"{skill}.{row.code}", "two tests say different things of this row"))
    return Collected({skill: tuple(rows.values()) for skill, rows in found.items()}, tuple(faults))


def _rows(path: Path, file: str, faults: list[Fault]) -> Iterator[tuple[str, FailureMode]]:
    try:
        text = path.read_text(encoding="utf-8")
        if f"mark.{MARKER}" not in text:
            return
        tree = ast.parse(text)
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        faults.append(Fault(file, getattr(error, "lineno", 0) or 0, 0, "", f"can't be read: {error}"))
        return
    marks = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_mark(node.func)]
    for mark in sorted(marks, key=lambda node: node.lineno):
        try:
            yield _row(mark)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            faults.append(Fault(file, mark.lineno, mark.col_offset + 1, where, first["msg"]))
        except ValueError as error:
            faults.append(Fault(file, mark.lineno, mark.col_offset + 1, "", str(error)))


def _is_mark(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == MARKER
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "mark"
    )


def _row(mark: ast.Call) -> tuple[str, FailureMode]:
    given: dict[str, Any] = {}
    for keyword in mark.keywords:
        if keyword.arg not in {*_KEYS, "skill"}:
            raise ValueError(f"the marker knows skill, {', '.join(_KEYS)}, not {keyword.arg or '**'}")
        given[keyword.arg] = _written(keyword.value)
    if len(mark.args) != 1 or "skill" not in given or "severity" not in given:
        raise ValueError("the marker takes a code, and skill= and severity= by name")
    row = {_KEYS[key]: value for key, value in given.items() if key != "skill"}
    return str(given["skill"]), FailureMode(code=_written(mark.args[0]), **row)


def _written(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        raise ValueError("the marker's values are written out, so that they can be read without running") from None
