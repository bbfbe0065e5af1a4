"""Where a run keeps its own files, and what kinds of runs there are.

Apart from the specs, so that whoever only looks at runs need not import what checks the settings of a new one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from core.foundation.clock import IDENTIFIER
from core.foundation.errors import UsageError
from core.state.paths import ProjectPaths, WorkPaths

Kind = Literal["build", "optimize", "try", "curate", "evaluate"]

ENGINES: Mapping[str, str] = {"curate": "core.curation.engine"}
"""Kinds of run whose process is another module than `ENGINE`: rooms above this one bring their own flow with it."""
ENGINE = "core.evolution.engine"


class RunPaths(WorkPaths):
    """A run's directory, `<project>/.exuvia/runs/<run-id>/`."""

    __slots__ = ()

    @property
    def project(self) -> ProjectPaths:
        return ProjectPaths(self.root.parent.parent.parent)

    @property
    def journal(self) -> Path:
        return self.root / "journal.jsonl"

    @property
    def report(self) -> Path:
        return self.root / "report.md"

    @property
    def items(self) -> Path:
        """Per-item rubric results: for the operator, never for the Optimizer."""
        return self.root / "items.jsonl"

    @property
    def lowest(self) -> Path:
        """Restorable copy of the lowest valid pilot's Cases."""
        return self.root / "pilots" / "lowest"

    @property
    def frozen(self) -> Path:
        return self.root / "frozen.json"

    @property
    def workspace(self) -> Path:
        """The role's own scratch directory."""
        return self.root / "workspace"

    def candidate(self, version: int) -> Path:
        """`candidates/v<version>/` with candidate.json, diff.patch and both states."""
        return self.root / "candidates" / f"v{version}"


def run_paths(project: ProjectPaths, run_id: str) -> RunPaths:
    """Return the paths of a run, there or not. Raises UsageError where the id is none."""
    if not IDENTIFIER.fullmatch(run_id):
        raise UsageError(f"{run_id!r} is no run id.", hint="List the runs: exuvia runs list")
    return RunPaths(project.runs / run_id)


def new_run_id(kind: Kind) -> str:
    """Return `<kind>-YYYYMMDD-HHMMSS-<4 hex>` in local time."""
    return datetime.now().astimezone().strftime(f"{kind}-%Y%m%d-%H%M%S-") + os.urandom(2).hex()
