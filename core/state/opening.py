"""What a directory is that somebody points to: a home, a Project, or a place inside one (EVOLUTION 1.1 to 1.3, 1.9).

Only looks. A directory of the existing system is told by what lies in it, never by its name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from core.foundation.errors import DamagedError, NotFoundError, UsageError
from core.state.generations import detect_generations
from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths

_WANTED = (
    "Give a state directory (its Projects lie in it), a Project (it has agents/), or a directory inside one. "
    "An agent is a directory agents/AGENT with agent_state/system_config.yaml."
)


@dataclass(frozen=True, slots=True)
class Found:
    """The Project to open, and a sentence about what the directory was taken for."""

    project: ProjectPaths
    text: str


def find_project(directory: str | Path, project_id: str | None = None) -> Found:
    """Return the Project that `directory` means; `project_id` chooses where it is a home of several.

    An empty directory is a home in which nothing has happened yet. Raises NotFoundError where there is no such
    directory or Project, UsageError where it is none of all this or in a layout that is not read, DamagedError where
    it may not be looked into.
    """
    path = Path(os.path.abspath(Path(directory).expanduser()))  # noqa: PTH100  (a linked home keeps its name)
    names = _listing(path)
    if project_id is None and (found := _project(path)):
        return found
    for home, told in ((path, ""), (path / "data", f"{path} holds its state in data/: ")):
        if projects := _projects(home):
            return _of_home(home, projects, project_id, told)
    for above in path.parents:
        if found := _project(above):
            return Found(found.project, f"{path} lies inside a Project. {found.text}")
    if layouts := [layout.text for home in (path, path.parent) for layout in detect_generations(home)]:
        raise UsageError(f"{path} is in a layout that can't be opened.", hint=" ".join(layouts))
    if project := _unborn(path, names, project_id):
        return Found(project, f"{path} is a state directory with no agent yet; what comes is shown as it comes.")
    raise UsageError(f"{path} is no state directory: there is no agent in it.", hint=_WANTED)


def _listing(path: Path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        raise NotFoundError(f"There is no directory {path}.", hint=_WANTED) from None
    except NotADirectoryError:
        raise UsageError(f"{path} is a file, not a directory.", hint=_WANTED) from None
    except OSError as error:
        raise DamagedError(f"{path} can't be looked into: {error.strerror}.", hint="Mend its permissions.") from error


def _project(path: Path) -> Found | None:
    project = ProjectPaths(path)
    try:
        agents = project.agent_ids()
    except OSError:
        return None
    if not agents:
        return None
    listed = ", ".join(agents[:4]) + (f" and {len(agents) - 4} more" if len(agents) > 4 else "")
    return Found(project, f"Project {project.id} in {path.parent}: {listed}.")


def _projects(home: Path) -> dict[str, Found]:
    found = ((name, _project(home / name)) for name in HomePaths(home).project_ids())
    return {name: project for name, project in found if project is not None}


def _of_home(home: Path, projects: dict[str, Found], project_id: str | None, told: str) -> Found:
    listed = ", ".join(projects)
    if project_id is None and len(projects) > 1 and DEFAULT_PROJECT not in projects:
        raise UsageError(f"{home} holds several Projects: {listed}.", hint="Choose one: --project ID")
    chosen = project_id or (DEFAULT_PROJECT if DEFAULT_PROJECT in projects else next(iter(projects)))
    if chosen not in projects:
        raise NotFoundError(f"There is no project {chosen!r} with an agent in {home}.", hint=f"Projects: {listed}.")
    others = f" Also here: {', '.join(name for name in projects if name != chosen)}." if len(projects) > 1 else ""
    return Found(projects[chosen].project, f"{told}{projects[chosen].text}{others}")


def _unborn(path: Path, names: list[str], project_id: str | None) -> ProjectPaths | None:
    """Return the Project that will be: of an empty home, or of one whose Projects have no agent yet."""
    if "agents" in names or (path / ".project_config.toml").is_file():
        return ProjectPaths(path)
    begun = [name for name in HomePaths(path).project_ids() if (path / name / ".project_config.toml").is_file()]
    begun += [name for name in HomePaths(path).project_ids() if (path / name / "agents").is_dir()]
    if names and not begun:
        return None
    chosen = project_id or (begun[0] if begun and DEFAULT_PROJECT not in begun else DEFAULT_PROJECT)
    return HomePaths(path).project(chosen)
