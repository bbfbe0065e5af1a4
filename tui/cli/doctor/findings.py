"""What a check finds, and the machine it looks at.

Every check is a function of a `World`, so that a test can show it any terminal, multiplexer or file system; only
`World.here` looks at the real one.
"""

from __future__ import annotations

import contextlib
import locale
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Literal

from core.foundation.visible import decode

Level = Literal["ok", "warn", "bad"]
_ANSWER_S = 2.0


@dataclass(frozen=True)
class Finding:
    """One thing looked at. "warn" costs something, "bad" must be mended before work; `fix` says how, in one line.

    With "ok", `fix` is advice that nobody has to follow.
    """

    subject: str
    level: Level
    found: str
    fix: str = ""


@dataclass(frozen=True)
class World:
    """What the checks see: the environment, the terminal, other programs' answers, files of the system.

    `terminals` says which of "input", "output" and "screen" (stdin, stdout, stderr) are terminals; `size` is columns
    and lines of that terminal, None without one. `answer` runs a program and returns its output, None where it is
    missing, fails or is too slow; `read` returns a file's text, None where it can't be read.
    """

    environ: Mapping[str, str]
    terminals: frozenset[str]
    size: tuple[int, int] | None
    encoding: str
    answer: Callable[[Sequence[str]], str | None]
    read: Callable[[str], str | None]

    @classmethod
    def here(cls) -> World:
        """Return the world of this process."""
        streams = {"input": sys.__stdin__, "output": sys.__stdout__, "screen": sys.__stderr__}
        return cls(
            environ=os.environ,
            terminals=frozenset(
                name for name, stream in streams.items() if stream is not None and _is_terminal(stream)
            ),
            size=_size(),
            encoding=locale.getpreferredencoding(do_setlocale=False),
            answer=_answer,
            read=_read,
        )


def _is_terminal(stream: object) -> bool:
    try:
        return os.isatty(stream.fileno())  # type: ignore[attr-defined]  # a stream without one says so by ValueError
    except (OSError, ValueError):
        return False


def _size() -> tuple[int, int] | None:
    for descriptor in (2, 1, 0):  # the console draws on stderr
        with contextlib.suppress(OSError):
            columns, lines = os.get_terminal_size(descriptor)
            return columns, lines
    return None


def _answer(words: Sequence[str]) -> str | None:
    if which(words[0]) is None:
        return None
    try:
        ended = subprocess.run(
            list(words), capture_output=True, stdin=subprocess.DEVNULL, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return decode(ended.stdout) if ended.returncode == 0 else None


def _read(path: str) -> str | None:
    try:
        return decode(Path(path).read_bytes())
    except OSError:
        return None
