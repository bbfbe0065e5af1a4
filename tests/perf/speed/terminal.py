"""A terminal that keeps time: every piece that a program writes is kept with the moment it came.

Screens are worked out afterwards from the pieces (`Terminal.shown`), so that drawing them costs the measure nothing.
The questions that programs ask a modern terminal are answered at once.
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import pyte

_ANSWERS = (
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>1;10;0c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
)
# What pyte does not know and would print as text.
_UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p")
# Neither what belongs to another terminal, nor what makes Python compile a program anew at each start: an installed
# program has its bytecode, as Textual and harlequin have theirs here.
_KEPT_OUT = ("COLUMNS", "LINES", "TMUX", "NO_COLOR", "SSH_CONNECTION", "SSH_TTY", "PYTHONDONTWRITEBYTECODE")

KEYS = {
    "enter": b"\r", "escape": b"\x1b", "tab": b"\t", "up": b"\x1b[A", "down": b"\x1b[B", "right": b"\x1b[C",
    "left": b"\x1b[D", "home": b"\x1b[H", "end": b"\x1b[F", "pageup": b"\x1b[5~", "pagedown": b"\x1b[6~",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program wrote after something was done to it: bytes, and ms to the first and to the last of them."""

    first_ms: float
    quiet_ms: float
    size: int


class Terminal:
    """A running program and the terminal that it sees. Use as a context manager: it ends the program.

    Invariant: `pieces` is everything written so far, with seconds since the start, in order.
    """

    def __init__(
        self, argv: Sequence[str], *, columns: int = 120, rows: int = 40, environ: Mapping[str, str] | None = None
    ) -> None:
        self.columns, self.rows = columns, rows
        self.pieces: list[tuple[float, bytes]] = []
        self.total = 0
        size = struct.pack("HHHH", rows, columns, 0, 0)
        env = {**os.environ, "TERM": "xterm-256color", **(environ or {})}
        for name in _KEPT_OUT:
            env.pop(name, None)
        self.started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if not self.pid:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                os.execvpe(argv[0], list(argv), env)
            finally:
                os._exit(127)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                break
            for _ in range(40):
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    os.close(self._fd)
                    return
                time.sleep(0.05)
                self._take(0.0)

    def _take(self, wait_s: float) -> int:
        """Read one piece within `wait_s`; return its bytes, 0 for silence, -1 for the end of the program."""
        if not select.select([self._fd], [], [], max(0.0, wait_s))[0]:
            return 0
        try:
            piece = os.read(self._fd, 1 << 16)
        except OSError:
            return -1
        self.pieces.append((time.perf_counter() - self.started, piece))
        self.total += len(piece)
        for question, answer in _ANSWERS:
            for _ in question.findall(piece):
                os.write(self._fd, answer)
        return len(piece) or -1

    def until_quiet(self, silence_s: float, *, patience_s: float = 0.5, timeout_s: float = 30.0) -> Answer:
        """Take in output until none has come for `silence_s`; wait `patience_s` for the first of it."""
        start, first, last, size = time.perf_counter(), 0.0, 0.0, 0
        while time.perf_counter() - start < timeout_s:
            taken = self._take(silence_s if size else max(patience_s, silence_s))
            if taken <= 0:
                break
            last = (time.perf_counter() - start) * 1000
            first = first or last
            size += taken
        return Answer(first, last, size)

    def until_said(self, words: Sequence[str], silence_s: float, timeout_s: float = 60.0) -> None:
        """Take in output until every one of `words` was written and it is quiet. Raises TimeoutError with the screen.

        A word must be written in one style, without a move of the cursor in it.
        """
        deadline = time.perf_counter() + timeout_s
        while True:
            self.until_quiet(silence_s)
            written = b"".join(piece for _, piece in self.pieces)
            if all(word.encode() in written for word in words):
                return
            if time.perf_counter() > deadline:
                raise TimeoutError(f"never said: {words}\n{self.screen()}")

    def read_for(self, seconds: float) -> int:
        """Take in output for so long; return how many bytes came."""
        before, deadline = self.total, time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            if self._take(left) < 0:
                break
        return self.total - before

    def send(self, *keys: str) -> None:
        """Send keys by name, or characters themselves, in one write."""
        os.write(self._fd, b"".join(KEYS.get(key, key.encode()) for key in keys))

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size."""
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def shown(self, words: Sequence[str], since_s: float = 0.0) -> float | None:
        """Return when, in seconds since the start, all `words` first stood on screen at once; None for never."""
        screen = pyte.Screen(self.columns, self.rows)
        stream = pyte.ByteStream(screen)
        for moment, piece in self.pieces:
            stream.feed(_UNKNOWN.sub(b"", piece))
            if moment >= since_s and all(word in "\n".join(screen.display) for word in words):
                return moment
        return None

    def screen(self) -> str:
        """What a person sees now."""
        screen = pyte.Screen(self.columns, self.rows)
        stream = pyte.ByteStream(screen)
        for _, piece in self.pieces:
            stream.feed(_UNKNOWN.sub(b"", piece))
        return "\n".join(line.rstrip() for line in screen.display)

    def cpu_s(self) -> float:
        """CPU seconds of the program so far, user and system."""
        fields = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()  # noqa: PTH123, SIM115
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def anonymous_mb(self) -> float:
        """RssAnon of the program in MB (10^6): memory that is its own, without files that it maps."""
        with open(f"/proc/{self.pid}/status") as status:  # noqa: PTH123
            line = next(line for line in status if line.startswith("RssAnon"))
        return int(line.split()[1]) * 1024 / 1e6
