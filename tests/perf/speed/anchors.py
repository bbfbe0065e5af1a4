"""Programs of others to compare with. What can't be had is not run, and nothing stands in for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HARLEQUIN = "harlequin==2.17.*"
BM25S = "bm25s==0.2.*"


def cache() -> Path:
    """Return the directory that measuring keeps things in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exuvia-perf"


def harlequin() -> Path | None:
    """Return the program harlequin, installed in an environment of its own; None where it can't be had."""
    return _installed("harlequin", HARLEQUIN, "harlequin")


def bm25s() -> Path | None:
    """Return a Python that has bm25s, in an environment of its own; None where it can't be had."""
    python = _installed("bm25s", BM25S, "python")
    if python is None:
        return None
    imported = subprocess.run([python, "-c", "import bm25s"], capture_output=True, timeout=60, check=False)
    return python if imported.returncode == 0 else None


def _installed(name: str, requirement: str, program: str) -> Path | None:
    place = cache() / name
    done = place / "done"  # written last: an installation that was cut short is made again
    if not done.exists():
        for argv in (
            [sys.executable, "-m", "venv", "--clear", str(place)],
            [str(place / "bin" / "pip"), "install", "-q", requirement],
        ):
            try:
                ended = subprocess.run(argv, capture_output=True, timeout=600, check=False)
            except (OSError, subprocess.TimeoutExpired):
                return None
            if ended.returncode:
                return None
        done.touch()
    return place / "bin" / program
