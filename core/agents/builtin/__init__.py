"""Agents that come with the program, in the on-disk format: made from here, changed like any other afterwards.

A directory here holds `agent.yaml` (name, description, settings of the configuration), AGENTS.md, skills/, and
strategies/ where strategies govern it.
"""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from core.agents.in_force import DIRECTORY
from core.foundation.errors import NotFoundError
from core.state import yaml12
from core.state.agents import create_agent, edit_config
from core.state.paths import AgentPaths, ProjectPaths

SHOP_CLERK = "shop_clerk"


def names() -> tuple[str, ...]:
    """Return the names of the built-in agents."""
    return tuple(sorted(path.name for path in _root().iterdir() if (path / "agent.yaml").is_file()))


def make(project: ProjectPaths, name: str, agent_id: str | None = None) -> AgentPaths:
    """Make the built-in agent `name` in a Project, under its own name where `agent_id` is None; return its paths.

    Raises NotFoundError for a name that isn't there, ConflictError where the id is taken.
    """
    if name not in names():
        raise NotFoundError(f"There is no built-in agent {name!r}.", hint=f"There are: {', '.join(names())}.")
    source = _root() / name
    told = yaml12.load((source / "agent.yaml").read_text(encoding="utf-8"))
    made = create_agent(
        project,
        agent_id or name,
        name=told["name"],
        description=told["description"],
        agents_md=(source / "AGENTS.md").read_text(encoding="utf-8"),
        skills=sorted(path for path in (source / "skills").iterdir() if path.is_dir()),
    )
    # Strategies before the setting that lets them govern: never a moment with neither.
    if (source / DIRECTORY).is_dir():
        shutil.copytree(source / DIRECTORY, made.state / DIRECTORY)
    edit_config(made, told.get("settings") or {})
    return made


def _root() -> Path:
    return Path(str(resources.files(__package__)))
