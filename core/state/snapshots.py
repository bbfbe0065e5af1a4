"""Snapshots of an Agent State: nothing that was ever a version is lost, edited ones included.

The shared format keys a snapshot by its version alone, so an edit without a new number is exported stale there and
destroyed by an import (EVOLUTION 2.7 no. 70). Here `v<version>.tar.gz` is never replaced either, but other content
under the same number is kept beside it, by content, and said so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.foundation.errors import DamagedError, NotFoundError
from core.state import audit, fingerprint, readonly
from core.state.keeping import keep, state_lock
from core.state.locks import held
from core.state.paths import AgentPaths
from core.state.snapshot_index import Snapshot, find, list_snapshots, opened
from core.state.statediff import FileDiff, diff
from core.state.swap import recover_locked
from core.state.transfer import ImportResult, VersionConflictError, export, import_archive
from core.state.versions import current_version, next_version

__all__ = [
    "Drift",
    "FileDiff",
    "ImportResult",
    "Snapshot",
    "VersionConflictError",
    "create",
    "current_version",
    "diff",
    "drift",
    "export",
    "find",
    "import_archive",
    "keep",
    "list_snapshots",
    "next_version",
    "opened",
    "state_lock",
]


def create(agent: AgentPaths, *, note: str = "", actor: str = "") -> Snapshot:
    """Keep the present state as `v<version>.tar.gz`, atomically; return the Snapshot that holds it.

    With an `actor` the audit tells who kept it, and the `note`, which goes with the content.

    Where the version has that content already, it is reused. Where it has another, that one stays and the present
    state is kept beside it; `warning` says so. Raises BlockedError for a state that can't be kept (symlinks ...),
    DamagedError where the config can't be read, LockedError, StorageError.
    """
    readonly.refuse(agent.root)
    with held(state_lock(agent)):
        recover_locked(agent)
        if current_version(agent) is None:
            raise DamagedError(
                f"{agent.config} is missing or can't be read, so the state has no version",
                hint="repair the file, or roll back",
            )
        kept = keep(agent)
    if actor:
        told = {"version": kept.version, "content_hash": kept.content_hash, "note": note, "reused": kept.reused}
        audit.record(agent.project, "snapshot", agent.id, told, actor)
    return kept


@dataclass(frozen=True, slots=True)
class Drift:
    """How the present state stands to the snapshot of its version.

    "same", "edited" (the names below differ), "no snapshot", or "blocked" (it holds what no snapshot may: `names`).
    `preserved` says that an edited state is kept beside, so nothing would be lost by leaving it.
    """

    state: Literal["same", "edited", "no snapshot", "blocked"]
    version: int | None
    content_hash: str = ""
    snapshot_hash: str = ""
    names: tuple[str, ...] = ()
    preserved: bool = False


def drift(agent: AgentPaths) -> Drift:
    """Tell whether the state was edited since the snapshot of its version; reads only."""
    version = current_version(agent)
    try:
        odd = fingerprint.irregular(agent.state)
        if odd:
            return Drift("blocked", version, names=tuple(odd))
        files = fingerprint.versioned(fingerprint.file_hashes(agent.state))
    except FileNotFoundError as error:
        raise NotFoundError(f"agent {agent.id} has no state", hint="list agents: exuvia agents list") from error
    content = fingerprint.hash_of(files)
    ours = [snapshot for snapshot in list_snapshots(agent) if snapshot.version == version and not snapshot.damage]
    if not ours:
        return Drift("no snapshot", version, content)
    first = ours[0]
    if first.content_hash == content:
        return Drift("same", version, content, content, preserved=True)
    before = fingerprint.versioned(opened(first).file_hashes())
    names = tuple(sorted(name for name in {*files, *before} if files.get(name) != before.get(name)))
    preserved = any(snapshot.content_hash == content for snapshot in ours)
    return Drift("edited", version, content, first.content_hash, names, preserved)
