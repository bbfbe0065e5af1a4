"""Reading at length in the operator's own pager, which gets the whole terminal for a while."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from core.foundation.errors import UsageError
from core.foundation.visible import visible


def page(app: App[Any], text: str, environ: Mapping[str, str] | None = None) -> None:
    """Show `text` in $PAGER (less where it is not set), sanitised. Raises UsageError where that can't be."""
    env = os.environ if environ is None else environ
    try:
        argv = shlex.split(env.get("PAGER") or "less")
    except ValueError as error:
        raise UsageError(f"PAGER is no command: {error}", hint="Set it, for example PAGER=less") from error
    with tempfile.TemporaryDirectory(prefix="exuvia-") as directory:
        file = Path(directory, "shown.txt")
        file.write_text(visible(text) + "\n", encoding="utf-8")
        try:
            with app.suspend():
                # Safe mode: no shell, no editor and no other file out of a pager that shows an agent's words.
                subprocess.run([*argv, str(file)], check=False, env={**env, "LESSSECURE": "1"})
        except SuspendNotSupported as error:
            raise UsageError("This terminal can't be lent to a pager.", hint="Copy it instead: Y") from error
        except OSError as error:
            raise UsageError(f"{argv[0]} can't be started: {error.strerror}", hint="Set PAGER to another") from error
