"""The command line as tests call it: in this process for speed, or as the real `exuvia` in a process of its own."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.cli.main import main

EXUVIA = Path(sys.executable).with_name("exuvia")
FIXTURES = Path(__file__).parents[1] / "fixtures"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed


def call(*arguments: str | Path) -> Ended:
    """Call the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            code = leaving.code
    assert isinstance(code, int), code
    return Ended(code, out.getvalue(), err.getvalue())


def environment(**extra: str) -> dict[str, str]:
    """Return an environment without anything that a home or a key could come from."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return kept | {"LANG": "C.UTF-8"} | extra


def spawn(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Run the installed `exuvia` and return what it printed, as bytes."""
    argv = [str(EXUVIA), *(str(argument) for argument in arguments)]
    return subprocess.run(
        argv,
        cwd=cwd,
        env=environment() if env is None else env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )


def tree_hash(root: Path) -> str:
    """Return a hash over every name, kind, mode, size, time of change and byte under `root`."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        stat = path.lstat()
        kept = (stat.st_mode, stat.st_mtime_ns) if path.is_dir() else (stat.st_mode, stat.st_size, stat.st_mtime_ns)
        digest.update(f"{path.relative_to(root)}\0{kept}\0".encode("utf-8", "surrogateescape"))
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    return digest.hexdigest()
