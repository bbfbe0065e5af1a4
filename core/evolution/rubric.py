"""A Case's rubric: README.md items that total 100, and optional executable checks (DECISIONS 9).

An item is a line `- 25 pts: what earns them` or `- 25: ...`. `checks.yaml` lists commands that decide points
of an item without a model's opinion; what they leave of an item is judged. Nothing here runs a command.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from core.foundation.errors import DamagedError
from core.state.paths import CasePaths
from core.state.yaml12 import YamlError, load

TOTAL_POINTS = 100.0
_ITEM = re.compile(r"^-\s+(?P<points>\d+(?:\.\d+)?)\s*(?:pts?|points?)?\s*:\s*(?P<text>\S.*)$")
_CHECK_KEYS = frozenset({"id", "item", "points", "asserts", "command"})
_CHECK_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")


class RubricError(DamagedError):
    """The rubric does not say clearly how 100 points are earned. `problems` lists every reason."""

    def __init__(self, case_id: str, problems: tuple[str, ...]) -> None:
        super().__init__(
            f"The rubric of {case_id} is not usable: " + "; ".join(problems) + ".",
            hint="Each item is a line '- N pts: what earns them'; items total exactly 100; checks name an item by "
            "its number and give at most its points.",
        )
        self.problems = problems


@dataclass(frozen=True, slots=True)
class RubricItem:
    """One scored item; `number` counts from 1 in the order of README.md."""

    number: int
    points: float
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """A command that decides `points` of item `item`: exit 0 gives them, any other exit gives none."""

    id: str
    item: int
    points: float
    asserts: str
    command: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """Items that total 100 and the checks that decide parts of them."""

    items: tuple[RubricItem, ...]
    checks: tuple[Check, ...]

    def checked_points(self, item: int) -> float:
        """Return the points of `item` that checks decide; the rest is judged."""
        return sum(check.points for check in self.checks if check.item == item)


def parse_items(text: str) -> tuple[RubricItem, ...]:
    """Return the items of a rubric README, numbered in order."""
    found = (match for line in text.splitlines() if (match := _ITEM.match(line.rstrip())))
    return tuple(
        RubricItem(number, float(match["points"]), match["text"].strip()) for number, match in enumerate(found, 1)
    )


def _check(entry: Any, position: int, problems: list[str]) -> Check | None:
    where = f"check {position}"
    if not isinstance(entry, dict) or set(entry) != _CHECK_KEYS:
        problems.append(f"{where} needs exactly the keys {', '.join(sorted(_CHECK_KEYS))}")
        return None
    identifier, item, points = entry["id"], entry["item"], entry["points"]
    if not isinstance(identifier, str) or not _CHECK_ID.fullmatch(identifier):
        problems.append(f"{where} has no usable id")
        return None
    if isinstance(item, bool) or not isinstance(item, int):
        problems.append(f"check {identifier} names no item number")
        return None
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 < points <= TOTAL_POINTS:
        problems.append(f"check {identifier} gives no points between 0 and 100")
        return None
    if not isinstance(entry["asserts"], str) or not isinstance(entry["command"], str) or not entry["command"].strip():
        problems.append(f"check {identifier} lacks what it asserts or its command")
        return None
    return Check(identifier, item, float(points), entry["asserts"], entry["command"])


def parse_checks(text: str) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """Return the checks of a `checks.yaml` and every problem found in it."""
    problems: list[str] = []
    try:
        document = load(text)
    except YamlError as error:
        return (), (f"checks.yaml: {error}",)
    entries = document.get("checks") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        return (), ("checks.yaml holds no list 'checks'",)
    checks = tuple(
        check for position, entry in enumerate(entries, 1) if (check := _check(entry, position, problems)) is not None
    )
    identifiers = [check.id for check in checks]
    problems += [f"check id {name} occurs twice" for name in sorted(set(identifiers)) if identifiers.count(name) > 1]
    return checks, tuple(problems)


def rubric_of(case_id: str, readme: str, checks_text: str | None) -> Rubric:
    """Return the rubric told by the two texts, or raise RubricError with every problem at once."""
    items = parse_items(readme)
    problems: list[str] = []
    total = math.fsum(item.points for item in items)
    if not items:
        problems.append("README.md has no item line '- N pts: ...'")
    elif not math.isclose(total, TOTAL_POINTS, abs_tol=1e-9):
        problems.append(f"items total {total:g}, not 100")
    checks: tuple[Check, ...] = ()
    if checks_text is not None:
        checks, found = parse_checks(checks_text)
        problems += found
    points_of = {item.number: item.points for item in items}
    for number in sorted({check.item for check in checks}):
        given = math.fsum(check.points for check in checks if check.item == number)
        if number not in points_of:
            problems.append(f"checks name item {number}, which README.md does not have")
        elif given > points_of[number] + 1e-9:
            problems.append(f"checks of item {number} give {given:g} of its {points_of[number]:g} points")
    if problems:
        raise RubricError(case_id, tuple(problems))
    return Rubric(items, checks)


def read_rubric(case: CasePaths) -> Rubric:
    """Read a Case's rubric from disk. Raises RubricError; a missing README.md is a problem like any other."""
    try:
        readme = case.rubric_readme.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError) as error:
        raise RubricError(case.id, (f"rubric/README.md: {type(error).__name__}",)) from error
    try:
        checks_text = case.checks.read_text(encoding="utf-8") if case.checks.exists() else None
    except UnicodeDecodeError as error:
        raise RubricError(case.id, ("rubric/checks.yaml is not UTF-8",)) from error
    return rubric_of(case.id, readme, checks_text)
