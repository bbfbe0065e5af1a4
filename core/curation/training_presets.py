"""The trainer's presets as the trainer tells of them: core imports nothing of it, so it is asked in a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.curation.fields import Fields
from core.curation.training import require_trainer
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, NotFoundError
from core.foundation.visible import decode

_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset: a sentence about it, what it needs beside this program ("" for nothing), every key with its value."""

    name: str
    says: str
    needs: str
    settings: Mapping[str, Any]


def presets() -> tuple[Preset, ...]:
    """Ask the trainer. Raises UsageError where it is not installed, ExuviaError where it can't tell."""
    require_trainer()
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "trainer", "presets", "--json"],
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise ExuviaError("The trainer does not tell its presets.", hint="Try again on a quieter machine.") from error
    try:
        document = strict_json.parse(done.stdout)
        listed = Fields(document if isinstance(document, dict) else {}).parts("presets")
        found = tuple(
            Preset(one.text("name"), one.text("says", ""), one.text("needs", ""), one.mapping("settings"))
            for one in listed
        )
    except ValueError as error:
        words = decode(done.stderr).strip().splitlines()
        told = words[-1][:300] if words else str(error)
        raise ExuviaError(f"The trainer does not tell its presets: {told}") from error
    if not found:
        raise ExuviaError("The trainer tells of no preset.", hint="Is this a complete installation?")
    return found


def preset(name: str) -> Preset:
    """Return a preset by its name. Raises NotFoundError that names those there are."""
    known = presets()
    found = next((one for one in known if one.name == name), None)
    if found is None:
        raise NotFoundError(f"There is no preset {name!r}.", hint=f"Presets: {', '.join(one.name for one in known)}.")
    return found
