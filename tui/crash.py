"""What is left of a fault that nobody foresaw: a few words on the terminal, and a file with the whole of it.

Neither holds the value of a variable: those may be keys, or words of an agent (TERMINAL 2.2).
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from pathlib import Path

from core.foundation.errors import ExuviaError
from core.foundation.visible import visible
from core.state import atomic


def last_fault(environ: Mapping[str, str] | None = None) -> Path:
    """Return the file that the last fault is written to."""
    env = os.environ if environ is None else environ
    state = env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "exuvia" / "last-fault.txt"


def told(error: BaseException, environ: Mapping[str, str] | None = None) -> str:
    """Write a fault down and return what to print of it: what it was, that runs go on, and where the rest is."""
    lines = "".join(traceback.format_exception(error))
    words = f"The console ended by a fault of its own: {type(error).__name__}: {error}"
    file = last_fault(environ)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic.write_bytes(file, visible(lines).encode("utf-8", "replace"), mode=0o600)
        where = f"Where it happened is written in {file}"
    except (ExuviaError, OSError) as refused:
        where = f"Where it happened could not be written down ({refused}):\n{lines}"
    return visible(f"{words[:2000]}\nRuns go on without the console. {where}")
