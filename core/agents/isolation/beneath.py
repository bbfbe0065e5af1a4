"""Opening a file for an in-process tool: by the policy, and so that nothing can be swapped in between."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from core.agents.isolation.policy import IsolationPolicy
from core.foundation.errors import RefusedError

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


def open_beneath(policy: IsolationPolicy, path: Path, *, write: bool = False, make_parents: bool = False) -> int:
    """Open a regular file that the policy allows and return its descriptor (for `os.fdopen`).

    Links are followed first and the real place is judged; then every step from the allowed root down is opened
    without following anything, so a command that swaps a folder for a link meanwhile gains nothing. With `write`
    the file is created (0644) or emptied; with `make_parents` missing folders are made. Pipes, devices and sockets are
    refused: reading one could hang us. Raises RefusedError for what the policy does not allow, FileNotFoundError,
    IsADirectoryError and other OSErrors for the rest.
    """
    try:
        real = path.resolve()
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # A link that became a folder between two looks at it.
        raise RefusedError(f"{path} is changing while it is opened", hint="Try again.") from error
    roots = policy.write if write else (*policy.read, *policy.write)
    # The outermost root: whatever lies above it, no command can swap
    root = min((r for r in roots if real.is_relative_to(r)), key=lambda r: len(r.parts), default=None)
    if root is None:
        doing = "writing" if write else "reading"
        raise RefusedError(
            f"{doing} {path} is not allowed", hint=f"Allowed: {', '.join(map(str, roots)) or 'nothing'}."
        )
    folder = os.open(root.parent, os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY))
    try:
        steps = (root.name, *real.relative_to(root).parts)
        for step in steps[:-1]:
            folder = _step(folder, step, path, make=make_parents and write)
        return _open_last(folder, steps[-1], path, write=write)
    finally:
        os.close(folder)


def _step(folder: int, name: str, path: Path, *, make: bool) -> int:
    """Go one folder down; closes `folder`, or leaves it open when it raises."""
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=folder)
    try:
        below = os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise _explained(error, path) from error
    os.close(folder)
    return below


def _open_last(folder: int, name: str, path: Path, *, write: bool) -> int:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_WRONLY | os.O_CREAT if write else os.O_RDONLY)
    try:
        opened = os.open(name, flags, 0o644, dir_fd=folder)
    except OSError as error:
        raise _explained(error, path) from error
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "this is a folder", str(path))
        if not stat.S_ISREG(mode):
            raise RefusedError(f"{path} is not a regular file")
        if write:
            os.ftruncate(opened, 0)
        os.set_blocking(opened, True)
    except BaseException:
        os.close(opened)
        raise
    return opened


def _explained(error: OSError, path: Path) -> Exception:
    if error.errno == 40 or isinstance(error, NotADirectoryError):  # ELOOP: a link where there was none a moment ago
        return RefusedError(f"{path} changed while it was opened, or leads through a file")
    if error.errno == 6:  # ENXIO: a pipe that nobody reads, or a socket
        return RefusedError(f"{path} is not a regular file")
    return type(error)(error.errno, error.strerror, str(path))
