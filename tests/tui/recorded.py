"""Recorded homes: a whole rehearsal run as files, so that screens have something real to show, the same each time.

`waiting` is a home whose Builder has asked for its freeze; `ended` one whose Optimizer has finished. Made anew by
`python -P -m tests.tui.recorded`, which runs the demonstration (a few minutes) and keeps what screens read.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths

FIXTURES = Path(__file__).parents[1] / "fixtures" / "recorded"
_SEED = 7
_KEPT_WORKSPACES = 4
"""Workspaces are the bulk of a home; a few are enough to look into."""


def unpack(name: str, root: Path) -> ProjectPaths:
    """Lay a recorded home out under `root` and return its Project."""
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    return HomePaths(root).project(DEFAULT_PROJECT)


def main() -> None:
    """Record both homes."""
    with tempfile.TemporaryDirectory(prefix="exuvia-") as directory:
        home = Path(directory, "home")
        _demo(home, "ask", 3)
        _pack(home, "waiting")
        approvals = [*HomePaths(home).project(DEFAULT_PROJECT).approvals.glob("*.json")]
        assert len(approvals) == 1
        exuvia("--home", str(home), "approvals", "approve", approvals[0].stem, "--resume")
        _demo(home, "auto", 0)
        _pack(home, "ended")


def exuvia(*arguments: str, code: int = 0) -> None:
    """Run the command line."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from tui.cli.main import main; main()", *arguments], check=False
    )
    assert done.returncode == code, (arguments, done.returncode)


def _demo(home: Path, approve: str, code: int) -> None:
    exuvia("demo", "--headless", "--approve", approve, "--home", str(home), "--seed", str(_SEED), code=code)


def _pack(home: Path, name: str) -> None:
    kept = 0

    def choose(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal kept
        parts = Path(member.name).parts
        if "scratchpad" in parts or "environments" in parts or parts[-1] in ("lock", "engine.pid", "heartbeat"):
            return None
        if len(parts) > 1 and parts[-2] == "workspaces":
            kept += 1
            if kept > _KEPT_WORKSPACES:
                return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    FIXTURES.mkdir(exist_ok=True)
    with tarfile.open(FIXTURES / f"{name}.tar.xz", "w:xz") as archive:
        for path in sorted(home.iterdir()):
            archive.add(path, path.name, filter=choose)


if __name__ == "__main__":
    main()
