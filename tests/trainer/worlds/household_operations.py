"""Reads the operations that were judged by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core.curation.worlds import Episode, Step, Task

FILE = Path(__file__).parent / "data" / "household_operations.yaml"


@dataclass(frozen=True)
class Judged:
    """An operation's text, the Episode it was written after, and the criteria that it fails by hand."""

    id: str
    content: str
    episode: Episode
    fails: tuple[str, ...]
    aside: bool

    @property
    def valid(self) -> bool:
        """By hand."""
        return not self.fails


def _episode(name: str, told: dict[str, Any]) -> Episode:
    steps = tuple(Step(action, seen) for action, seen in told["steps"])
    task = Task(name, told["family"], told["task"], "train", 0)
    return Episode(task, told["won"], len(steps), steps)


def _content(entry: dict[str, Any]) -> str:
    if "content" in entry:
        return str(entry["content"])
    return f"---\nname: {entry['title']}\ndescription: {entry['description']}\n---\n\n{entry['body']}"


@cache
def operations() -> tuple[Judged, ...]:
    """Return all of them."""
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    episodes = {name: _episode(name, told) for name, told in document["episodes"].items()}
    return tuple(
        Judged(
            entry["id"],
            _content(entry),
            episodes[entry["episode"]],
            tuple(entry["fails"]),
            bool(entry.get("aside", False)),
        )
        for entry in document["operations"]
    )
