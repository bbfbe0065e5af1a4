"""Programs of others to compare with. What can't be had is not run, and nothing stands in for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HARLEQUIN = "harlequin==2.17.*"


def cache() -> Path:
    """Return the directory that measuring keeps things in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exuvia-perf"


def harlequin() -> Path | None:
    """Return the program harlequin, installed in an environment of its own; None where it can't be had."""
    place = cache() / "harlequin"
    program = place / "bin" / "harlequin"
    if not program.exists():
        make = ([sys.executable, "-m", "venv", str(place)], [str(place / "bin" / "pip"), "install", "-q", HARLEQUIN])
        for argv in make:
            try:
                done = subprocess.run(argv, capture_output=True, timeout=600, check=False)
            except (OSError, subprocess.TimeoutExpired):
                return None
            if done.returncode:
                return None
    return program if program.exists() else None
