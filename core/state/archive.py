"""The one archive reader: a snapshot of unknown origin is checked whole before the disk is touched.

The existing system skips what is hostile and keeps the rest, symlinks included; here one hostile member refuses the
archive (EVOLUTION 2.7 no. 75; FAULTS: path traversal at snapshot import). Plain files beside `agent_state/` are
ignored and vaults are dropped at any depth, as there (no. 73).
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.foundation.errors import DamagedError, NotFoundError
from core.foundation.visible import visible_line
from core.state import fingerprint, member_names, tarstream
from core.state.atomic import LEFTOVER, storage_error, sync_directory

ROOT = "agent_state"
_FINDINGS_SHOWN = 5
Report = Callable[[int, int], None]
"""Is told how many packed bytes of how many are done."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How large a snapshot may be, in bytes and counts. `ratio` is unpacked to packed, judged above `ratio_floor`."""

    members: int = 20_000
    file_bytes: int = 64 << 20
    total_bytes: int = 256 << 20
    packed_bytes: int = 128 << 20
    ratio: int = 100
    ratio_floor: int = 4 << 20


class HostileArchiveError(DamagedError):
    """An archive that tries what a snapshot never needs. `findings` says what, a line each."""

    def __init__(self, findings: tuple[str, ...]) -> None:
        shown = "; ".join(findings[:_FINDINGS_SHOWN])
        more = f"; and {len(findings) - _FINDINGS_SHOWN} more" if len(findings) > _FINDINGS_SHOWN else ""
        super().__init__(
            f"the archive is refused as a whole: {shown}{more}",
            hint="nothing was written; take an archive from a source you trust",
        )
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Member:
    """A file or directory of the state: `name` is relative to `agent_state/`, `sha256` "" for a directory."""

    name: str
    directory: bool
    size: int
    mode: int
    mtime: float
    sha256: str


@dataclass(frozen=True)
class CheckedArchive:
    """An archive that passed every check, held in memory so that it can't change between check and use.

    `ignored` are names that are not extracted: siblings of `agent_state/`, vaults, temporary files.
    """

    members: tuple[Member, ...]
    ignored: tuple[str, ...]
    raw: bytes = field(repr=False)
    limits: ArchiveLimits = field(repr=False)

    def file_hashes(self) -> dict[str, str]:
        """Return relative path to SHA-256 (hex) of every file."""
        return {member.name: member.sha256 for member in self.members if not member.directory}

    @property
    def content_hash(self) -> str:
        """What `fingerprint.state_hash` says of the extracted state."""
        return fingerprint.hash_of(fingerprint.versioned(self.file_hashes()))

    @property
    def whole_hash(self) -> str:
        """What `fingerprint.whole_hash` says of the extracted state."""
        return fingerprint.hash_of(
            {m.name: fingerprint.marked(m.sha256, m.mode) for m in self.members if not m.directory}
        )

    def read(self, name: str) -> bytes:
        """Return the content of one file. Raises KeyError where the archive has none of that name."""
        return self.read_many({name})[name]

    def read_many(self, names: Collection[str]) -> dict[str, bytes]:
        """Return the content of those of `names` that the archive has, in one pass."""
        return {name: b"".join(content) for name, content in self._contents() if name in names}

    def extract_to(self, directory: Path, *, without: Collection[str] = ()) -> None:
        """Make the new directory `directory` and put the state in it, synced. Raises StorageError.

        `without` names entries at the top of the state that are left out. Permissions lose set-id bits and what the
        umask takes; the owner can always read and write.
        """
        wanted = {member.name: member for member in self.members if member.name.split("/")[0] not in without}
        try:
            directory.mkdir()
            made = {directory}
            for member in wanted.values():
                if member.directory:
                    _make(directory / member.name, made)
            for name, content in self._contents():
                if name in wanted:
                    _make((directory / name).parent, made)
                    _write(directory / name, wanted[name], content)
            for place in made:
                sync_directory(place)
        except OSError as error:
            raise storage_error(error, directory) from error

    def _contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        files = {member.name for member in self.members if not member.directory}
        for header, content in tarstream.members(_opened(self.raw, self.limits)):
            name = _below_root(member_names.normal(header.name or ""))
            if header.kind == "file" and name in files:
                yield name, content


def read_archive(
    source: Path | bytes, limits: ArchiveLimits | None = None, report: Report | None = None
) -> CheckedArchive:
    """Check a tar archive, gzipped or plain, and return what it holds of `agent_state/`.

    `report` is told how far it is, and may raise to end it. Raises HostileArchiveError for anything hostile,
    DamagedError where it is no readable archive, NotFoundError where there is no such file.
    """
    limits = limits or ArchiveLimits()
    raw = source if isinstance(source, bytes) else _load(source, limits)
    return _Check(raw, limits, report).run()


def open_stream(source: Path | bytes, limits: ArchiveLimits | None = None) -> tarstream.ByteStream:
    """Open a tar archive, gzipped or plain, for `tarstream.members`: it gives no more than the limits allow.

    What the members are is for the caller to check. Raises as `read_archive` does.
    """
    limits = limits or ArchiveLimits()
    return _opened(source if isinstance(source, bytes) else _load(source, limits), limits)


def load_bytes(path: Path, limits: ArchiveLimits | None = None) -> bytes:
    """Return the bytes of an archive file of any kind. Raises as `read_archive` does."""
    return _load(path, limits or ArchiveLimits())


