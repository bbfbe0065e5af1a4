"""Where the skills of a command come from: the built-in library, an agent, or the directory of a curated repository."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import click

from core.foundation.errors import NotFoundError, UsageError
from core.skillrepo.document import SkillDocument, installed, read_curated, read_skill
from core.skillrepo.skill import Skill
from tui.cli.common import Place, note

R = TypeVar("R")


@dataclass(frozen=True)
class Source:
    """What --agent, --repo and --at named."""

    agent_id: str | None
    repo: Path | None
    position: int | None

    def documents(self, place: Place) -> tuple[SkillDocument, ...]:
        """Return the skills there; what can't be read of a repository is told on stderr."""
        if self.repo is None:
            return installed(skills_of(place, self.agent_id))
        return tuple(read_curated(skill.content) for skill in self.curated())

    def skills(self, place: Place) -> tuple[Skill, ...]:
        """Return the skills there as retrieval and comparison see them."""
        if self.repo is not None:
            return self.curated()
        return tuple(
            Skill(document.name, document.description, document.body, document.text)
            for document in self.documents(place)
        )

    def curated(self) -> tuple[Skill, ...]:
        """Return the skills of the repository in order."""
        from core.skillrepo import kept

        assert self.repo is not None
        loaded = kept.at(self.repo, self.position)
        for told in loaded.notes:
            note(f"Note: {told}")
        return loaded.repository.skills

    def document(self, place: Place, name: str) -> SkillDocument:
        """Return the skill NAME; a repository's by title or by folder. Raises NotFoundError naming those there are."""
        if self.repo is None:
            return read_skill(named(skills_of(place, self.agent_id), name))
        from core.skillrepo.titles import folder_name, slug

        skills = self.curated()
        found = [skill for skill in skills if skill.title == name]
        found = found or [skill for skill in skills if name in (folder_name(skill.title), slug(skill.title))]
        if not found:
            known = ", ".join(skill.title for skill in skills[:20]) or "none"
            raise NotFoundError(f"There is no skill {name!r} there.", hint=f"Skills: {known}.")
        return read_curated(found[0].content)


def source_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --agent, --repo and --at; the command receives them as `source: Source`."""
    import functools

    @click.option("--agent", "agent_id", metavar="AGENT", help="Skills of this agent instead of the built-in ones.")
    @click.option(
        "--repo", metavar="DIR", type=click.Path(path_type=Path), help="Skills of the curated repository in DIR."
    )
    @click.option("--at", "position", metavar="POSITION", type=int, help="With --repo: after so many logged calls.")
    @functools.wraps(command)
    def with_source(*args: Any, agent_id: str | None, repo: Path | None, position: int | None, **kwargs: Any) -> R:
        if agent_id is not None and repo is not None:
            raise UsageError("--agent and --repo name two places.", hint="Leave one of them out.")
        if position is not None and repo is None:
            raise UsageError("--at is a position in a repository's log.", hint="Say --repo DIR too.")
        return command(*args, source=Source(agent_id, repo, position), **kwargs)

    return with_source


def library() -> Path:
    """Return the directory of the built-in skills."""
    return Path(str(resources.files("skills")))


def skills_of(place: Place, agent_id: str | None) -> Path:
    """Return the directory of an agent's skills, or of the built-in ones."""
    return library() if agent_id is None else place.agent(agent_id).skills


def named(root: Path, name: str) -> Path:
    """Return the directory of the skill NAME. Raises NotFoundError naming those there are."""
    directory = root / name
    if "/" in name or name.startswith(".") or not (directory / "SKILL.md").is_file():
        known = ", ".join(document.name for document in installed(root)) or "none"
        raise NotFoundError(f"There is no skill {name!r} there.", hint=f"Skills: {known}.")
    return directory


def facts(document: SkillDocument) -> dict[str, object]:
    """Return what --json says of a skill."""
    return {
        "name": document.name,
        "description": document.description,
        "dialect": document.dialect,
        "valid": document.valid,
        "diagnostics": [str(found) for found in document.diagnostics],
    }
