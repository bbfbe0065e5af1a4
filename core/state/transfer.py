"""Snapshots that leave and come: export, and import by the existing system's rules, made strict (EVOLUTION 2.7)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from core.foundation.errors import ConflictError, DamagedError
from core.foundation.visible import decode
from core.state import fingerprint, readonly
from core.state.archive import CheckedArchive, Report, read_archive
from core.state.atomic import write_new
from core.state.keeping import keep, state_lock
from core.state.locks import held
from core.state.pack import pack
from core.state.paths import AgentPaths
from core.state.snapshot_index import CONFIG, Snapshot, find, opened
from core.state.swap import LiveRun, exchange_locked, recover_locked
from core.state.versions import checked_version, current_version


class VersionConflictError(ConflictError):
    """The archive's version is not higher than the present one, and no one confirmed that this is meant."""

    def __init__(self, incoming: int, present: int) -> None:
        super().__init__(
            f"the archive holds version {incoming}, not higher than the present {present}",
            hint="confirm the import; the present state is kept first",
        )
        self.incoming = incoming
        self.present = present


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What came: its version, the one before, the Snapshot that holds what was there, the token for `undo`."""

    version: int
    from_version: int
    snapshot_of_before: Snapshot
    token: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Incoming:
    """An archive that was checked whole and may come in: its version, and what would be left out."""

    version: int
    archive: CheckedArchive

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the names in it that would not be taken over."""
        return self.archive.ignored


def look(archive: Path | bytes, report: Report | None = None) -> Incoming:
    """Check an archive as an import does and change nothing (EVOLUTION 2.7 no. 72): whole, nothing hostile in it, its
    config, its version. Raises NotFoundError, DamagedError (HostileArchiveError).
    """
    checked = read_archive(archive, report=report)
    try:
        config = checked.read(CONFIG)
    except KeyError:
        raise DamagedError(
            "the archive has no agent_state/system_config.yaml", hint="take a snapshot of an agent"
        ) from None
    return Incoming(checked_version(decode(config)), checked)


def import_archive(
    agent: AgentPaths,
    archive: Path | bytes,
    confirmed: bool = False,
    *,
    actor: str = "operator",
    live_run: LiveRun | None = None,
    whole_hash: str = "",
    report: Report | None = None,
) -> ImportResult:
    """Make the state what `archive` holds, memory and schedule included; the vault stays, the present state is kept.

    The checks come in the order of EVOLUTION 2.7 no. 72: a whole readable archive with nothing hostile in it, its
    config, its version, then whether that is higher or confirmed. With `whole_hash` it must still hold what was
    looked at. Raises DamagedError (HostileArchiveError), ConflictError, VersionConflictError, and as
    `rollback.roll_back`.
    """
    readonly.refuse(agent.root)
    incoming = look(archive, report)
    checked, version = incoming.archive, incoming.version
    if whole_hash and checked.whole_hash != whole_hash:
        raise ConflictError("the archive changed since it was looked at", hint="look at it again")
    with held(state_lock(agent)):
        recover_locked(agent)
        present = current_version(agent) or 1
        if version <= present and not confirmed:
            raise VersionConflictError(version, present)
        done = exchange_locked(
            agent, checked, action="import", actor=actor, to_version=version, with_memory=True, live_run=live_run
        )
    ignored = tuple(f"{name} was left out" for name in checked.ignored[:20])
    return ImportResult(version, present, done.before, done.swap.token, (*done.warnings, *ignored))


def export(
    agent: AgentPaths,
    version: int | None,
    out: Path,
    *,
    content_hash: str | None = None,
    report: Report | None = None,
) -> Path:
    """Write a snapshot to `out`, or into it as `<agent>-v<version>.tar.gz` where it is a directory; return the file.

    Without a version the present state is kept and exported as it is now, never a stale snapshot of its number. A
    vault that a foreign snapshot holds is left out. Raises ConflictError where the file exists already.
    """
    readonly.refuse(out)
    if version is None:
        readonly.refuse(agent.root, hint="Exporting the present state keeps it first; name a kept version to export.")
        with held(state_lock(agent)):
            recover_locked(agent)
            snapshot = keep(agent)
    else:
        snapshot = find(agent, version, content_hash)
    archive = opened(snapshot, report)
    target = out / f"{agent.id}-v{snapshot.version}.tar.gz" if out.is_dir() else out
    raw = archive.raw
    if any(fingerprint.is_vault(name) for name in archive.ignored):
        with tempfile.TemporaryDirectory() as scratch:
            archive.extract_to(Path(scratch) / "state")
            raw = pack(Path(scratch) / "state", Path(scratch) / "clean").raw
    write_new(target, raw)
    return target
