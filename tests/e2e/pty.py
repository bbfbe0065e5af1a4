"""A terminal for tests: a program in a pseudo-terminal, its screen as text, its raw output, keys and signals.

It answers the questions that a program asks a modern terminal, and keeps every byte, so that a test can say both
what a person sees and what the terminal was told.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import pyte

_ANSWERS = (
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
)
# What pyte does not know and would print as text.
UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p")

KEYS = {
    "enter": b"\r", "escape": b"\x1b", "tab": b"\t", "up": b"\x1b[A", "down": b"\x1b[B", "right": b"\x1b[C",
    "left": b"\x1b[D", "home": b"\x1b[H", "end": b"\x1b[F", "pageup": b"\x1b[5~", "pagedown": b"\x1b[6~",
}  # fmt: skip


class Terminal:
    """A running program and the terminal that it sees. Use as a context manager: it ends the program."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 80,
        rows: int = 24,
        environ: Mapping[str, str] | None = None,
        ignore_hangup: bool = False,
    ) -> None:
        self.raw = bytearray()
        self.status: int | None = None
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        size = struct.pack("HHHH", rows, columns, 0, 0)
        env = {"TERM": "xterm-256color", **os.environ, **(environ or {})}
        for name in ("COLUMNS", "LINES", "TMUX", "PYTEST_CURRENT_TEST"):
            env.pop(name, None)
        self.pid, self.fd = pty.fork()
        if not self.pid:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                if ignore_hangup:
                    signal.signal(signal.SIGHUP, signal.SIG_IGN)
                os.execvpe(argv[0], list(argv), env)
            finally:
                os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()

    @property
    def text(self) -> str:
        """What a person sees."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds: float) -> int:
        """Take in what the program writes for so long; return how many bytes it was."""
        before, deadline = len(self.raw), time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self.fd >= 0:
            if select.select([self.fd], [], [], left)[0] and not self._take():
                break
        return len(self.raw) - before

    def _take(self) -> bool:
        try:
            piece = os.read(self.fd, 1 << 16)
        except OSError:
            return False
        if not piece:
            return False
        self.raw += piece
        for question, answer in _ANSWERS:
            for _ in question.findall(piece):
                os.write(self.fd, answer)
        self._stream.feed(UNKNOWN.sub(b"", piece))
        return True

    def wait_for(self, *words: str, timeout_s: float = 20.0) -> str:
        """Wait until all `words` are on screen; fail with the screen where they never are."""
        return self.wait_until(lambda text: all(word in text for word in words), timeout_s, f"{words}")

    def wait_until(self, met: Callable[[str], bool], timeout_s: float = 20.0, what: str = "") -> str:
        """Wait until the screen meets a condition and return it."""
        deadline = time.monotonic() + timeout_s
        while not met(self.text):
            if time.monotonic() > deadline:
                raise AssertionError(f"never on screen: {what}\n{self.text}")
            self.read(0.05)
        return self.text

    def press(self, *keys: str) -> None:
        """Send keys by name, or a character itself."""
        for key in keys:
            os.write(self.fd, KEYS.get(key, key.encode()))
            self.read(0.03)

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def kill(self, number: int) -> None:
        """Send a signal to the program."""
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Take the terminal away."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def wait_for_end(self, timeout_s: float = 10.0) -> int:
        """Wait until the program has ended and return its exit code (negative: the signal that ended it)."""
        deadline = time.monotonic() + timeout_s
        while self.status is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise AssertionError(f"still running after {timeout_s} s\n{self.text}")
            elif self.fd >= 0:
                self.read(0.05)
            else:
                time.sleep(0.05)
        if self.fd >= 0:
            self.read(0.1)
        return self.status
