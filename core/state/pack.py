"""Pack an Agent State into the shared snapshot format (EVOLUTION 2.7 no. 69)."""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
from pathlib import Path

from core.foundation.errors import BlockedError, DamagedError
from core.foundation.visible import visible_line
from core.state import fingerprint, member_names
from core.state.archive import ROOT, CheckedArchive, read_archive
from core.state.atomic import LEFTOVER, storage_error


def pack(agent_state: Path, out: Path) -> CheckedArchive:
    """Write `agent_state` to the new file `out`, synced, and return it as read back by the checks of an import.

    No vault; owner 0, directory times 0, file times and permissions kept; the same content gives the same bytes.
    Raises BlockedError where the state holds what a snapshot can't (symlinks, names that collide ...), or
    StorageError; `out` is then the caller's to remove.
    """
    require_regular(agent_state)
    try:
        descriptor = os.open(out, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            with (
                gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
            ):
                tar.addfile(_entry(ROOT, tarfile.DIRTYPE, 0o755))
                _add_directory(tar, agent_state, "")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise storage_error(error, out) from error
    try:
        return read_archive(out)
    except DamagedError as error:
        raise BlockedError(
            f"a snapshot of {visible_line(str(agent_state))} could not be imported again: {error}",
            hint="rename or remove what is named; then try again",
        ) from error


def require_regular(agent_state: Path) -> None:
    """Raise BlockedError where the state holds a symlink or anything else that is neither file nor directory."""
    _refuse(fingerprint.irregular(agent_state), "neither file nor directory")


def _add_directory(tar: tarfile.TarFile, directory: Path, prefix: str) -> None:
    with os.scandir(directory) as entries:
        ordered = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    for entry in ordered:
        name = prefix + entry.name
        if fingerprint.is_vault(entry.name) or LEFTOVER.match(entry.name):
            continue
        try:
            fault = member_names.fault(name)
        except UnicodeEncodeError:
            fault = "a name that is not UTF-8"
        if fault:
            _refuse([name], fault)
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            tar.addfile(_entry(f"{ROOT}/{name}", tarfile.DIRTYPE, status.st_mode & 0o777))
            _add_directory(tar, Path(entry.path), name + "/")
        else:
            _add_file(tar, Path(entry.path), name)


def _add_file(tar: tarfile.TarFile, path: Path, name: str) -> None:
    # Looked at and read through one descriptor that follows no link, whatever the name turns into meanwhile.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            _refuse([name], "neither file nor directory")
        entry = _entry(f"{ROOT}/{name}", tarfile.REGTYPE, status.st_mode & 0o777)
        entry.size = status.st_size
        entry.mtime = int(status.st_mtime)
        tar.addfile(entry, file)


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = mode
    return entry


def _refuse(names: list[str], why: str) -> None:
    if names:
        shown = ", ".join(visible_line(name) for name in names[:5])
        raise BlockedError(
            f"the agent's state can't be kept in a snapshot: {shown}: {why}",
            hint="replace a link by what it points to, or remove it; then try again",
        )
