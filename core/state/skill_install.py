"""Copying skills into an agent: whole directories (EVOLUTION 3.1 no. 6)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from core.foundation.errors import ConflictError, NotFoundError, UsageError
from core.state import readonly
from core.state.paths import check_id

# One skill under its newer and its older name; a library has either (EVOLUTION 3).
_ALIASES = {"agent-initialization": "agent-creation", "agent-creation": "agent-initialization"}


@contextmanager
def library_skill(name: str, library: Path | None = None) -> Iterator[Path]:
    """Give the directory of the skill `name` in `library`, or among the skills that come with the program.

    Raises NotFoundError where there is none.
    """
    check_id("skill", name)
    root: Traversable = library if library is not None else resources.files("skills")
    for candidate in (name, _ALIASES.get(name, name)):
        if (root / candidate / "SKILL.md").is_file():
            with resources.as_file(root / candidate) as directory:
                yield directory
            return
    raise NotFoundError(f"There is no skill {name!r} in the library.", hint="Give a directory with a SKILL.md instead.")


def install_skill(source: Path, skills: Path) -> Path:
    """Copy the skill directory `source` into `skills` and return the copy.

    What its SKILL.md says is for the caller to judge (`core.skillrepo.document`). Raises UsageError where there is
    none, or for a symbolic link in it, and ConflictError where a skill of that name is installed.
    """
    readonly.refuse(skills)
    name = source.name
    if not (source / "SKILL.md").is_file():
        raise UsageError(f"{source} is no skill: it has no SKILL.md.", hint="Give the directory of a skill.")
    linked = next((path for path in source.rglob("*") if path.is_symlink()), None)
    if linked is not None:
        raise UsageError(f"The skill {name!r} holds a symbolic link: {linked}.", hint="Put a copy in its place.")
    target = skills / name
    if target.exists():
        raise ConflictError(f"The skill {name!r} is installed already.", hint="Remove or rename it first.")
    skills.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".git"))
    for path in [target, *target.rglob("*")]:  # a library may be installed read-only; a copy is the agent's own
        path.chmod(path.stat().st_mode | 0o200)
    return target
