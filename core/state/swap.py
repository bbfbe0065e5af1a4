"""Put another Agent State in the place of the present one, whole, and survive a kill at every step.

The order, under the agent's lock: keep the present state; note the intent; unpack beside; carry over what stays;
rename the present one aside; rename the new one in; check its hash; enter history and audit; clean up. Whatever
is interrupted, the next call finds the note: before the second rename it puts the old state back, after it it
completes the bookkeeping (EVOLUTION 2.7 no. 73, DECISIONS 13).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from core.foundation import strict_json
from core.foundation.clock import now_s
from core.foundation.errors import BlockedError, ConflictError, DamagedError, RefusedError
from core.state import audit, fingerprint, readonly
from core.state.archive import CheckedArchive
from core.state.atomic import replace_directory, storage_error, sync_directory, write_text
from core.state.jsonlines import append_record, read_lines
from core.state.keeping import keep, keep_directory
from core.state.paths import AgentPaths
from core.state.snapshot_index import Snapshot
from core.state.versions import current_version, kept_dir

LiveRun = Callable[[AgentPaths], str | None]
"""Tells the id of a live run that holds the agent, or None."""


@dataclass(frozen=True, slots=True)
class Swap:
    """One exchange of the state, as history keeps it.

    `before` is the whole hash of the snapshot that holds what was there, `after` the content hash of what came.
    `with_memory` says that memory and schedule were exchanged too. `undoes` is the token of the swap taken back.
    """

    token: str
    time: str
    action: str
    actor: str
    from_version: int
    to_version: int
    before: str
    after: str
    with_memory: bool
    undoes: str = ""

    @property
    def words(self) -> str:
        """Return what was done, in words; one that stayed on its version says what it took off or put in."""
        if self.from_version != self.to_version:
            return f"{self.action.replace('_', ' ')} v{self.from_version} to v{self.to_version}"
        return {
            "roll_back": f"back to v{self.to_version} as it was kept",
            "import": f"import over v{self.to_version}",
        }.get(self.action, f"{self.action} of a change within v{self.to_version}")


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What a swap did: the entry of history, the Snapshot of what was there, and anything worth telling."""

    swap: Swap
    before: Snapshot
    warnings: tuple[str, ...] = ()


def exchange_locked(
    agent: AgentPaths,
    archive: CheckedArchive,
    *,
    action: str,
    actor: str,
    to_version: int,
    with_memory: bool,
    live_run: LiveRun | None = None,
    undoes: str = "",
) -> Exchanged:
    """Make the state what `archive` holds; the caller holds `state_lock` and has called `recover_locked`.

    The vault stays; memory and schedule stay unless `with_memory`. Raises RefusedError where a live run holds the
    agent, BlockedError where the present state can't be kept, StorageError; the old state then still stands.
    """
    readonly.refuse(agent.root)
    if live_run is not None and (run := live_run(agent)) is not None:
        raise RefusedError(f"run {run} holds agent {agent.id}", hint="stop the run first, then try again")
    before = keep(agent, everything=True)
    swap = Swap(
        token=secrets.token_hex(6),
        time=now_s(),
        action=action,
        actor=actor,
        from_version=current_version(agent) or 0,
        to_version=to_version,
        before=before.whole_hash,
        after=archive.content_hash,
        with_memory=with_memory,
        undoes=undoes,
    )
    try:
        _prepare(agent, archive, swap)
        stage = _stage(agent, swap.token)
        replace_directory(stage / "incoming", agent.state, stage / "outgoing")
        if fingerprint.state_hash(agent.state) != swap.after:
            _put_back(agent, stage)
            raise DamagedError(
                "the new state is not what the snapshot holds; the old one is back", hint="check the disk"
            )
    except BaseException:
        recover_locked(agent)
        raise
    return Exchanged(swap, before, (*([before.warning] if before.warning else []), *_complete(agent, swap)))


def recover_locked(agent: AgentPaths) -> str | None:
    """Repair what an interrupted swap left, if any; return what was done. The caller holds `state_lock`.

    Raises DamagedError where neither state is to be found (someone else removed them): the snapshots still are.
    """
    swap = pending(agent)
    if swap is None:
        return None
    readonly.refuse(agent.root)
    stage = _stage(agent, swap.token)
    what = f"an interrupted {swap.action.replace('_', ' ')}"
    present, outgoing, incoming = (
        os.path.lexists(agent.state),
        (stage / "outgoing").is_dir(),
        (stage / "incoming").is_dir(),
    )
    if outgoing and not incoming and present:
        _complete(agent, swap)
        return f"{what} to version {swap.to_version} was completed"
    if outgoing:  # the second rename never came, so the old state goes back
        taken = ""
        if present:  # someone made a state in the gap: no one's work is thrown away
            foreign = kept_dir(agent) / f"found-{swap.token}"
            _rename(agent.state, foreign)
            taken = f"; the state that stood there is now {foreign}"
        _rename(stage / "outgoing", agent.state)
        _clean(agent, swap)
        return f"{what} was taken back; the state is version {swap.from_version} as before{taken}"
    if not present:
        raise DamagedError(
            f"agent {agent.id} has no state after {what}",
            hint=f"unpack the snapshot of version {swap.from_version} as agent_state by hand",
        )
    _clean(agent, swap)
    return None if _entered(agent, swap) else f"{what} had changed nothing yet"


def history(agent: AgentPaths) -> tuple[Swap, ...]:
    """Return every swap, oldest first."""
    return tuple(swap for record in read_lines(_history(agent)).records if (swap := _swap(record)) is not None)


