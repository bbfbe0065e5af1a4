"""Go back to an earlier version of an agent, and back again (DECISIONS 13 and 14).

Every version stays, so undoing is another swap. Scoreboards, traces and the ledger are never touched.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.foundation.errors import ConflictError, NotFoundError, RefusedError
from core.state import fingerprint, readonly
from core.state.keeping import state_lock
from core.state.locks import held
from core.state.paths import AgentPaths
from core.state.scoreboard import read_scoreboard
from core.state.snapshot_index import Snapshot, find, list_snapshots, opened
from core.state.swap import Exchanged, LiveRun, Swap, exchange_locked, history, pending, recover_locked
from core.state.versions import current_version

__all__ = [
    "LiveRun",
    "RollbackResult",
    "Swap",
    "default_target",
    "history",
    "pending",
    "recover",
    "roll_back",
    "undo",
    "undoable",
]


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """What happened: versions, the Snapshot that holds what was there, the token of the swap, warnings to show."""

    from_version: int
    to_version: int
    snapshot_of_before: Snapshot
    token: str
    warnings: tuple[str, ...] = ()


def roll_back(
    agent: AgentPaths,
    *,
    version: int | None = None,
    actor: str,
    with_memory: bool = False,
    content_hash: str | None = None,
    live_run: LiveRun | None = None,
) -> RollbackResult:
    """Make the state what the snapshot of `version` holds; without one, the accepted version before the present.

    The vault stays; memory and schedule stay unless `with_memory`. `content_hash` chooses among several states kept
    under one number. The present state is kept first. Raises NotFoundError, RefusedError (already there, or a live
    run holds the agent), BlockedError, LockedError, DamagedError, StorageError.
    """
    readonly.refuse(agent.root)
    with held(state_lock(agent)):
        recover_locked(agent)
        target = default_target(agent) if version is None else version
        snapshot = find(agent, target, content_hash)
        archive = opened(snapshot)
        same = fingerprint.whole_hash(agent.state) == snapshot.whole_hash
        if same or (not with_memory and fingerprint.state_hash(agent.state) == snapshot.content_hash):
            raise RefusedError(
                f"agent {agent.id} already is what version {target} holds", hint="choose another version"
            )
        done = exchange_locked(
            agent,
            archive,
            action="roll_back",
            actor=actor,
            to_version=target,
            with_memory=with_memory,
            live_run=live_run,
        )
    return _result(done)


def undo(agent: AgentPaths, actor: str, *, live_run: LiveRun | None = None) -> RollbackResult:
    """Take back the latest rollback or import: the state is then exactly what it was, memory as it is now unless
    that was exchanged too.

    Raises NotFoundError where there is nothing to undo, ConflictError where the state was changed since.
    """
    readonly.refuse(agent.root)
    with held(state_lock(agent)):
        recover_locked(agent)
        last = undoable(agent)
        if last is None:
            raise NotFoundError(f"there is nothing to undo for agent {agent.id}", hint="roll back to a version instead")
        if fingerprint.state_hash(agent.state) != last.after:
            raise ConflictError(
                f"agent {agent.id} was changed since what undo would take back ({last.words})",
                hint=f"roll back to version {last.from_version} instead; the present state is kept then",
            )
        before = _holding(agent, last.before)
        done = exchange_locked(
            agent,
            opened(before),
            action="undo",
            actor=actor,
            to_version=last.from_version,
            with_memory=last.with_memory,
            live_run=live_run,
            undoes=last.token,
        )
    return _result(done)


def undoable(agent: AgentPaths) -> Swap | None:
    """Return the swap that `undo` would take back: the latest that was neither undone nor an undo; reads only."""
    swaps = history(agent)
    undone = {swap.undoes for swap in swaps}
    return next((swap for swap in reversed(swaps) if not swap.undoes and swap.token not in undone), None)


def recover(agent: AgentPaths) -> str | None:
    """Repair what a killed rollback, undo or import left; return what was done, None where there was nothing."""
    readonly.refuse(agent.root)
    with held(state_lock(agent)):
        return recover_locked(agent)


def default_target(agent: AgentPaths) -> int:
    """Return the highest version below the present that a scoreboard holds and a snapshot keeps: the Reference before
    the present one; else the highest snapshot below. Raises NotFoundError where there is none; reads only.
    """
    present = current_version(agent)
    kept = {snapshot.version for snapshot in list_snapshots(agent) if not snapshot.damage and snapshot.version}
    earlier = {version for version in kept if present is None or version < present}
    accepted = {
        evaluation.version
        for name in agent.benchmark_ids()
        for evaluation in read_scoreboard(agent.benchmark(name).scoreboard).evaluations
    }
    choice = earlier & accepted or earlier
    if not choice:
        raise NotFoundError(f"agent {agent.id} has no snapshot before its present version", hint="name a version")
    return max(choice)


def _holding(agent: AgentPaths, whole_hash: str) -> Snapshot:
    for snapshot in list_snapshots(agent):
        if snapshot.whole_hash == whole_hash:
            return snapshot
    raise NotFoundError(
        f"the snapshot of what agent {agent.id} was before is gone",
        hint="roll back to one of the versions that are left",
    )


def _result(done: Exchanged) -> RollbackResult:
    return RollbackResult(done.swap.from_version, done.swap.to_version, done.before, done.swap.token, done.warnings)
