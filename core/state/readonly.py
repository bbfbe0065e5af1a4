"""Homes that this process has promised not to change (`exuvia --read-only`), and what holds it to that.

Two locks on one door. Every act that changes a home calls `refuse` first, so that it is refused whole, before a
directory is made, a process started or a signal sent. Under them lies a net: once a directory is sealed, Python's
audit events are watched, and whatever would open, make, rename or remove a name below it raises the same error, also
in code that forgot to ask. The promise belongs to the process and not to a path object, so no path built anew can
lose it. The net does not see what has no audit event: mkfifo, mknod, a name made new in an open directory. Reading,
following and exporting to elsewhere stay as they are. Other processes are not bound: a run that is at work goes on.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.foundation.errors import RefusedError
from core.foundation.visible import visible_line

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HINT = "To change it, leave out --read-only (and unset EXUVIA_READ_ONLY)."

_sealed: tuple[str, ...] = ()
_changing = threading.Lock()
_watching = False


class ReadOnlyError(RefusedError):
    """The home was opened read-only by this process; nothing was changed."""


def seal(root: Path) -> None:
    """Promise for the rest of this process to change nothing at or below `root`, there or not."""
    global _sealed, _watching
    with _changing:
        real = os.path.realpath(root)
        _sealed = (*_sealed, real)
        if not _watching:
            sys.addaudithook(_audit)
            _watching = True


@contextmanager
def sealed(root: Path) -> Iterator[None]:
    """Keep the promise of `seal` for the duration of the block."""
    global _sealed
    seal(root)
    try:
        yield
    finally:
        with _changing:
            left = list(_sealed)
            left.remove(os.path.realpath(root))
            _sealed = tuple(left)


def is_sealed(path: Path | str) -> bool:
    """Tell whether a change at `path` would break a promise; a link there counts as itself and as what it leads to."""
    if not _sealed:
        return False
    name = os.fspath(path)
    there = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(name))), os.path.basename(name))  # noqa: PTH100, PTH118, PTH119, PTH120  # also asked from the hook, where a Path costs more than the question
    return _below(there) or _below(os.path.realpath(name))


def refuse(path: Path | str, *, hint: str = _HINT) -> None:
    """Raise ReadOnlyError where `path` lies in a sealed home: what every act that changes one calls first."""
    if is_sealed(path):
        raise ReadOnlyError(f"{visible_line(os.fspath(path))} is opened read-only; nothing was changed.", hint=hint)


def _below(name: str) -> bool:
    return any(name == root or name.startswith(root.rstrip("/") + "/") for root in _sealed)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _sealed:
        return
    if event == "open":
        name, mode, flags = arguments
        writes = flags & _WRITES if isinstance(flags, int) else any(letter in str(mode) for letter in "wax+")
        if writes:
            _hold(name, -1)
    elif (touched := _TOUCHED.get(event)) is not None:
        for name, directory in touched(arguments):
            _hold(name, directory)


def _hold(name: object, directory: object) -> None:
    """Refuse where `name`, taken from the open `directory` where one is given, lies in a sealed home."""
    if isinstance(name, int) or name is None:
        return  # an open file: it was asked about when it was opened
    text = os.fsdecode(name)  # type: ignore[arg-type]  # the system calls take a path in its three forms
    if isinstance(directory, int) and directory >= 0 and not text.startswith("/"):
        try:
            text = f"{os.readlink(f'/proc/self/fd/{directory}')}/{text}"  # noqa: PTH115  # as in is_sealed
        except OSError:
            return
    refuse(text)


_Named = Iterator[tuple[object, object]]


def _one(arguments: tuple[Any, ...]) -> _Named:
    yield arguments[0], arguments[-1] if len(arguments) > 1 else -1


def _plain(arguments: tuple[Any, ...]) -> _Named:
    yield arguments[0], -1


def _second(arguments: tuple[Any, ...]) -> _Named:
    yield arguments[1], arguments[-1] if len(arguments) > 2 else -1


def _both(arguments: tuple[Any, ...]) -> _Named:
    yield arguments[0], arguments[2]
    yield arguments[1], arguments[3]


# Audit event of a system call that changes names or what stands at them -> the names it touches.
_TOUCHED: Mapping[str, Callable[[tuple[Any, ...]], _Named]] = {
    "os.mkdir": _one,
    "os.rmdir": _one,
    "os.remove": _one,
    "os.rename": _both,
    "os.link": _second,
    "os.symlink": _second,
    "os.truncate": _plain,
    "os.chmod": _one,
    "os.chown": _one,
    "os.utime": _one,
    "os.setxattr": _plain,
    "os.removexattr": _plain,
    "shutil.rmtree": _plain,
}
