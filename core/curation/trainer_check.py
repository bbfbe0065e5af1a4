"""Whether a training run or a stream can begin, asked of the program that would do it, before anything is made.

Core imports nothing of the trainer, so a process of it is asked (`python -P -m trainer check`).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from core.curation.fields import Fields
from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.foundation.visible import decode, visible_line
from core.state.paths import ProjectPaths

_PATIENCE_S = 120.0


def training(project: ProjectPaths, preset: str, seed: int | None, settings: Mapping[str, Any]) -> None:
    """Raise UsageError, in the trainer's words, where a training run can't begin as it is asked for."""
    _ask({"project": str(project.root), "preset": preset, "seed": seed, "settings": dict(settings)})


def stream(project: ProjectPaths, spec: Mapping[str, Any], named: Sequence[str] = ()) -> None:
    """Raise UsageError where a stream of this spec, as JSON, can't begin, or lacks what an arm of `named` needs."""
    _ask({"project": str(project.root), "stream": dict(spec), "named": list(named)})


def _ask(request: Mapping[str, Any]) -> None:
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "trainer", "check"],
            input=strict_json.dumps(request).encode(),
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ExuviaError(
            "The trainer doesn't say whether this can begin.", hint="Try on a quieter machine."
        ) from error
    try:
        answer = strict_json.parse(done.stdout)
        told = Fields(answer if isinstance(answer, dict) else {})
        problem, hint = told.text("problem"), told.text("hint", "")
    except ValueError as error:
        words = decode(done.stderr).strip().splitlines()
        said = visible_line(words[-1][:300]) if words else str(error)
        raise ExuviaError(f"The trainer doesn't say whether this can begin: {said}") from error
    if problem:
        raise UsageError(problem, hint=hint)
