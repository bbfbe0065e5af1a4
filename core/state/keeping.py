"""Keep a state as a snapshot: under its version's name if that is free, else by content beside it."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import replace
from pathlib import Path

from core.foundation.errors import BlockedError, ConflictError
from core.foundation.visible import decode
from core.state import fingerprint, readonly
from core.state.atomic import LEFTOVER, publish_new, storage_error
from core.state.pack import pack, require_regular
from core.state.paths import AgentPaths
from core.state.snapshot_index import CONFIG, Snapshot, list_snapshots, remember
from core.state.versions import kept_dir, version_of

_LEFTOVER_S = 3600.0


def state_lock(agent: AgentPaths) -> Path:
    """Return the lock file that whoever changes or keeps the agent's state holds (`locks.held`)."""
    return kept_dir(agent) / "lock"


def keep(agent: AgentPaths, *, everything: bool = False) -> Snapshot:
    """Keep the present state as `snapshots.create` does, for callers that hold `state_lock`; also one whose config
    can't be read.

    With `everything`, memory and schedule must be in the snapshot as they are now, too.
    """
    return keep_directory(agent, agent.state, everything=everything)


def keep_directory(agent: AgentPaths, state: Path, *, everything: bool = False) -> Snapshot:
    """Keep a directory that is, or was a moment ago, the agent's state."""
    readonly.refuse(agent.root)
    for _ in range(3):
        require_regular(state)
        content, whole = _hashes(state)
        version = _version_in(state)
        for snapshot in list_snapshots(agent):
            if snapshot.version != version or snapshot.content_hash != content:
                continue
            if snapshot.whole_hash == whole or not everything:
                return replace(snapshot, reused=True, warning=_warning(snapshot) if snapshot.beside else "")
        made = _pack_new(agent, state, version, whole)
        if made is not None:
            return made
    raise BlockedError(
        f"the state of {agent.id} changes while it is being kept", hint="stop what writes to it, then try again"
    )


def _hashes(state: Path) -> tuple[str, str]:
    try:
        return fingerprint.state_hash(state), fingerprint.whole_hash(state)
    except OSError as error:
        raise storage_error(error, state) from error


def _version_in(state: Path) -> int:
    try:
        return version_of(decode((state / CONFIG).read_bytes())) or 0
    except OSError:
        return 0


def _pack_new(agent: AgentPaths, state: Path, version: int, whole: str) -> Snapshot | None:
    """Pack into the shared name if it is free, else by content beside; None where the state changed meanwhile."""
    shared = agent.snapshots / f"v{version}.tar.gz"
    beside = version == 0 or os.path.lexists(shared)
    path = kept_dir(agent) / f"v{version}-{whole.removeprefix('sha256:')}.tar.gz" if beside else shared
    temporary = path.with_name(f".tmp-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear_leftovers(path.parent)
        archive = pack(state, temporary)
        if archive.whole_hash != whole:
            return None
        publish_new(temporary, path)
    except ConflictError:  # someone without our lock was faster: look again
        return None
    except OSError as error:
        raise storage_error(error, path) from error
    finally:
        temporary.unlink(missing_ok=True)
    snapshot = remember(agent, path, archive, version, beside=beside)
    return replace(snapshot, warning=_warning(snapshot)) if beside else snapshot


def _clear_leftovers(directory: Path) -> None:
    """Remove what killed packers left; a young one may belong to another program that is at work."""
    for entry in directory.iterdir():
        if LEFTOVER.match(entry.name) and time.time() - entry.lstat().st_mtime > _LEFTOVER_S:
            entry.unlink(missing_ok=True)


def _warning(snapshot: Snapshot) -> str:
    if not snapshot.version:
        return f"the state has no readable config; it is kept as {snapshot.path.name}"
    return (
        f"v{snapshot.version}.tar.gz holds another state of version {snapshot.version} and stays; "
        f"the present one is kept beside it as {snapshot.path.name}"
    )
