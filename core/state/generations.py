"""Which layout a Project has, and a clear word where this version does not read it (EVOLUTION 1.9).

G1, `<project>/agents/<agent>/` with benchmarks under the agent, is read and written in full. G0 has the agents
directly under the Project; G2 has benchmarks of the Project. Both are recognised and named, never half-read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.state.paths import HomePaths, ProjectPaths

Generation = Literal["G0", "G1", "G2", "package"]


@dataclass(frozen=True)
class Layout:
    """A layout found in a Project. `text` says what this version does with it; `path` is what gave it away."""

    project_id: str
    generation: Generation
    supported: bool
    path: Path
    text: str


def detect_generations(home: Path | HomePaths) -> tuple[Layout, ...]:
    """Return the layouts found under `home`, by Project; several may stand side by side in one after an upgrade.

    Nothing is written. A Project without any agent yields nothing.
    """
    paths = home if isinstance(home, HomePaths) else HomePaths(home)
    return tuple(layout for project_id in paths.project_ids() for layout in _of_project(paths.project(project_id)))


def unsupported(home: Path | HomePaths) -> tuple[str, ...]:
    """Return one sentence for each layout under `home` that this version does not read."""
    return tuple(layout.text for layout in detect_generations(home) if not layout.supported)


def _of_project(project: ProjectPaths) -> list[Layout]:
    found: list[Layout] = []
    package = next(project.root.glob("benchmarks/*/benchmark.json"), None) or next(
        project.agents.glob("*/benchmarks/*/benchmark.json"), None
    )
    project_benchmark = next(project.root.glob("benchmarks/*/benchmark_config.toml"), None)
    old_agent = next(project.root.glob("*/agent_state"), None)
    if project.agent_ids():
        text = f"Project {project.id}: agents and their own benchmarks are read and written."
        found.append(Layout(project.id, "G1", True, project.agents, text))
    if project_benchmark is not None:
        text = (
            f"Project {project.id}: benchmarks of the Project ({project_benchmark.parent.parent}) are a newer layout "
            "that this version does not read yet. They are left alone; benchmarks under an agent are shown."
        )
        found.append(Layout(project.id, "G2", False, project_benchmark, text))
    if package is not None:
        text = (
            f"Project {project.id}: {package} describes a benchmark as a JSON package, which this version does "
            "not read. It is left alone."
        )
        found.append(Layout(project.id, "package", False, package, text))
    if old_agent is not None and not project.agents.is_dir():
        text = (
            f"Project {project.id}: agents lie directly in the Project ({old_agent.parent}), an older layout that this "
            "version does not read. They are left alone; move each to agents/<agent>/ with the system that wrote it."
        )
        found.append(Layout(project.id, "G0", False, old_agent, text))
    return found
