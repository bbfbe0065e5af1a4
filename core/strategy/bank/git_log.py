"""What git knows of a bank, where the operator keeps it in git (S63). Git is optional; nothing here writes."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from core.foundation.visible import decode, visible_line

_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that touched a file of the bank; texts are safe to print."""

    sha: str
    time: str
    author: str
    subject: str


def log(root: Path, path: str = ".", most: int = 50) -> tuple[Commit, ...] | None:
    """Return the commits that touched `path`, newest first; None where the bank is in no git work tree, or git missing.

    A work tree without any commit gives none.
    """
    git = shutil.which("git")
    if git is None or not root.is_dir():
        return None
    base = [git, "-C", str(root), "--no-optional-locks"]
    inside = subprocess.run(
        [*base, "rev-parse", "--is-inside-work-tree"], capture_output=True, timeout=_LIMIT_S, check=False
    )
    if inside.returncode or inside.stdout.strip() != b"true":
        return None
    form = "--format=%H%x00%cI%x00%an%x00%s"
    told = subprocess.run(
        [*base, "log", f"--max-count={most}", form, "--", path], capture_output=True, timeout=_LIMIT_S, check=False
    )
    rows = (line.split("\0") for line in decode(told.stdout).splitlines()) if not told.returncode else ()
    return tuple(Commit(*(visible_line(cell) for cell in row)) for row in rows if len(row) == 4)
