"""A tmux server of a test's own: a program in a pane, its screen, keys, and what a client's terminal is told."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

TMUX = shutil.which("tmux")


class Tmux:
    """Use as a context manager: it ends the server, which ends the program."""

    def __init__(
        self, directory: Path, argv: Sequence[str], *, columns: int, rows: int, environ: Mapping[str, str] | None = None
    ) -> None:
        self.socket = directory / "tmux.sock"
        given = [f"-e{name}={value}" for name, value in (environ or {}).items()]
        size = ["-x", str(columns), "-y", str(rows)]
        self.run("-f", "/dev/null", "new-session", "-d", "-s", "one", *size, *given, *argv)

    def run(self, *arguments: str) -> str:
        """Run a tmux command on this server and return what it prints."""
        assert TMUX is not None
        done = subprocess.run(
            [TMUX, "-S", str(self.socket), *arguments], capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout

    @property
    def text(self) -> str:
        """What the pane shows."""
        return self.run("capture-pane", "-p", "-t", "one")

    def press(self, *keys: str) -> None:
        """Send keys by tmux's names."""
        for key in keys:
            self.run("send-keys", "-t", "one", key)
            time.sleep(0.05)

    def wait_until(self, met: Callable[[str], bool], what: str, timeout_s: float = 30.0) -> str:
        """Wait until the pane meets a condition; fail with the pane where it never does."""
        deadline = time.monotonic() + timeout_s
        while not met(text := self.text):
            if time.monotonic() > deadline:
                raise AssertionError(f"never in the pane: {what}\n{text}")
            time.sleep(0.1)
        return text

    def wait_for(self, *words: str) -> str:
        """Wait until all `words` are in the pane."""
        return self.wait_until(lambda text: all(word in text for word in words), f"{words}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.run("kill-server")
