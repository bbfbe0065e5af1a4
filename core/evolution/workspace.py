"""The directories of one cell: a fresh workspace with the statement's files, and copies of it for checks.

Names are unguessable and neutral, so a Target learns nothing of its being measured from where it stands
(FAULTS: rubric reachable, answer in environment). Version control data and links never travel.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from core.foundation.errors import DamagedError
from core.state.paths import AgentPaths, CasePaths

_LEFT_OUT = frozenset({".git", ".hg", ".svn"})
COPY_LIMIT = 256 << 20  # bytes of a workspace that a check may see


def _escapes(link: Path, root: Path) -> bool:
    target = link.readlink()
    try:
        return target.is_absolute() or not (link.parent / target).resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle, or a name no system takes: they lead nowhere
        return True


def new_workspace(agent: AgentPaths, case: CasePaths) -> Path:
    """Make `<agent>/workspaces/ws-<12 hex>` with a copy of the statement's content and return its real path.

    Raises DamagedError where the statement is or holds a link: what it points to is not part of the Case.
    """
    if case.statement.is_symlink():
        raise DamagedError(f"The statement of {case.id} is a link.", hint="Replace it by a directory.")
    workspace = agent.workspaces / f"ws-{secrets.token_hex(6)}"
    workspace.mkdir(parents=True)
    real = workspace.resolve()
    if not real.is_relative_to(agent.root.resolve()):
        raise DamagedError(
            f"The workspaces of agent {agent.id} lie outside its directory.", hint="Remove the link 'workspaces'."
        )
    for source in sorted(case.statement.rglob("*")):
        relative = source.relative_to(case.statement)
        if _LEFT_OUT.intersection(relative.parts):
            continue
        if source.is_symlink():
            raise DamagedError(
                f"The statement of {case.id} holds the link {relative.as_posix()}.", hint="Replace it by a file."
            )
        if source.is_dir():
            (real / relative).mkdir(exist_ok=True)
        elif source.is_file():
            (real / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, real / relative)
    return real


def copy_for_checks(workspace: Path, target: Path) -> tuple[str, ...]:
    """Copy what a Target left into `target`; return the relative paths left out.

    Links that lead out of the workspace and special files stay behind: a check must judge the Target's own
    work, never a file the Target merely pointed at. Raises DamagedError above COPY_LIMIT, for what no copy can be
    made of, and where there is no workspace: work that is gone is not work without worth.
    """
    root = workspace.resolve()
    if not root.is_dir():
        raise DamagedError(f"The workspace {root.name} is gone.", hint="Without it there is nothing to score.")
    try:
        return _copied(root, target)
    except OSError as error:
        raise DamagedError(
            f"The workspace {root.name} can't be copied: {error.strerror or error}.", hint="Look at what is in it."
        ) from error


def _copied(root: Path, target: Path) -> tuple[str, ...]:
    left_out: list[str] = []
    size = 0
    target.mkdir(parents=True)
    for directory, names, files in os.walk(root):
        here = Path(directory)
        relative = here.relative_to(root)
        for name in sorted(names):
            if (here / name).is_symlink():
                left_out.append((relative / name).as_posix())
                names.remove(name)
            else:
                (target / relative / name).mkdir()
        for name in sorted(files):
            source, copy = here / name, target / relative / name
            if source.is_symlink() and (_escapes(source, root) or not source.is_file()):
                left_out.append((relative / name).as_posix())
            elif source.is_file():
                size += source.stat().st_size
                if size > COPY_LIMIT:
                    raise DamagedError(
                        f"The workspace {root.name} holds more than {COPY_LIMIT >> 20} MiB.",
                        hint="The Target wrote too much; look at its trace.",
                    )
                shutil.copyfile(source, copy)
                copy.chmod(source.stat().st_mode & 0o755 | 0o400)
            else:
                left_out.append((relative / name).as_posix())
    return tuple(left_out)
