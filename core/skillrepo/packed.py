"""Skill folders in one file: tar, gzipped tar and zip, checked whole before anything is used of them.

What is hostile refuses the archive, as `core.state.archive` does for snapshots: a link, a device, a path that leads
out, two names that some file system takes for one, more bytes than skills have.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.foundation.errors import DamagedError, UsageError
from core.foundation.visible import visible_line
from core.state import member_names, tarstream
from core.state.archive import ArchiveLimits, HostileArchiveError, load_bytes, open_stream
from core.state.atomic import storage_error, write_new

LIMITS = ArchiveLimits(members=20_000, file_bytes=8 << 20, total_bytes=128 << 20, packed_bytes=64 << 20)
TAR, TAR_GZ, ZIP = (".tar",), (".tar.gz", ".tgz"), (".zip",)
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can say: the same skills give the same bytes


@dataclass(frozen=True, slots=True)
class PackedFile:
    """One file of an archive."""

    content: bytes
    executable: bool


def is_packed(path: Path) -> bool:
    """Tell whether the name is that of an archive of ours."""
    return path.name.lower().endswith((*TAR, *TAR_GZ, *ZIP))


def unpack(path: Path) -> Mapping[str, PackedFile]:
    """Return the files of the archive by their relative path.

    Raises NotFoundError, DamagedError where it is no archive, HostileArchiveError naming everything that is hostile.
    """
    members = _zip_members(path) if path.name.lower().endswith(ZIP) else _tar_members(path)
    files: dict[str, PackedFile] = {}
    findings: list[str] = []
    twins = member_names.Twins()
    total = 0
    for number, (name, fault, found) in enumerate(members, 1):
        if number > LIMITS.members:
            raise HostileArchiveError((*findings, f"more than {LIMITS.members} members"))
        if fault := fault or _name_fault(name, twins):
            findings.append(f"{visible_line(name)[:200]}: {fault}")
        elif found is not None:
            total += len(found.content)
            if total > LIMITS.total_bytes:
                raise HostileArchiveError((*findings, f"more than {LIMITS.total_bytes} bytes unpacked"))
            files[member_names.normal(name)] = found
    for name in files:
        below = next((parent for parent in _parents(name) if parent in files), None)
        findings += [f"{name}: lies below the file {below}"] if below else []
    if findings:
        raise HostileArchiveError(tuple(findings))
    return files


def write_files(files: Mapping[str, PackedFile], directory: Path) -> None:
    """Put the files of `unpack` below the empty directory `directory`. Raises StorageError."""
    try:
        for name, file in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            if file.executable:
                path.chmod(path.stat().st_mode | 0o111)
    except OSError as error:
        raise storage_error(error, directory) from error


def files_below(directory: Path) -> dict[str, PackedFile]:
    """Return the files below `directory` by relative path. Raises UsageError for a link among them."""
    files: dict[str, PackedFile] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_symlink():
            raise UsageError(f"{visible_line(str(path))} is a symbolic link.", hint="Put a copy in its place.")
        if path.is_file():
            name = path.relative_to(directory).as_posix()
            files[name] = PackedFile(path.read_bytes(), os.access(path, os.X_OK))
    return files


def pack(files: Mapping[str, PackedFile], out: Path) -> None:
    """Write files to the new archive `out`, whose name says which kind; the same files give the same bytes.

    Raises UsageError for a name of no known kind, ConflictError where `out` exists, StorageError.
    """
    name = out.name.lower()
    if name.endswith(ZIP):
        content = _zipped(files)
    elif name.endswith((*TAR, *TAR_GZ)):
        content = _tarred(files, compressed=name.endswith(TAR_GZ))
    else:
        raise UsageError(f"{visible_line(out.name)} is no archive's name.", hint="End it with .tar.gz, .tar or .zip.")
    write_new(out, content)


Found = tuple[str, str | None, PackedFile | None]
"""A member's name, what is wrong with it, and the file (None for a directory)."""


def _tar_members(path: Path) -> Iterator[Found]:
    for header, content in tarstream.members(open_stream(path, LIMITS)):
        if header.name is None:
            yield "", "a name that is not UTF-8", None
        elif header.kind not in ("file", "directory"):
            yield header.name, f"a {header.kind}", None
        elif header.size > LIMITS.file_bytes:
            yield header.name, f"{header.size} bytes unpacked", None
        elif header.kind == "file":
            yield header.name, None, PackedFile(b"".join(content), bool(header.mode & 0o100))
        else:
            yield header.name, None, None


def _zip_members(path: Path) -> Iterator[Found]:
    try:
        with zipfile.ZipFile(io.BytesIO(load_bytes(path, LIMITS))) as archive:
            for entry in archive.infolist():
                mode = entry.external_attr >> 16
                if entry.flag_bits & 1:
                    yield entry.filename, "encrypted", None
                elif stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                    yield entry.filename, "neither file nor directory", None
                elif entry.is_dir():
                    yield entry.filename, None, None
                elif entry.file_size > LIMITS.file_bytes:
                    yield entry.filename, f"{entry.file_size} bytes unpacked", None
                elif entry.file_size > max(LIMITS.ratio_floor, entry.compress_size * LIMITS.ratio):
                    yield entry.filename, "unpacks to too much for its size", None
                else:
                    with archive.open(entry) as file:  # gives no more than the size that was checked
                        yield entry.filename, None, PackedFile(file.read(LIMITS.file_bytes), bool(mode & 0o100))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError) as error:
        raise DamagedError(f"{visible_line(path.name)} is no readable zip archive: {error}") from error


def _name_fault(name: str, twins: member_names.Twins) -> str | None:
    try:
        fault = member_names.fault(name)
    except UnicodeEncodeError:
        return "a name that is not UTF-8"
    path = member_names.normal(name)
    if fault or not path:
        return fault
    other = twins.other(path)
    return f"the same name as {visible_line(other)} to some file systems" if other is not None else None


def _parents(name: str) -> Iterator[str]:
    parts = name.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))


def _zipped(files: Mapping[str, PackedFile]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (stat.S_IFREG | (0o755 if file.executable else 0o644)) << 16
            archive.writestr(entry, file.content)
    return out.getvalue()


def _tarred(files: Mapping[str, PackedFile], *, compressed: bool) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, file in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(file.content)
            entry.mode = 0o755 if file.executable else 0o644
            archive.addfile(entry, io.BytesIO(file.content))
    return gzip.compress(out.getvalue(), mtime=0) if compressed else out.getvalue()
