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
        with tempfile.TemporaryDirectory(prefix="exuvia-", ignore_cleanup_errors=True) as directory:
            file = Path(directory, "shown.txt")
            file.write_text(visible(text) + "\n", encoding="utf-8")
            # Safe mode: no shell, no editor and no other file out of a pager that shows an agent's words.
            _lend(app, "PAGER", env.get("PAGER") or "less", file, {**env, "LESSSECURE": "1"})
    except OSError as error:
        raise UsageError(f"The text can't be written for the pager: {error}", hint="Set TMPDIR to another.") from error


def edit(app: App[Any], file: Path, environ: Mapping[str, str] | None = None) -> None:
    """Let the operator edit a file of their own in $VISUAL or $EDITOR. Raises UsageError where that can't be."""
    env = os.environ if environ is None else environ
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{file.parent} can't be made: {error}") from error
    _lend(app, "EDITOR", env.get("VISUAL") or env.get("EDITOR") or "vi", file, env)


def _lend(app: App[Any], name: str, command: str, file: Path, env: Mapping[str, str]) -> None:
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{name} is no command: {error}", hint=f"Set {name}.") from error
    try:
        with app.suspend():
            subprocess.run([*argv, str(file)], check=False, env=dict(env))
    except SuspendNotSupported as error:
        raise UsageError("This terminal can't be lent to another program.", hint="Copy it instead: Y") from error
    except OSError as error:
        raise UsageError(f"{argv[0]} can't be started: {error.strerror}", hint=f"Set {name} to another.") from error