def pending(agent: AgentPaths) -> Swap | None:
    """Return the swap that was interrupted, if any; reads only."""
    try:
        record = strict_json.parse(_intent(agent).read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        record = None
    swap = _swap(record) if isinstance(record, dict) else None
    if swap is None:
        raise DamagedError(f"{_intent(agent)} is no note of ours", hint="look at the agent's directory, then remove it")
    return swap


def _prepare(agent: AgentPaths, archive: CheckedArchive, swap: Swap) -> None:
    """Note the intent and make the incoming state beside the present one, checked."""
    write_text(_intent(agent), json.dumps(asdict(swap)))
    stage = _stage(agent, swap.token)
    try:
        stage.mkdir(mode=0o700)
        incoming = stage / "incoming"
        archive.extract_to(incoming, without=() if swap.with_memory else fingerprint.KEPT)
        if not swap.with_memory:
            for name in fingerprint.KEPT:
                _carry(agent.state / name, incoming / name)
        _carry_vaults(agent.state, incoming)
        sync_directory(incoming)
    except OSError as error:
        raise storage_error(error, stage) from error
    if fingerprint.state_hash(incoming) != swap.after or fingerprint.irregular(incoming):
        raise ConflictError("the unpacked state is not what the snapshot holds", hint="check the disk, then try again")


def _complete(agent: AgentPaths, swap: Swap) -> tuple[str, ...]:
    """Do what follows the second rename; every step can be done again. Return warnings."""
    stage = _stage(agent, swap.token)
    outgoing = stage / "outgoing"
    warnings: tuple[str, ...] = ()
    try:
        _carry_vaults(outgoing, agent.state)  # again: a key may have been entered meanwhile
        if not _entered(agent, swap):
            append_record(_history(agent), asdict(swap))
        if not any(entry.detail.get("token") == swap.token for entry in audit.read(agent.project)):
            audit.record(agent.project, swap.action, agent.id, asdict(swap), swap.actor)
        if fingerprint.whole_hash(outgoing) != swap.before or fingerprint.irregular(outgoing):
            warnings = (f"the state was edited while it was exchanged; the edit is kept as {_keep_late(agent, stage)}",)
        _clean(agent, swap)
    except OSError as error:
        raise storage_error(error, stage) from error
    return warnings


def _keep_late(agent: AgentPaths, stage: Path) -> str:
    """Keep what was written into the old state after it was kept, as a snapshot or as it is."""
    try:
        return keep_directory(agent, stage / "outgoing", everything=True).path.name
    except BlockedError:
        place = kept_dir(agent) / f"late{stage.name}"
        _rename(stage / "outgoing", place)
        return str(place)


def _clean(agent: AgentPaths, swap: Swap) -> None:
    stage = _stage(agent, swap.token)
    outgoing = stage / "outgoing"
    if outgoing.is_dir():
        # Under another name before it is taken apart: half of it must never pass for a state.
        os.rename(outgoing, stage / "done")  # noqa: PTH104  # as in atomic
    if stage.is_dir():
        shutil.rmtree(stage)
    _intent(agent).unlink(missing_ok=True)


def _rename(old: Path, new: Path) -> None:
    try:
        os.rename(old, new)  # noqa: PTH104 - as in replace_directory, of which these are the way back
        for parent in {old.parent, new.parent}:
            sync_directory(parent)
    except OSError as error:
        raise storage_error(error, new) from error


def _put_back(agent: AgentPaths, stage: Path) -> None:
    replace_directory(stage / "outgoing", agent.state, stage / "refused")


def _entered(agent: AgentPaths, swap: Swap) -> bool:
    return any(entry.token == swap.token for entry in history(agent))


def _carry_vaults(source: Path, target: Path) -> None:
    """Copy every vault of `source`: they are in no snapshot, so what is not carried over is lost."""
    for name in fingerprint.vaults(source):
        place = target / name
        if not place.is_file() or place.read_bytes() != (source / name).read_bytes():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            _copy(source / name, place)


def _carry(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, copy_function=_copy)
        for directory, _, _ in os.walk(target):
            sync_directory(Path(directory))


def _copy(source: Path | str, target: Path | str) -> None:
    """Copy a file with its mode and times, private from its first byte, synced."""
    with os.fdopen(os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as old:
        status = os.fstat(old.fileno())
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(target, flags, 0o600), "wb") as new:
            shutil.copyfileobj(old, new)
            new.flush()
            os.fchmod(new.fileno(), status.st_mode & 0o777)
            os.utime(new.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(new.fileno())


def _stage(agent: AgentPaths, token: str) -> Path:
    return agent.root / f".import-{token}"  # the shared format's name for staging, which everyone passes over


def _intent(agent: AgentPaths) -> Path:
    return kept_dir(agent) / "swap.json"


def _history(agent: AgentPaths) -> Path:
    return kept_dir(agent) / "history.jsonl"


def _swap(record: dict[str, object]) -> Swap | None:
    try:
        swap = Swap(**record)  # type: ignore[arg-type]  # what the fields hold is checked next
    except TypeError:
        return None
    texts = (swap.token, swap.time, swap.action, swap.actor, swap.before, swap.after, swap.undoes)
    numbers = (swap.from_version, swap.to_version)
    sound = all(isinstance(text, str) for text in texts) and all(type(number) is int for number in numbers)
    return swap if sound and swap.token.isalnum() else None
