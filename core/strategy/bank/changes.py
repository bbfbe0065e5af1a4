"""What changed in a bank since one looked last: a stamp of sizes and times, without reading a file.

For a screen that must not read 217 files to find out that nothing happened. It writes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from core.state.atomic import LEFTOVER
from core.strategy.bank import executions, outcomes, turns
from core.strategy.bank.bank import SETTINGS, STATE, VERSIONS, Bank

Facet = Literal[
    "settings", "strategies", "releases", "states", "versions", "executions", "outcomes", "shadow", "turns", "feedback"
]
FACETS: tuple[Facet, ...] = get_args(Facet)
SHADOW = "shadow"
FEEDBACK = "feedback"
"""Where bad cases are queued, and what the nightly run makes of them (core.strategy.feedback)."""
_Seen = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Stamp:
    """How a bank looked: for each facet its files with size and time of change. Compare it by `changed` only."""

    seen: Mapping[Facet, frozenset[_Seen]]


def stamp(bank: Bank) -> Stamp:
    """Return how the bank and its records look now."""
    seen: dict[Facet, set[_Seen]] = {facet: set() for facet in FACETS}
    for path, status in _walk(bank.root):
        facet = _facet(path.relative_to(bank.root).parts)
        if facet is not None:
            seen[facet].add((str(path), status.st_size, status.st_mtime_ns))
    kept: tuple[tuple[Facet, str], ...] = (
        ("executions", executions.DIRECTORY),
        ("outcomes", outcomes.DIRECTORY),
        ("shadow", SHADOW),
        ("turns", turns.DIRECTORY),
        ("feedback", FEEDBACK),
    )
    for facet, name in kept:
        seen[facet] = {(str(path), status.st_size, status.st_mtime_ns) for path, status in _walk(bank.records / name)}
    return Stamp({facet: frozenset(found) for facet, found in seen.items()})


def changed(before: Stamp | None, after: Stamp) -> frozenset[Facet]:
    """Return the facets that differ; all of them where there was no look before. Pure."""
    if before is None:
        return frozenset(FACETS)
    return frozenset(facet for facet in FACETS if before.seen[facet] != after.seen[facet])


def changed_strategies(before: Stamp, after: Stamp) -> frozenset[str]:
    """Return the ids of the strategies whose text or release file came, went or changed. Pure."""
    names: set[str] = set()
    for facet in ("strategies", "releases"):
        names |= {Path(name).name for name, _, _ in before.seen[facet] ^ after.seen[facet]}
    return frozenset(name.removesuffix(".yaml").removesuffix(".release") for name in names)


def _facet(parts: tuple[str, ...]) -> Facet | None:
    match parts:
        case (name,) if name == SETTINGS:
            return "settings"
        case (name,) if name == STATE:
            return "states"
        case (first, _, _) if first == VERSIONS:
            return "versions"
        case (first, name) if not first.startswith(".") and name.endswith(".release.yaml"):
            return "releases"
        case (first, name) if not first.startswith(".") and name.endswith(".yaml"):
            return "strategies"
    return None


def _walk(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for directory, below, names in os.walk(root):
        below[:] = [name for name in below if name not in {".git", ".records"}]
        for name in names:
            path = Path(directory, name)
            if LEFTOVER.match(name):
                continue
            try:
                yield path, path.stat()
            except FileNotFoundError:
                continue  # gone between the two
