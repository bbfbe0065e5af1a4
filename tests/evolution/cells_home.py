"""A home with an agent and the built-in benchmark, for tests that fill cells with real processes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from core.evolution.cell_context import MatrixContext
from core.evolution.cells import CellRequest
from core.models.interface import ModelRef
from core.models.registry import resolve
from core.models.rehearsal.options import RehearsalOptions
from core.state.agents import create_agent
from core.state.fresh import ensure_home, ensure_operator
from core.state.paths import AgentPaths, ProjectPaths

AGENT = "data_helper"
BENCHMARK = "data-chores"


def library() -> Path:
    return Path(str(resources.files("benchmarks"))) / BENCHMARK


def make_home(home: Path) -> AgentPaths:
    """Make a home whose agent carries a copy of the built-in benchmark, as if it had been built for it."""
    project = ensure_home(home)
    agent = create_agent(project, AGENT, name="Data helper", description="d", agents_md="# Role\n\nDo data chores.\n")
    target = agent.benchmark(BENCHMARK).root
    shutil.copytree(library(), target, ignore=shutil.ignore_patterns("material"))
    (target / "scoreboard.yaml").write_text("evaluations: []\n", encoding="utf-8")
    return agent


class Events:
    """A journal in memory: what cells emitted, in order."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []

    def emit(self, event: str, **fields: Any) -> None:
        self.all.append({"event": event, **fields})

    def of(self, event: str, **fields: Any) -> list[dict[str, Any]]:
        wanted: Mapping[str, Any] = {"event": event, **fields}
        return [entry for entry in self.all if all(entry.get(key) == value for key, value in wanted.items())]


def context_of(agent: AgentPaths, events: Events, options: RehearsalOptions | None = None) -> MatrixContext:
    project: ProjectPaths = agent.project
    settings = options or RehearsalOptions()
    provider, entry = resolve(project, "rehearsal", "rehearsal-1", rehearsal=settings)
    return MatrixContext(
        project=project,
        agent=agent,
        benchmark=agent.benchmark(BENCHMARK),
        operator=ensure_operator(project),
        provider=provider,
        model=ModelRef("rehearsal", "rehearsal-1"),
        entry=entry,
        emit=events.emit,
        items=project.runs / "test" / "items.jsonl",
        events=tuple(events.all),
        rehearsal=settings,
    )


def cell(case_id: str, run: int = 1, cell_id: str | None = None) -> CellRequest:
    return CellRequest(cell_id or f"p1/{case_id}/r{run}", case_id, run, 1, "pilot", 1)
