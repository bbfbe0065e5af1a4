"""The one atomic writer and the one appender: after a kill or a full disk, the old bytes or the new, never between.

Everything the engine writes under a home goes through here (FAULTS: non-atomic write and ENOSPC, non-atomic state).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from pathlib import Path

from core.foundation.errors import ConflictError, ExuviaError
from core.foundation.visible import visible_line, well_formed
from core.state import readonly

LEFTOVER = re.compile(r"^\.tmp-[0-9a-f]{8}$")
"""Name of a temporary file of ours (the form snapshots use too, EVOLUTION 2.7 no. 69); a kill may leave one."""


class StorageError(ExuviaError):
    """The file system would not take or give the bytes; what stood there before still stands."""


def storage_error(error: OSError, path: Path) -> StorageError:
    """Tell `error`, met while writing `path`, in words that name the file system and the way out."""
    place = f"{visible_line(str(path))} (file system {file_system_of(path)})"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            what, hint = "no space left", "free space there, then try again; the old content is untouched"
        case errno.EROFS:
            what, hint = "mounted read-only", "remount it writable or choose another home with --home"
        case errno.EACCES | errno.EPERM:
            what, hint = "permission denied", "check the owner and mode of the directory"
        case errno.ENOENT | errno.ENOTDIR:
            what, hint = "its directory does not exist", "check the path"
        case errno.EFBIG:
            what, hint = "larger than the file size limit allows", "raise the limit (ulimit -f)"
        case _:
            what, hint = error.strerror or str(error), "check the disk, then try again"
    return StorageError(f"cannot write {place}: {what}", hint=hint)


def file_system_of(path: Path) -> str:
    """Return the mount point that holds `path`, or would hold it."""
    at = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the link that is being replaced
    while not os.path.ismount(at) and at != at.parent:
        at = at.parent
    return str(at)


def new_folder(path: Path) -> None:
    """Make `path` and what leads to it as a folder to write something into; one that is there must be empty.

    Raises ConflictError where something stands there, StorageError where it can't be made.
    """
    readonly.refuse(path)
    try:
        taken = os.path.lexists(path) and (not path.is_dir() or any(path.iterdir()))
        if not taken:
            path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(error, path) from error
    if taken:
        what = "is not empty" if path.is_dir() else "exists already, and is no folder"
        raise ConflictError(
            f"{visible_line(str(path))} {what}.", hint="Name a folder that isn't there yet, or an empty one."
        )


def write_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write `text` as UTF-8, newlines as given; see `write_bytes`.

    What has no UTF-8 (a byte of a file name, half a character) is written as a replacement character: no name that
    somebody gave a file may cost the text that mentions it.
    """
    write_bytes(path, well_formed(text).encode("utf-8"), mode=mode)


def write_bytes(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Make `path` hold exactly `data`: temporary file beside it, fsync, rename, fsync of the directory.

    `mode` is the permission of the file; None keeps that of the file replaced, or the umask's for a new one. A
    symlink at `path` is replaced, never written through. Raises StorageError; the old file is then intact.
    """
    readonly.refuse(path)
    temporary = path.with_name(f".tmp-{os.urandom(4).hex()}")
    try:
        if mode is None:
            mode = _mode_of(path)
        _write_temporary(temporary, data, mode)
        os.replace(temporary, path)  # noqa: PTH105 - one spelling for the three renames of this module
        sync_directory(path.parent)
    except OSError as error:
        raise storage_error(error, path) from error
    finally:
        _discard(temporary)


def write_new(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Like `write_bytes`, but the first writer wins: ConflictError where something already stands at `path`.

    The content is complete at the moment the name appears (a hard link to the temporary file), so a reader never
    sees half of it.
    """
    readonly.refuse(path)
    temporary = path.with_name(f".tmp-{os.urandom(4).hex()}")
    try:
        _write_temporary(temporary, data, mode)
        publish_new(temporary, path)
    except OSError as error:
        raise storage_error(error, path) from error
    finally:
        _discard(temporary)


def publish_new(temporary: Path, path: Path) -> None:
    """Give the complete, synced file `temporary` the name `path`, never replacing: ConflictError, or OSError."""
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise ConflictError(
            f"{visible_line(str(path))} already exists", hint="look at it first; it is never replaced"
        ) from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # No hard links here (FAT, some network mounts): reserve the name, then rename over the reservation.
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError as taken:
            raise ConflictError(f"{visible_line(str(path))} already exists") from taken
        os.replace(temporary, path)  # noqa: PTH105  # one spelling for the renames here
    temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def append_line(path: Path, text: str, *, fsync: bool = True, lock: bool = True, mode: int = 0o666) -> None:
    """Append `text` and a newline by a single O_APPEND write, creating the file (not its directory) with `mode`.

    A torn tail that a killed writer left is closed with a newline first, so it costs one line and never two. With
    `lock` other appenders wait, and a write that the disk cut short is taken back. Raises StorageError, or
    ValueError where `text` is more than one line.
    """
    if "\n" in text:
        raise ValueError("a line must not contain a newline")
    readonly.refuse(path)
    line = text.encode("utf-8") + b"\n"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            if lock:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            _append(descriptor, line, exclusive=lock)
            if fsync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise storage_error(error, path) from error


def _append(descriptor: int, line: bytes, *, exclusive: bool) -> None:
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        line = b"\n" + line
    written = os.write(descriptor, line)
    if written == len(line):
        return
    if exclusive:
        os.ftruncate(descriptor, size)
    raise OSError(errno.ENOSPC, "the disk took only a part of the line")


def replace_directory(incoming: Path, target: Path, aside: Path) -> None:
    """Put the directory `incoming` in the place of `target`, which moves to `aside`; all on one file system.

    Two renames: where the second fails, the first is taken back and StorageError raised. A kill between the two
    leaves `target` missing and `aside` whole; whoever calls this keeps a note that lets it repair that.
    """
    readonly.refuse(target)
    try:
        os.rename(target, aside)  # noqa: PTH104  # one spelling for the renames here
        try:
            os.rename(incoming, target)  # noqa: PTH104  # one spelling for the renames here
        except OSError:
            os.rename(aside, target)  # noqa: PTH104  # one spelling for the renames here
            raise
        for parent in {incoming.parent, target.parent, aside.parent}:
            sync_directory(parent)
    except OSError as error:
        raise storage_error(error, target) from error


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` survive a power cut; a file system that can't sync a directory is let be."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _discard(temporary: Path) -> None:
    with contextlib.suppress(OSError):  # gone already (the good case), or its directory was never there
        temporary.unlink()


def _mode_of(path: Path) -> int | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_mode & 0o777 if not path.is_symlink() else None


def _write_temporary(temporary: Path, data: bytes, mode: int | None) -> None:
    # A file that will be private is private from its first byte on.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
