"""A confined command while it runs: what it writes, how it ends, and how to end it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time

from core.agents.isolation import processes
from core.agents.isolation.support import Layer
from core.foundation.errors import IsolationError

GRACE_S = 2.0
"""Between TERM and KILL."""
KEEPER_SLACK_S = 5.0
"""The keeper enforces the clock; this is how long we wait for it beyond that."""
_DRAIN_S = 1.0
_FINISH_S = 0.5
_CHUNK = 1 << 16


class ConfinedProcess:
    """A running command. Invariant: its output buffer never holds more than `max_output_bytes`; `dropped` counts on."""

    def __init__(
        self, keeper: subprocess.Popen[bytes], output: int, control: int, status: int, layer: Layer, limit: int
    ) -> None:
        self._keeper = keeper
        self._control: int | None = control
        self._status = status
        self._status_text = b""
        self._buffer = bytearray()
        self._limit = limit
        self._changed = asyncio.Event()
        self._drained = asyncio.Event()
        self._started = asyncio.get_running_loop().create_future()
        self._ended = asyncio.get_running_loop().create_future()
        self._output: int | None = output
        self._begun = time.monotonic()
        self.layer: Layer = layer
        self.dropped = 0
        self.returncode: int | None = None
        self.timed_out = False
        self.duration_s = 0.0
        self.identity = processes.identity(keeper.pid)
        """Names the keeper for `processes.record`: ending it ends the command and all below it."""
        loop = asyncio.get_running_loop()
        for fd in (output, status):
            os.set_blocking(fd, False)
        loop.add_reader(output, self._on_output)
        loop.add_reader(status, self._on_status)

    @property
    def pid(self) -> int:
        """The keeper's process id."""
        return self._keeper.pid

    def read(self) -> bytes:
        """Return and forget what has come since the last call."""
        piece = bytes(self._buffer)
        self._buffer.clear()
        return piece

    async def wait_output(self, timeout_s: float) -> None:
        """Wait until there is something to read, the command ended, or the time is over."""
        if self._buffer or self._ended.done():
            return
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), timeout_s)

    async def started(self) -> None:
        """Return when the command runs confined. Raises IsolationError where it could not be, and so does not run."""
        await asyncio.shield(self._started)

    async def wait(self) -> int:
        """Wait for the end (of the command, and with it of all it left behind) and return the exit code."""
        await asyncio.shield(self._ended)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._drained.wait(), _DRAIN_S)
        self._close_output()
        self._finish_keeper()
        assert self.returncode is not None
        return self.returncode

    async def kill(self, *, grace_s: float = GRACE_S) -> int:
        """End the whole tree, TERM then KILL, and return the exit code. Harmless when it has ended."""
        self._order(b"t" if grace_s > 0 else b"k")
        for word, patience in ((b"k", grace_s), (b"", KEEPER_SLACK_S)):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._ended), patience)
            if self._ended.done():
                return await self.wait()
            self._order(word)
        self._abandon()
        return await self.wait()

    def kill_now(self) -> None:
        """End the whole tree by KILL without waiting (for a caller that is being cancelled)."""
        self._order(b"k")

    def _order(self, word: bytes) -> None:
        if self._control is None:
            return
        with contextlib.suppress(OSError):
            if word:
                os.write(self._control, word)
                return
        os.close(self._control)
        self._control = None

    def _on_output(self) -> None:
        assert self._output is not None
        try:
            piece = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._close_output()
            return
        room = self._limit - len(self._buffer)
        self._buffer += piece[:room]
        self.dropped += len(piece) - min(room, len(piece))
        self._changed.set()

    def _on_status(self) -> None:
        try:
            piece = os.read(self._status, _CHUNK)
        except BlockingIOError:
            return
        self._status_text += piece
        *lines, self._status_text = self._status_text.split(b"\n")
        for line in lines:
            self._hear(line.decode("utf-8", "replace"))
        if not piece:
            asyncio.get_running_loop().remove_reader(self._status)
            os.close(self._status)
            if not self._ended.done():
                said = self._last_words()
                self._settle(IsolationError(f"the command's keeper ended before it could report: {said}"))

    def _last_words(self) -> str:
        """Return the end of what came out, with nothing left in the pipe."""
        with contextlib.suppress(OSError):
            while self._output is not None and (piece := os.read(self._output, _CHUNK)):
                self._buffer += piece
        return bytes(self._buffer[-300:]).decode("utf-8", "replace").strip()

    def _hear(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "failed":
            self._settle(IsolationError(f"the command could not be confined, so it was not run: {rest}"))
        elif word == "running" and not self._started.done():
            self._started.set_result(None)
        elif word == "missing":
            reason = os.strerror(int(rest))
            self._buffer += f"cannot execute: {reason}\n".encode()
        elif word == "exit" and not self._ended.done():
            code, timed_out = rest.split()
            self.returncode, self.timed_out = int(code), timed_out == "1"
            self._settle(None)

    def _settle(self, error: IsolationError | None) -> None:
        if not self._started.done():
            if error:
                self._started.set_exception(error)
                self._started.exception()  # looked at: a caller that only waits for the end hears it there
            else:
                self._started.set_result(None)
        if not self._ended.done():
            self.duration_s = time.monotonic() - self._begun
            if error:
                self.returncode = -signal.SIGKILL
                self._ended.set_exception(error)
                self._ended.exception()
                self._close_output()
                self._abandon()
            else:
                self._ended.set_result(None)
        self._changed.set()

    def _abandon(self) -> None:
        """The keeper does not answer: end it by force, and what is below it."""
        self.returncode = -signal.SIGKILL if self.returncode is None else self.returncode
        below = processes.descendants(self._keeper.pid)
        for pid in (self._keeper.pid, *below):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if pid != self._keeper.pid or self._keeper.poll() is None:
                    os.kill(pid, signal.SIGKILL)
        if not self._ended.done():
            self._ended.set_result(None)
        self._finish_keeper()

    def _close_output(self) -> None:
        if self._output is not None:
            asyncio.get_running_loop().remove_reader(self._output)
            os.close(self._output)
            self._output = None
            self._drained.set()
            self._changed.set()

    def _finish_keeper(self) -> None:
        """Collect the keeper, which ends by itself right after its report."""
        self._order(b"")
        try:
            self._keeper.wait(_FINISH_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
