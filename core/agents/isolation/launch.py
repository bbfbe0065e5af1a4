"""Running a command under a policy: to its end with a bounded output, or in the background."""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.agents.isolation import bubblewrap, confine, processes, system_paths
from core.agents.isolation.plan import Plan, plan
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import Layer, Support, probe
from core.foundation.errors import IsolationError

GRACE_S = 2.0
"""Between TERM and KILL."""
_KEEPER_SLACK_S = 5.0  # the keeper enforces the clock; this is how long we wait for it beyond that
_DRAIN_S = 1.0
_FINISH_S = 0.5
_CHUNK = 1 << 16
DEFAULT_OUTPUT = 1 << 20


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended.

    returncode: its exit code, negative for the signal that ended it, 126 or 127 where the program could not be
    executed. output: standard output and error as they came, at most the bytes asked for; `dropped` counts the rest.
    layer: what it was confined by.
    """

    returncode: int
    output: bytes
    dropped: int
    timed_out: bool
    duration_s: float
    layer: Layer

    @property
    def truncated(self) -> bool:
        """Tell whether the output is not whole."""
        return self.dropped > 0


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
        for word, patience in ((b"k", grace_s), (b"", _KEEPER_SLACK_S)):
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


async def run_confined(
    argv: Sequence[str],
    *,
    policy: IsolationPolicy,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    timeout_s: float | None,
    max_output_bytes: int = DEFAULT_OUTPUT,
    allow_unisolated: bool = False,
    support: Support | None = None,
) -> Completed:
    """Run a command to its end under `policy` and return how it went; nothing it started outlives it.

    env is the whole environment (see `environment.clean_environment`). stdin None is /dev/null. After `timeout_s` the
    whole tree gets TERM, two seconds later KILL. When the call is cancelled, the tree is killed. Raises
    IsolationError where the command cannot be confined, in which case it has not run; `support` is for tests.
    """
    process = await spawn_confined(
        argv, policy=policy, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s, max_output_bytes=max_output_bytes,
        allow_unisolated=allow_unisolated, support=support,
    )  # fmt: skip
    try:
        if timeout_s is None:
            code = await process.wait()
        else:
            code = await asyncio.wait_for(process.wait(), timeout_s + GRACE_S + _KEEPER_SLACK_S)
    except TimeoutError:
        code = await process.kill(grace_s=0)
        process.timed_out = True
    except asyncio.CancelledError:
        process.kill_now()
        await asyncio.shield(process.kill(grace_s=0))
        raise
    return Completed(
        code, process.read(), process.dropped, process.timed_out, process.duration_s, process.layer
    )  # fmt: skip


async def spawn_confined(
    argv: Sequence[str],
    *,
    policy: IsolationPolicy,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    timeout_s: float | None = None,
    max_output_bytes: int = DEFAULT_OUTPUT,
    allow_unisolated: bool = False,
    support: Support | None = None,
) -> ConfinedProcess:
    """Start a command under `policy` in the background. Arguments and errors as `run_confined`.

    It ends when it is killed, when its time is over, or when this process ends in whatever way.
    """
    if not argv:
        raise IsolationError("there is no command to run")
    inside = confine.in_force() is not None
    means = support or confine.in_force() or probe()
    layer: Layer = means.layer
    made: Plan | None = None
    command = list(argv)
    carried: list[int] = []
    if not any(cwd.resolve().is_relative_to(root) for root in (*policy.read, *policy.write)):
        raise IsolationError(f"the policy does not reach the working directory {cwd}", hint="Add it to the policy.")
    if layer == "landlock" or (layer == "bubblewrap" and inside):
        made = plan(policy, means, inside=inside)
        layer = "landlock" if means.landlock_abi else "namespaces"
    elif layer == "bubblewrap":
        command, carried = bubblewrap.wrap(command, policy=policy, cwd=cwd, means=means)
    elif not allow_unisolated:
        raise IsolationError(
            "this machine cannot confine a command: " + "; ".join(f.what for f in means.findings),
            hint=" ".join(f.fix for f in means.findings[:1]) + " Or pass --allow-unisolated.",
        )
    try:
        process = _start(command, made, cwd, env, stdin, timeout_s, max_output_bytes, policy, layer, carried)
    finally:
        for fd in carried:
            os.close(fd)
    try:
        await process.started()
    except asyncio.CancelledError:
        process.kill_now()
        raise
    return process


# A confined engine may read the package but not list the folder it lies in, where benchmarks may lie too
_PROGRAM = (
    "import sys; package = sys.modules['core'] = type(sys)('core'); package.__path__ = [{package!r}]; "
    "from core.agents.isolation.keeper import main; main()"
)


def _start(
    argv: list[str],
    made: Plan | None,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None,
    timeout_s: float | None,
    max_output_bytes: int,
    policy: IsolationPolicy,
    layer: Layer,
    carried: list[int],
) -> ConfinedProcess:
    limits = policy.limits
    own_count = bool(made and made["unshare"])
    spare = 0 if own_count else _processes_of_user()
    orders = _memory_file(
        marshal.dumps(
            {
                "plan": made,
                "argv": [str(a) for a in argv],
                "env": dict(env),
                "cwd": str(cwd),
                "timeout_s": timeout_s,
                "grace_s": GRACE_S,
                "limits": (limits.memory_bytes, limits.file_bytes, limits.processes + spare, limits.open_files),
                "pass_fds": carried,
            }
        )
    )
    input_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) if stdin is None else _memory_file(stdin)
    output, output_write = os.pipe()
    control_read, control = os.pipe()
    status, status_write = os.pipe()
    inherited = (orders, control_read, status_write)
    try:
        keeper = subprocess.Popen(
            [system_paths.interpreter(), "-I", "-S", "-c",
             _PROGRAM.format(package=str(system_paths.CODE_ROOT / "core")), *map(str, inherited)],
            stdin=input_fd, stdout=output_write, stderr=output_write, cwd="/", env={"LANG": "C.UTF-8"},
            pass_fds=(*inherited, *carried), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        for fd in (output, control, status):
            os.close(fd)
        raise IsolationError(f"the command's keeper could not be started: {error}") from error
    finally:
        for fd in (*inherited, input_fd, output_write):
            os.close(fd)
    return ConfinedProcess(keeper, output, control, status, layer, max_output_bytes)


def _memory_file(content: bytes) -> int:
    """Return a descriptor to an anonymous file with `content`, at its start."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("exuvia", os.MFD_CLOEXEC)
    else:
        fd, name = tempfile.mkstemp()
        Path(name).unlink()
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _processes_of_user() -> int:
    """Count the user's processes: outside a user namespace, the limit counts them all."""
    me = os.getuid()
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            count += entry.stat().st_uid == me
    return count