class _Check:
    """One reading of an archive. Invariant: `findings` is empty as long as all seen so far may be extracted."""

    def __init__(self, raw: bytes, limits: ArchiveLimits, report: Report | None) -> None:
        self.raw = raw
        self.limits = limits
        self.report = report
        self.findings: list[str] = []
        self.members: list[Member] = []
        self.ignored: list[str] = []
        self.kinds: dict[str, str] = {}
        self.twins = member_names.Twins()
        self.total = 0

    def run(self) -> CheckedArchive:
        try:
            for number, (header, content) in enumerate(
                tarstream.members(_opened(self.raw, self.limits, self.report)), start=1
            ):
                if number > self.limits.members:
                    raise HostileArchiveError((*self.findings, f"more than {self.limits.members} members"))
                self._member(header, content)
        except HostileArchiveError:
            raise
        except DamagedError as error:
            if self.findings:  # what was seen before the break is the better answer
                raise HostileArchiveError(tuple(self.findings)) from error
            raise
        self._parents()
        if self.findings:
            raise HostileArchiveError(tuple(self.findings))
        return CheckedArchive(tuple(self.members), tuple(self.ignored), self.raw, self.limits)

    def _member(self, header: tarstream.Header, content: Iterator[bytes]) -> None:
        if header.name is None:
            self.findings.append("a name that is not UTF-8")
            return
        shown = visible_line(header.name)[:200]
        faults = [member_names.fault(header.name)]
        if header.kind not in ("file", "directory"):
            faults.append(f"a {header.kind}")
        if header.mode & 0o7000:
            faults.append("set-id or sticky bits")
        self.findings += [f"{shown}: {fault}" for fault in faults if fault]
        self.total += header.size
        if header.size > self.limits.file_bytes:
            raise HostileArchiveError((*self.findings, f"{shown}: {header.size} bytes unpacked"))
        if self.total > self.limits.total_bytes:
            raise HostileArchiveError((*self.findings, f"more than {self.limits.total_bytes} bytes unpacked"))
        if not any(faults):
            self._keep(header, content)

    def _keep(self, header: tarstream.Header, content: Iterator[bytes]) -> None:
        path = member_names.normal(header.name or "")
        if not path:
            return
        other = self.twins.other(path)
        if other is not None:
            self.findings.append(f"{path}: the same name as {other} to some file systems")
        elif path in self.kinds and (header.kind, self.kinds[path]) != ("directory", "directory"):
            self.findings.append(f"{path}: twice in the archive")
        self.kinds[path] = header.kind
        name = _below_root(path)
        if path == ROOT and header.kind == "file":
            self.findings.append(f"{ROOT}: a file where the state should be")
        elif name is None or fingerprint.is_vault(name) or LEFTOVER.match(name.rpartition("/")[2]):
            if path != ROOT:
                self.ignored.append(path)
        else:
            digest = hashlib.sha256()
            for chunk in content:
                digest.update(chunk)
            directory = header.kind == "directory"
            self.members.append(
                Member(name, directory, header.size, header.mode, header.mtime, "" if directory else digest.hexdigest())
            )

    def _parents(self) -> None:
        """Find files that other members lie below."""
        for path in self.kinds:
            parts = path.split("/")
            for length in range(1, len(parts)):
                parent = "/".join(parts[:length])
                if self.kinds.get(parent) == "file":
                    self.findings.append(f"{path}: lies below the file {parent}")


class _Bounded:
    """A stream that refuses to give more than a snapshot may hold, or than its packed size explains."""

    def __init__(
        self, plain: io.BytesIO, stream: io.BufferedIOBase, limits: ArchiveLimits, report: Report | None
    ) -> None:
        packed = len(plain.getbuffer())
        self._plain, self._stream, self._packed, self._report = plain, stream, packed, report
        self._given = 0
        self._most = limits.total_bytes + limits.members * 4 * tarstream.BLOCK
        self._inflated = max(limits.ratio_floor, packed * limits.ratio)

    def read(self, size: int, /) -> bytes:
        try:
            got = self._stream.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DamagedError("not a valid gzip file, or one cut short", hint="fetch it again") from error
        self._given += len(got)
        if self._given > self._most:
            raise HostileArchiveError((f"more than {self._most} bytes unpacked",))
        if self._given > self._inflated:
            raise HostileArchiveError((f"it unpacks to more than {self._inflated} bytes, too much for its size",))
        if self._report is not None:
            self._report(self._plain.tell(), self._packed)
        return got


def _opened(raw: bytes, limits: ArchiveLimits, report: Report | None = None) -> _Bounded:
    plain = io.BytesIO(raw)
    stream: io.BufferedIOBase = gzip.GzipFile(fileobj=plain) if raw[:2] == b"\x1f\x8b" else plain
    return _Bounded(plain, stream, limits, report)


def _load(path: Path, limits: ArchiveLimits) -> bytes:
    try:
        # Without waiting: a pipe in the place of the file must not hold us up.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DamagedError(f"{visible_line(str(path))} is not a file")
            if status.st_size > limits.packed_bytes:
                raise HostileArchiveError((f"{status.st_size} bytes packed",))
            return file.read(limits.packed_bytes + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {visible_line(str(path))}", hint="check the path") from error
    except OSError as error:
        raise DamagedError(f"{visible_line(str(path))} can't be read: {error.strerror}") from error


def _below_root(path: str) -> str | None:
    root, _, name = path.partition("/")
    return name if root == ROOT and name else None


def _make(directory: Path, made: set[Path]) -> None:
    """Make a directory and its parents, once each; nothing else writes there, so existing means made by us."""
    if directory not in made:
        _make(directory.parent, made)
        directory.mkdir()
        made.add(directory)


def _write(path: Path, member: Member, content: Iterator[bytes]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, (member.mode & 0o777) | 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for chunk in content:
            file.write(chunk)
        file.flush()
        os.utime(file.fileno(), (member.mtime, member.mtime))
        os.fsync(file.fileno())
