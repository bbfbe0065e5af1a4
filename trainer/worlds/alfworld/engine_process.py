"""The engine's process as seen from here: started when it is needed, asked one line at a time."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from core.foundation.errors import ExuviaError, UsageError

VARIABLE = "EXUVIA_ALFWORLD_PYTHON"
ANSWER_WITHIN_S = 120.0
_ENGINE = Path(__file__).with_name("engine.py")
_HINT = (
    "Install alfworld into an environment of its own as docs/training.md says and name its interpreter: "
    f"{VARIABLE}=/path/to/bin/python."
)


class EngineLostError(ExuviaError):
    """The engine's process ended or fell silent: the attempt under way is lost, not failed."""


def interpreter(named: str | None = None) -> str:
    """Return the interpreter that has alfworld: the named one, the variable's, or this one. Raises UsageError."""
    chosen = named or os.environ.get(VARIABLE, "")
    if chosen:
        if not os.access(Path(chosen).expanduser(), os.X_OK):
            raise UsageError(f"The interpreter for ALFWorld, {chosen}, can't be run.", hint=_HINT)
        return str(Path(chosen).expanduser())
    if importlib.util.find_spec("alfworld") is not None:
        return sys.executable
    raise UsageError("The real ALFWorld engine is not installed.", hint=_HINT)


class EngineProcess:
    """One engine. Invariant: at most one question is under way; one that fell silent is ended, the next is new."""

    def __init__(self, python: str, options: Sequence[str] = ()) -> None:
        self._command = [python, "-P", str(_ENGINE), *options]
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None

    def ask(self, do: str, **said: Any) -> Mapping[str, Any]:
        """Ask and return the answer. Raises UsageError where the engine refuses, EngineLostError where it is gone."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"do": do, **said}) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], ANSWER_WITHIN_S)
            line = process.stdout.readline() if ready else ""
        except (BrokenPipeError, ValueError) as error:
            raise self._lost() from error
        if not line.endswith("\n"):
            raise self._lost()
        answer: Mapping[str, Any] = json.loads(line)
        if "error" in answer:
            raise UsageError(f"ALFWorld's engine refuses: {answer['error']}", hint=_HINT)
        return answer

    def close(self) -> None:
        """End the process; the next question starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
            )
        return self._process

    def _lost(self) -> EngineLostError:
        self.close()
        said = ""
        if self._errors is not None:
            self._errors.seek(0)
            lines = self._errors.read().strip().splitlines()
            said = f": {lines[-1]}" if lines else ""
        return EngineLostError(f"ALFWorld's engine ended or fell silent{said}.", hint=_HINT)
