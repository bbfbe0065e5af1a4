"""Which snapshots there are, and what each holds: the shared `snapshots/` and our copies by content.

`<project>/.exuvia/snapshots/<agent>/index.jsonl` remembers the hashes of each archive. It is a cache: an archive
that others made, or whose line was lost in a crash, is read instead. Listing writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from core.foundation.clock import now_s
from core.foundation.errors import DamagedError, ExuviaError, NotFoundError
from core.foundation.visible import decode
from core.state.archive import CheckedArchive, Report, read_archive
from core.state.jsonlines import append_record, read_lines
from core.state.paths import AgentPaths
from core.state.versions import kept_dir, snapshot_files, version_of

CONFIG = "system_config.yaml"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A kept state.

    `content_hash` is the version's identity (see `fingerprint.state_hash`), `whole_hash` counts memory, schedule
    and executable marks too. `beside` says that it lies under `.exuvia/`, as `v<version>.tar.gz` holds something
    else. `version` 0: the state had no readable config. `damage` says why the archive can't be used; its hashes
    are then "". `reused` and `warning` tell what making it met.
    """

    version: int
    path: Path
    content_hash: str
    whole_hash: str
    beside: bool = False
    time: str = ""
    damage: str = ""
    reused: bool = False
    warning: str = ""


def list_snapshots(agent: AgentPaths) -> tuple[Snapshot, ...]:
    """Return all snapshots by version, the shared one of a version before the copies kept beside it."""
    known = _known(agent)
    found = [_look(path, version, beside, known) for version, path, beside in snapshot_files(agent)]
    return tuple(sorted(found, key=lambda snapshot: (snapshot.version, snapshot.beside, snapshot.time, snapshot.path)))


def find(agent: AgentPaths, version: int, content_hash: str | None = None) -> Snapshot:
    """Return the snapshot of a version: the shared one, or the one with that content. Raises NotFoundError."""
    having = [snapshot for snapshot in list_snapshots(agent) if snapshot.version == version]
    for snapshot in having:
        if content_hash is None or snapshot.content_hash == content_hash:
            return snapshot
    kept = sorted({snapshot.version for snapshot in list_snapshots(agent)})
    raise NotFoundError(
        f"agent {agent.id} has no snapshot of version {version}" + (f" with content {content_hash}" * bool(having)),
        hint=f"it has versions {', '.join(map(str, kept))}" if kept else "it has no snapshot at all yet",
    )


def opened(snapshot: Snapshot, report: Report | None = None) -> CheckedArchive:
    """Read a snapshot and make sure that it is what the list said. Raises DamagedError or HostileArchiveError."""
    archive = read_archive(snapshot.path, report=report)
    if snapshot.damage:
        raise DamagedError(f"{snapshot.path} can't be used: {snapshot.damage}", hint="choose another version")
    if archive.whole_hash != snapshot.whole_hash:
        raise DamagedError(f"{snapshot.path} changed while it was looked at", hint="look again")
    return archive


def remember(agent: AgentPaths, path: Path, archive: CheckedArchive, version: int, *, beside: bool) -> Snapshot:
    """Enter a new archive into the index and return its Snapshot."""
    status = path.stat()
    snapshot = Snapshot(version, path, archive.content_hash, archive.whole_hash, beside, now_s())
    append_record(
        kept_dir(agent) / "index.jsonl",
        {
            "time": snapshot.time,
            "version": version,
            "archive": path.name,
            "beside": beside,
            "size": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "content_hash": snapshot.content_hash,
            "whole_hash": snapshot.whole_hash,
            "files": archive.file_hashes(),
        },
    )
    return snapshot


_Known = Mapping[tuple[bool, str, int, int], Snapshot]


def _known(agent: AgentPaths) -> _Known:
    known: dict[tuple[bool, str, int, int], Snapshot] = {}
    for line in read_lines(kept_dir(agent) / "index.jsonl").records:
        match line:
            case {
                "time": str(time),
                "version": int(version),
                "archive": str(name),
                "beside": bool(beside),
                "size": int(size),
                "mtime_ns": int(mtime_ns),
                "content_hash": str(content_hash),
                "whole_hash": str(whole_hash),
            }:
                known[beside, name, size, mtime_ns] = Snapshot(
                    version, Path(name), content_hash, whole_hash, beside, time
                )
    return known


def _look(path: Path, version: int, beside: bool, known: _Known) -> Snapshot:
    try:
        status = path.stat()
        remembered = known.get((beside, path.name, status.st_size, status.st_mtime_ns))
        if remembered is not None and remembered.version == version:
            return replace(remembered, path=path)
        archive = read_archive(path)
        stated = version_of(decode(archive.read(CONFIG)))
    except KeyError:
        return Snapshot(version, path, "", "", beside, damage=f"it has no {CONFIG}")
    except (ExuviaError, OSError) as error:
        return Snapshot(version, path, "", "", beside, damage=str(error))
    if not beside and stated != version:
        return Snapshot(version, path, "", "", beside, damage=f"its config states version {stated}")
    return Snapshot(version, path, archive.content_hash, archive.whole_hash, beside)
