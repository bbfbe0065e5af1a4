"""A job: a directory that is the work of one process, which outlives whoever started it.

Training runs and task streams are jobs. The process takes the directory's lock, keeps a heartbeat in it and writes
what it does to files; whoever looks only reads. One way of starting, finding and ending it, whatever it works on.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Literal

from core.agents.isolation import processes
from core.foundation.errors import ConflictError
from core.foundation.visible import decode
from core.state import atomic, readonly
from core.state.locks import LockedError, held
from core.state.paths import WorkPaths

HEARTBEAT_S = 1.0
STOP_GRACE_S = 20.0  # a trainer finishes the batch it is in, and writes a checkpoint
_LOG_TAIL = 4096  # bytes of the log that are looked at for its last words
_PAUSE_POLL_S = 0.2

Order = Literal["run", "pause"]


class JobPaths(WorkPaths):
    """The files that every job has."""

    __slots__ = ()

    @property
    def request(self) -> Path:
        """What was asked for, before it was resolved."""
        return self.root / "request.json"

    @property
    def events(self) -> Path:
        """What happened, an object a line."""
        return self.root / "events.jsonl"

    @property
    def summary(self) -> Path:
        """What came out, written at the end."""
        return self.root / "summary.json"

    @property
    def control(self) -> Path:
        """The operator's order: `pause` or `run`."""
        return self.root / "control"


def new_id(kind: str) -> str:
    """Return `<kind>-YYYYMMDD-HHMMSS-<4 hex>` in local time."""
    return datetime.now().astimezone().strftime(f"{kind}-%Y%m%d-%H%M%S-") + secrets.token_hex(2)


def by_time(job_id: str) -> str:
    """Return what ids made by `new_id` are sorted by: the moment, whatever the kind."""
    return "-".join(job_id.split("-")[-3:]) + job_id


# Whoever starts, stops and looks ------------------------------------------------------------------------------


def start(root: Path, arguments: Sequence[str], *, environment: Mapping[str, str] | None = None) -> int:
    """Start `python -P ARGUMENTS` for a job and return its process id. The directory is there already.

    The process has a session of its own and no terminal: closing the one that started it does not reach it. Raises
    ConflictError where one works on the job, ReadOnlyError in a home that is opened read-only.
    """
    readonly.refuse(root)
    job = JobPaths(root)
    if (who := processes.recorded(job.engine)) is not None:
        raise ConflictError(f"{job.id} is at work already (process {who.partition(':')[0]}).", hint="Follow it.")
    with job.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=root,
            env=None if environment is None else {**os.environ, **environment},
            start_new_session=True,
            close_fds=True,
        )
    with contextlib.suppress(ProcessLookupError):  # it ended at once; its log says why
        processes.record(job.engine, process.pid)
    # Reaped where it ends before us, so that it never stays as a zombie of a long-lived console.
    threading.Thread(target=process.wait, name=f"reap-{job.id}", daemon=True).start()
    return process.pid


def alive(root: Path) -> bool:
    """Tell whether the job's process lives."""
    return processes.recorded(JobPaths(root).engine) is not None


def pid(root: Path) -> int | None:
    """Return the process that works on the job, None where none does."""
    who = processes.recorded(JobPaths(root).engine)
    return None if who is None else int(who.partition(":")[0])


def began(root: Path) -> float | None:
    """Return when the job's process was started, in seconds since the epoch; None where none lives."""
    path = JobPaths(root).engine
    try:
        moment = path.stat().st_mtime
    except FileNotFoundError:
        return None
    return moment if processes.recorded(path) is not None else None


def stop(root: Path, *, grace_s: float = STOP_GRACE_S) -> bool:
    """End the job's process: TERM to it alone, and after `grace_s` KILL to it and all below it.

    Returns whether it left by itself, which is when it could say so and keep what it has; True where none ran.
    """
    readonly.refuse(root)
    job = JobPaths(root)
    who = processes.recorded(job.engine)
    if who is None:
        return True
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(who.partition(":")[0]), signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while processes.is_alive(who) and time.monotonic() < deadline:
        time.sleep(0.05)
    if not processes.is_alive(who):
        return True
    processes.kill_tree(who, grace_s=0.5)
    return False


def order(root: Path, what: Order) -> None:
    """Tell the job to pause or to run on; it obeys where it next can."""
    atomic.write_text(JobPaths(root).control, what + "\n")


def ordered(root: Path) -> Order:
    """Return the order in force; whatever can't be read means `run`."""
    try:
        return "pause" if JobPaths(root).control.read_bytes().strip() == b"pause" else "run"
    except OSError:
        return "run"


def last_words(root: Path) -> str:
    """Return the last line of the job's log; empty where it said nothing."""
    try:
        with JobPaths(root).log.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _LOG_TAIL))
            lines = decode(log.read()).strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""


# The process itself -------------------------------------------------------------------------------------------


class Work:
    """The process's side of a job. Invariant: while it exists, this process holds the job's lock.

    A first TERM or Ctrl-C only asks (`stopping`), so that the work ends where nothing is lost; a second Ctrl-C cuts.
    """

    def __init__(self, root: Path) -> None:
        self.job = JobPaths(root)
        self._asked = threading.Event()
        self._end = threading.Event()

    @property
    def stopping(self) -> bool:
        """Whether somebody asked it to stop."""
        return self._asked.is_set()

    @property
    def paused(self) -> bool:
        """Whether the operator wants it to wait, and nobody wants it to stop."""
        return not self._asked.is_set() and ordered(self.job.root) == "pause"

    def wait_while_paused(self) -> float:
        """Return at once, or once it may go on (or shall stop); gives the seconds that were waited."""
        began = time.monotonic()
        while self.paused:
            self._asked.wait(_PAUSE_POLL_S)
        return time.monotonic() - began

    def ask_to_stop(self) -> None:
        self._asked.set()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGINT and self._asked.is_set():
            raise KeyboardInterrupt
        self._asked.set()

    def _beat(self) -> None:
        while True:
            with contextlib.suppress(OSError):  # a full disk costs the sign of life, never the work
                self.job.heartbeat.touch()
            if self._end.wait(HEARTBEAT_S):
                return


@contextlib.contextmanager
def at_work(root: Path) -> Iterator[Work]:
    """Be the job's process for the duration of the block: lock, process id, heartbeat, answers to TERM and Ctrl-C.

    Called on the main thread. Raises ConflictError where another process works on the job.
    """
    work = Work(root)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(held(work.job.lock, timeout_s=0))
        except LockedError as error:
            raise ConflictError(
                f"{work.job.id} is being worked on: {error}", hint="Wait for it, or stop it."
            ) from error
        processes.record(work.job.engine, os.getpid())
        before = {number: signal.signal(number, work._signalled) for number in (signal.SIGTERM, signal.SIGINT)}
        beat = threading.Thread(target=work._beat, name="heartbeat", daemon=True)
        beat.start()
        try:
            yield work
        finally:
            work._end.set()
            beat.join(timeout=HEARTBEAT_S)
            for number, handler in before.items():
                signal.signal(number, handler)
            if processes.recorded(work.job.engine) == processes.identity(os.getpid()):
                work.job.engine.unlink(missing_ok=True)  # a process that lives on works on something else now
