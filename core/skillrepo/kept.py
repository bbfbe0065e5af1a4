"""A repository that lives on disk: its directory with the operation log in it (K1, K2).

The directory is what counts; the log is its history. Whatever changed the directory without the log (an editor, a
version control system, a kill between the two) is written down before the next call as one `hand_edit`, so the last
position of the log always is what stands on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from core.foundation.errors import NotFoundError
from core.foundation.visible import visible_line
from core.skillrepo import directory as directories
from core.skillrepo.directory import Loaded
from core.skillrepo.operations import Call, Change, Verdict
from core.skillrepo.oplog import FILE, OperationLog, read_log
from core.skillrepo.repository import Repository
from core.state import readonly
from core.state.atomic import storage_error
from core.state.locks import held

_LOCK = ".writer.lock"
_PATIENCE_S = 60.0  # how long a writer waits for another: thousands of skills take seconds
HAND_EDIT = "hand_edit"
"""What the log calls a change that no call made."""


def at(directory: Path, position: int | None = None) -> Loaded:
    """Return the repository in `directory`, as it stands or as its log tells of `position`.

    Raises NotFoundError where there is no such directory, or no log to ask; UsageError for a position it lacks.
    """
    if position is None:
        return directories.load(directory)
    if not (directory / FILE).is_file():
        raise NotFoundError(
            f"{visible_line(str(directory))} has no {FILE}, so no earlier positions.", hint="Leave out the position."
        )
    reading = read_log(directory / FILE)
    return Loaded(reading.at(position), reading.notes, {})


def apply(
    directory: Path, calls: Iterable[Call], *, source: Mapping[str, Any] | None = None, extra: bool = False
) -> tuple[Verdict, ...]:
    """Carry out calls on the repository in `directory` (made where missing) and log them; return the verdicts.

    One writer at a time: another waits, and judges its calls by what this one left. Raises ConflictError where a text
    was changed by hand meanwhile, LockedError, StorageError; nothing has changed then.
    """
    readonly.refuse(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(error, directory) from error
    with held(directory / _LOCK, timeout_s=_PATIENCE_S):
        loaded = directories.load(directory)
        log = OperationLog(directory / FILE)
        _catch_up(log, loaded.repository)
        repository = loaded.repository.copy()
        verdicts = repository.apply(calls, extra=extra)
        if any(verdict.changes or verdict.links for verdict in verdicts):
            directories.save(repository, directory, seen=loaded.seen)
        log.append(verdicts, source)
        return verdicts


def _catch_up(log: OperationLog, repository: Repository) -> None:
    reading = log.read()
    if not log.path.is_file():
        if len(repository):
            log.begin(repository)
        return
    known = reading.at()
    changes = tuple(_changes(known, repository))
    links = tuple(link for link in repository.links if link not in known.links)
    if changes:
        call = Call(HAND_EDIT, {}, "", "native")
        log.append([Verdict(call, True, "", *changes[0], changes[1:], links)])


def _changes(before: Repository, after: Repository) -> Iterable[Change]:
    for skill in before:
        if skill.title not in after:
            yield skill, None
    for skill in after:
        old = before.get(skill.title)
        if old is None or old.content != skill.content:
            yield old, skill
