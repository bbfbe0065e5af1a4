"""Advisory locks between processes: `flock` on a small file that is never deleted."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.foundation.errors import ConflictError
from core.foundation.visible import decode, visible_line
from core.state import readonly
from core.state.atomic import storage_error

_POLL_S = 0.02


class LockedError(ConflictError):
    """Another process holds the lock and did not let go in time."""


@contextmanager
def held(path: Path, *, timeout_s: float = 10.0, shared: bool = False) -> Iterator[None]:
    """Hold the lock file `path` (made with its directory where missing) for the duration of the block.

    The kernel lets go when the holder dies, so there is nothing stale to clean up. The lock belongs to the open
    file: taking it twice in one process waits for oneself, and children that we start don't inherit it. Raises
    LockedError, naming the holder, after `timeout_s` seconds; 0 tries once. A home that is opened read-only has no
    locks to take.
    """
    readonly.refuse(path)
    descriptor = _acquire(path, time.monotonic() + timeout_s, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    try:
        if not shared:
            _sign(descriptor)
        yield
    finally:
        os.close(descriptor)  # closing releases


def is_held(path: Path) -> bool:
    """Tell whether a process holds the lock file now, alone or shared; makes nothing. False where there is none.

    True also for a holder that this process can't see (another container, another machine on a file system with
    locks): the kernel knows, where process ids don't.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EACCES)
    finally:
        os.close(descriptor)  # closing releases
    return False


def _acquire(path: Path, deadline: float, kind: int) -> int:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise storage_error(error, path) from error
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            if _still_at(descriptor, path):
                return descriptor
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                os.close(descriptor)
                raise storage_error(error, path) from error
        except BaseException:
            os.close(descriptor)
            raise
        holder = decode(os.pread(descriptor, 64, 0)).strip()
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise LockedError(
                f"{visible_line(str(path))} is locked" + (f" by {visible_line(holder)}" if holder else ""),
                hint="wait for the other process to finish, or stop it",
            )
        time.sleep(_POLL_S)


def _still_at(descriptor: int, path: Path) -> bool:
    """Tell whether the locked file still has its name (someone may have deleted the directory meanwhile)."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _sign(descriptor: int) -> None:
    """Write who holds it, for the message others get; a full disk must not cost the lock."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
    except OSError:
        return
