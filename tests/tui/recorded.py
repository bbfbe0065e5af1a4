"""Recorded homes: a whole rehearsal run as files, so that screens have something real to show, the same each time.

`waiting` is a home whose Builder has asked for its freeze; `ended` one whose Optimizer has finished. Made anew by
`python -P -m tests.tui.recorded`, which runs the demonstration (a few minutes) and keeps what screens read.

`training` holds a training run by the preset cpu-demo, and the same run as its files were after step 34. Made anew by
`python -P -m tests.tui.recorded training`, which trains it, or packs the directory of one that was trained.
"""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from core.state.paths import DEFAULT_PROJECT, HomePaths, ProjectPaths

FIXTURES = Path(__file__).parents[1] / "fixtures" / "recorded"
_PROGRAM = Path(__file__).parents[2]
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


TRAINED, IN_TRAINING = "cpu-demo-20251231-100000-bbbb", "cpu-demo-20260101-100000-aaaa"
_CUT_AT = 34


def main_training(given: list[str]) -> None:
    """Train by cpu-demo, or take the directory of a run that was, and pack it whole and cut."""
    with tempfile.TemporaryDirectory(prefix="exuvia-") as directory:
        home = Path(directory, "home")
        run = Path(given[0]) if given else _trained(Path(directory, "made"))
        training = HomePaths(home).project(DEFAULT_PROJECT).training
        for run_id in (TRAINED, IN_TRAINING):
            _lay(run, training / run_id)
        _cut(training / IN_TRAINING)
        (training.parent.parent / "agents").mkdir()
        _pack(home, "training")


def _trained(home: Path) -> Path:
    exuvia("--home", str(home), "train", "--preset", "cpu-demo", "--seed", "0")
    (run,) = HomePaths(home).project(DEFAULT_PROJECT).training.iterdir()
    return run


def _lay(run: Path, target: Path) -> None:
    """Copy what screens read of a run: its settings, events, samples and summary, no weights."""
    target.mkdir(parents=True)
    for name in ("request.json", "spec.json", "events.jsonl", "summary.json"):
        shutil.copyfile(run / name, target / name)
    shutil.copytree(run / "samples", target / "samples")


def _cut(run: Path) -> None:
    """Make the files of a run what they were after step 34."""
    lines = (run / "events.jsonl").read_text().splitlines(keepends=True)
    last = next(at for at, line in enumerate(lines) if f'"event": "step", "step": {_CUT_AT},' in line)
    (run / "events.jsonl").write_text("".join(lines[: last + 1]))
    (run / "summary.json").unlink()
    for sample in (run / "samples").iterdir():
        if int(sample.stem.rpartition("-")[2]) > _CUT_AT:
            sample.unlink()


def exuvia(*arguments: str, code: int = 0) -> None:
    """Run the command line."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from tui.cli.main import main; main()", *arguments], check=False
    )
    assert done.returncode == code, (arguments, done.returncode)


def _demo(home: Path, approve: str, code: int) -> None:
    exuvia("demo", "--headless", "--approve", approve, "--home", str(home), "--seed", str(_SEED), code=code)


def _neutral(home: Path) -> None:
    """Take out of the files of a home whose machine it was made on, and where the program lay there."""
    here = f"{getpass.getuser()}@{socket.gethostname()}"
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            raw = path.read_bytes()
            new = raw.replace(str(_PROGRAM).encode(), b"/usr/share").replace(here.encode(), b"ada@lab")
            if new != raw:
                path.write_bytes(new)


def _pack(made: Path, name: str) -> None:
    home = made.with_name(name)
    shutil.copytree(made, home, symlinks=True)
    _neutral(home)
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
    if sys.argv[1:2] == ["training"]:
        main_training(sys.argv[2:])
    else:
        main()
