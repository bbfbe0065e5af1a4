"""The agents of a Project: reading, listing, changing and making them (EVOLUTION 1.3, 1.4, 3.1)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from core.foundation.clock import short_id
from core.foundation.errors import ConflictError, DamagedError, ExuviaError, NotFoundError, UsageError
from core.foundation.visible import decode, well_formed
from core.state import atomic, locks, readonly
from core.state.agent_config import THINKING_LEVELS, AgentConfig, BuiltinTool, Compaction, PromptBlock, parse_config
from core.state.config_edit import edited
from core.state.paths import DEFAULT_AGENT, AgentPaths, ProjectPaths
from core.state.skill_install import install_skill, library_skill

__all__ = [
    "THINKING_LEVELS",
    "AgentConfig",
    "AgentSummary",
    "BuiltinTool",
    "Compaction",
    "PromptBlock",
    "create_agent",
    "default_config_text",
    "edit_config",
    "list_agents",
    "parse_config",
    "read_agent",
]


@dataclass(frozen=True)
class AgentSummary:
    """An agent as listed. `problem` says why its configuration cannot be used; the names are then the id."""

    id: str
    name: str
    description: str
    version: int
    problem: str = ""


def default_config_text() -> str:
    """Return the configuration that a new agent gets: our own prompt with the format's placeholders, and tools."""
    return (resources.files("core.state") / "template" / "system_config.yaml").read_text(encoding="utf-8")


def read_agent(agent: AgentPaths) -> AgentConfig:
    """Return the agent's configuration. Raises NotFoundError, or DamagedError where it cannot be used."""
    return parse_config(_config_text(agent), agent.id, agent.config)


def _config_text(agent: AgentPaths) -> str:
    try:
        return decode(agent.config.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(
            f"There is no agent {agent.id!r} in project {agent.project.id!r}.", hint="List the agents of the project."
        ) from error
    except OSError as error:
        raise DamagedError(f"{agent.config} cannot be read: {error.strerror or error}") from error


def list_agents(project: ProjectPaths) -> tuple[AgentSummary, ...]:
    """Return every initialised agent, by id; one with an unusable configuration is listed with its problem."""
    return tuple(_summary(project.agent(agent_id)) for agent_id in project.agent_ids())


def _summary(agent: AgentPaths) -> AgentSummary:
    try:
        config = read_agent(agent)
    except ExuviaError as error:
        return AgentSummary(agent.id, agent.id, "", 1, str(error))
    return AgentSummary(agent.id, config.name, config.description, config.version)


def edit_config(agent: AgentPaths, changes: Mapping[str, Any]) -> AgentConfig:
    """Set dotted paths of the agent's configuration (`{"version": 2, "model.thinking_level": "high"}`) and return it.

    Everything else in the file stays byte for byte. Under a lock; parsed again before it replaces the old file in
    one rename. Raises UsageError for a value that the format would not take, with nothing written.
    """
    readonly.refuse(agent.root)
    with locks.held(agent.lock):
        text = _config_text(agent)
        known = len(parse_config(text, agent.id, agent.config).diagnostics)
        new = edited(text, changes)
        config = _checked(new, agent, known)
        if new != text:
            atomic.write_text(agent.config, new)
        return config


def _checked(text: str, agent: AgentPaths, known_problems: int) -> AgentConfig:
    try:
        config = parse_config(text, agent.id, agent.config)
    except DamagedError as error:
        raise UsageError(f"The change would make the configuration unusable: {error}") from error
    if len(config.diagnostics) > known_problems:
        raise UsageError(f"The change holds a value that the format does not take: {config.diagnostics[-1].text}")
    return config


def create_agent(
    project: ProjectPaths,
    agent_id: str,
    *,
    name: str,
    description: str,
    agents_md: str,
    thinking_level: str = "medium",
    max_turns: int | None = None,
    skills: Sequence[Path | str] = (),
    library: Path | None = None,
) -> AgentPaths:
    """Make a new agent at version 1 and return its paths (EVOLUTION 3.1 no. 5 to 8).

    Its base is the project's default agent's configuration, or ours; the requirement goes into AGENTS.md and never
    into the system prompt. `max_turns` None keeps the base's. A skill is a directory, or a name in `library` (the
    program's own by default). The agent appears whole or not at all. Raises ConflictError where anything has that
    name, UsageError for bad values.
    """
    target = project.agent(agent_id)
    readonly.refuse(target.root)
    # Words of a command line may hold bytes that are no text; a model's may hold half a character.
    name, description, agents_md = well_formed(name), well_formed(description), well_formed(agents_md)
    if not name.strip() or not agents_md.strip():
        raise UsageError(f"The new agent {agent_id!r} needs a name and a text for AGENTS.md.")
    if thinking_level not in THINKING_LEVELS:
        raise UsageError(f"{thinking_level!r} is no thinking level.", hint=f"Use one of {', '.join(THINKING_LEVELS)}.")
    taken = ConflictError(
        f"There is already something at {target.root}.", hint="Choose another id; an agent is never overwritten."
    )
    if max_turns is not None and max_turns < -1:
        raise UsageError(f"max_turns {max_turns} is no number of turns.", hint="Use -1 for the default, or 1 and more.")
    if target.root.exists():
        raise taken
    project.agents.mkdir(parents=True, exist_ok=True)
    staging = AgentPaths(project.agents / f".import-{short_id()}{short_id()[:4]}")
    try:
        values = {"name": name, "description": description, "version": 1, "model.thinking_level": thinking_level}
        if max_turns is not None:
            values["max_turns"] = max_turns
        _fill(staging, edited(_base_config(project), values), agents_md, skills, library)
        try:
            staging.root.rename(target.root)  # fails on a directory that another creator has just put there
        except OSError as error:
            raise taken if target.root.exists() else atomic.storage_error(error, target.root) from error
        atomic.sync_directory(project.agents)
    finally:
        shutil.rmtree(staging.root, ignore_errors=True)
    return target


def _base_config(project: ProjectPaths) -> str:
    base = project.agent(DEFAULT_AGENT)
    if not base.config.is_file():
        return default_config_text()
    text = _config_text(base)
    parse_config(text, base.id, base.config)
    return text


def _fill(agent: AgentPaths, config: str, agents_md: str, skills: Sequence[Path | str], library: Path | None) -> None:
    parse_config(config, agent.id, agent.config)
    for directory in (agent.skills, agent.state / "memory", agent.state / "tools", agent.scratchpad):
        directory.mkdir(parents=True)
    for skill in skills:
        if isinstance(skill, Path):
            install_skill(skill, agent.skills)
        else:
            with library_skill(skill, library) as source:
                install_skill(source, agent.skills)
    atomic.write_text(agent.agents_md, agents_md if agents_md.endswith("\n") else agents_md + "\n")
    atomic.write_text(agent.config, config)  # last: its presence is what makes the directory an agent
