"""What can be compared, by name: light to import, for whoever only names it (`sides` opens it)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["current", "snapshot", "candidate", "reference", "frozen", "benchmark", "lowest", "archive"]

OF_BENCHMARK: frozenset[str] = frozenset({"frozen", "benchmark", "lowest"})
"""Kinds that are files of a benchmark; the others are states of an agent."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison, named; nothing is read before it is opened.

    States of an agent: `current`, `snapshot` (`version`; with `content` the one that holds it), `candidate` and
    `reference` (the state with and before the Candidate `version` of `run_id`; the newest run's where it is ""),
    `archive` (a file at `path` that is about to be imported; `content` is its whole hash). Files of a benchmark:
    `frozen` (as `run_id` froze them), `benchmark` (as they are now), `lowest` (the pilot that `run_id` keeps).
    """

    kind: Kind
    agent_id: str
    version: int = 0
    run_id: str = ""
    content: str = ""
    benchmark_id: str = ""
    path: str = ""

    @property
    def words(self) -> str:
        """Return it as people call it."""
        of_benchmark = self.benchmark_id or "the benchmark"
        content = f" ({self.content.removeprefix('sha256:')[:8]})" if self.content and self.kind == "snapshot" else ""
        return {
            "current": "the present state",
            "snapshot": f"v{self.version}{content}",
            "candidate": f"Candidate v{self.version}",
            "reference": f"the Reference of v{self.version}",
            "frozen": f"{of_benchmark} as frozen",
            "benchmark": f"{of_benchmark} now",
            "lowest": f"{of_benchmark}, lowest pilot",
            "archive": Path(self.path).name,
        }[self.kind]
