"""The operator's words to a Session that runs (EVOLUTION 4.5 no. 19): a file each, read before its next request.

`<project>/.exuvia/mail/<session-id>/` is a box. Whoever runs the Session opens it and holds its lock; the kernel lets
go of that when the process ends in whatever way, so a box that nobody holds takes no word. A word appears whole, is
never changed, and is moved to `read/` once the Session's trace has it under the word's id. Between the two a kill may
come: the word is then found again, and its id in the trace says that it was read (no word is lost, none is read twice).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.foundation import strict_json
from core.foundation.clock import SESSION_ID, now_s
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.foundation.visible import visible_line, well_formed
from core.state import audit, readonly
from core.state.atomic import storage_error, sync_directory, write_bytes, write_new
from core.state.locks import LockedError, held
from core.state.paths import ProjectPaths

WORD_BYTES = 16 * 1024
"""The longest word, in bytes of UTF-8. A model reads it whole: what is longer belongs into a file."""
_WORD = re.compile(r"^(\d{6})-[0-9a-f]{4}\.json$")
_OPENING_S = 5.0  # how long an opener waits for one that is about to let go
_CLOSING_S = 1.0
_ADDRESS, _LOCK, _DOOR, _READ = "address.json", "listener.lock", "door.lock", "read"


class Word(BaseModel):
    """A text of the operator for one Session: from whom, from which account and terminal, and when."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    session_id: str
    run_id: str = ""
    agent_id: str = ""
    text: str
    actor: str = "operator"
    signature: str = ""
    time: str = ""


class Address(BaseModel):
    """Who listens: a Session, the run it belongs to ("" where none), its agent, its role and its process."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: str
    run_id: str = ""
    agent_id: str = ""
    role: str = ""
    pid: int = 0
    opened: str = Field(default_factory=now_s)


def send(project: ProjectPaths, session_or_run: str, text: str, actor: str | None = None) -> Word:
    """Give a live Session a word, and audit it. A run's id stands for the Session that plays its role.

    Raises UsageError for a text that is empty or longer than WORD_BYTES, NotFoundError for an id that nothing has,
    ConflictError where the Session does not listen (it has ended, or it is no Session that reads words); each says
    the way out. Returns the word as it was written: it is read before the Session's next request.
    """
    readonly.refuse(project.mail)
    said = well_formed(text).strip()
    size = len(said.encode("utf-8"))
    if not said:
        raise UsageError("The message is empty.", hint="Say what the session should know.")
    if size > WORD_BYTES:
        raise UsageError(
            f"The message has {size:,} bytes; at most {WORD_BYTES:,} reach a session.",
            hint="Shorten it, or put the text in a file that the session may read and name that file.",
        )
    box = project.mail / _resolve(project, session_or_run)
    with held(box / _DOOR):
        found = _address(box)
        if found is None or not _held(box):
            raise _deaf(project, session_or_run, found)
        word = Word(
            id=f"{_next_number(box):06d}-{secrets.token_hex(2)}",
            session_id=found.session_id,
            run_id=found.run_id,
            agent_id=found.agent_id,
            text=said,
            actor=actor or "operator",
            signature=audit.signature(),
            time=now_s(),
        )
        write_new(box / f"{word.id}.json", _encode(word), mode=0o600)
    audit.record(project, "tell", word.session_id, {"word": word.id, "run_id": word.run_id, "text": said}, word.actor)
    return word


def address(project: ProjectPaths, session_or_run: str) -> Address | None:
    """Return who listens under an id of a Session or a run, or None. Writes nothing, raises nothing for an odd id."""
    if not SESSION_ID.fullmatch(session_or_run):
        return None
    box = project.mail / session_or_run
    if (found := _address(box)) is not None:
        return found if _held(box) else None
    return next((one for one in listeners(project) if one.run_id == session_or_run), None)


def listeners(project: ProjectPaths) -> tuple[Address, ...]:
    """Return every Session that a word can be sent to now, by id. Writes nothing."""
    return tuple(one for one in _addresses(project) if _held(project.mail / one.session_id))


def unread(project: ProjectPaths, session_id: str) -> tuple[Word, ...]:
    """Return what was sent and not read yet, in order; a Session that ended reads it when it is resumed."""
    return _words(project.mail / session_id)[0] if SESSION_ID.fullmatch(session_id) else ()


def unreadable(project: ProjectPaths, session_id: str) -> tuple[DamagedError, ...]:
    """Return an error for each file in a Session's box that should be a word and is none."""
    return _words(project.mail / session_id)[1] if SESSION_ID.fullmatch(session_id) else ()


@dataclass
class Box:
    """The listening end. Invariant: while it is open this process alone holds the box's lock."""

    root: Path
    address: Address

    def words(self) -> tuple[Word, ...]:
        """Return what waits, in the order it was sent: one look at a small directory. What is no word stays there."""
        return _words(self.root)[0]

    def taken(self, word: Word) -> None:
        """Put a word among the read ones: its id stands in the trace. Doing so twice changes nothing."""
        source, target = self.root / f"{word.id}.json", self.root / _READ / f"{word.id}.json"
        try:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            os.rename(source, target)  # noqa: PTH104  # as in atomic: one spelling for renames
            sync_directory(self.root)
        except FileNotFoundError:
            return  # moved before
        except OSError as error:
            raise storage_error(error, target) from error


@contextlib.contextmanager
def opened(project: ProjectPaths, session_id: str, *, agent_id: str, role: str, run_id: str = "") -> Iterator[Box]:
    """Listen for a Session while the block runs. Raises ConflictError where another process runs the same one."""
    if not SESSION_ID.fullmatch(session_id):
        raise UsageError(f"{session_id!r} is no session id.", hint="Name a session: exuvia trace list --agent AGENT")
    root = project.mail / session_id
    readonly.refuse(root)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.ExitStack() as listening:
        try:
            listening.enter_context(held(root / _LOCK, timeout_s=_OPENING_S))
        except LockedError as error:
            raise ConflictError(
                f"Session {session_id} is live in another process.",
                hint=f"Talk to it there, or send it a word: exuvia send {session_id} TEXT",
            ) from error
        mine = Address(session_id=session_id, run_id=run_id, agent_id=agent_id, role=role, pid=os.getpid())
        write_bytes(root / _ADDRESS, _encode(mine), mode=0o600)
        try:
            yield Box(root, mine)
        finally:
            # Through the door, so that no sender stands between its look at the lock and its word: whoever was told
            # that the word is sent finds it in the box, read by then or by the Session when it is resumed.
            with contextlib.suppress(LockedError), held(root / _DOOR, timeout_s=_CLOSING_S):
                listening.close()


def _resolve(project: ProjectPaths, session_or_run: str) -> str:
    """Return the Session that an id names. Raises NotFoundError, or ConflictError where a run has none that listens."""
    if not SESSION_ID.fullmatch(session_or_run):
        raise NotFoundError(
            f"{visible_line(session_or_run)!r} is no id of a session or a run.", hint="List them: exuvia runs list"
        )
    if _address(project.mail / session_or_run) is not None:
        return session_or_run
    mine = [one for one in _addresses(project) if one.run_id == session_or_run]
    live = [one for one in mine if _held(project.mail / one.session_id)]
    if mine:
        return max(live or mine, key=lambda one: (one.opened, one.session_id)).session_id
    if (project.runs / session_or_run).is_dir():
        raise _deaf(project, session_or_run, None)
    if any(project.agents.glob(f"*/traces/*/{session_or_run}_*.jsonl")):
        raise ConflictError(
            f"Session {session_or_run} does not listen: it has ended, or it works on its task alone.",
            hint="Builders, Optimizers and chats listen while they run: exuvia runs list",
        )
    raise NotFoundError(
        f"There is no session and no run {session_or_run!r} in project {project.id}.",
        hint="List them: exuvia runs list, exuvia trace list --agent AGENT",
    )


def _deaf(project: ProjectPaths, asked: str, found: Address | None) -> ConflictError:
    """Return the error for something that exists and does not listen now, with the way out."""
    run_id = found.run_id if found is not None else asked
    if run_id and (project.runs / run_id).is_dir():
        return ConflictError(
            f"No session of run {run_id} listens now.",
            hint=f"If it has ended before its work was done, resume it: exuvia runs resume {run_id}",
        )
    agent_id = found.agent_id if found is not None else "AGENT"
    return ConflictError(
        f"Session {asked} is not live.", hint=f"Take it up again: exuvia chat {agent_id} --resume {asked}"
    )


def _addresses(project: ProjectPaths) -> tuple[Address, ...]:
    try:
        names = sorted(entry.name for entry in os.scandir(project.mail) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return ()
    found = (_address(project.mail / name) for name in names if SESSION_ID.fullmatch(name))
    return tuple(one for one in found if one is not None)


def _address(box: Path) -> Address | None:
    try:
        found = Address.model_validate(strict_json.parse((box / _ADDRESS).read_bytes()))
    except (OSError, ValueError, ValidationError):
        return None
    return found if found.session_id == box.name else None


def _held(box: Path) -> bool:
    """Tell whether a process listens. Changes nothing, so that a console which may not write can look too."""
    try:
        descriptor = os.open(box / _LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _next_number(box: Path) -> int:
    """Return the number after the last word of the box, read or not; the caller holds the door."""
    names = [entry.name for place in (box, box / _READ) if place.is_dir() for entry in os.scandir(place)]
    return max((int(match[1]) for name in names if (match := _WORD.match(name))), default=0) + 1


def _words(box: Path) -> tuple[tuple[Word, ...], tuple[DamagedError, ...]]:
    try:
        names = sorted(entry.name for entry in os.scandir(box) if _WORD.match(entry.name))
    except FileNotFoundError:
        return (), ()
    words: list[Word] = []
    damaged: list[DamagedError] = []
    for name in names:
        try:
            words.append(_read(box / name))
        except FileNotFoundError:
            continue  # read by its Session between the two looks
        except DamagedError as error:
            damaged.append(error)
    return tuple(words), tuple(damaged)


def _read(path: Path) -> Word:
    try:
        word = Word.model_validate(strict_json.parse(path.read_bytes()))
        if f"{word.id}.json" != path.name:
            raise ValueError(f"it calls itself {word.id}")
    except (ValidationError, ValueError) as error:
        raise DamagedError(
            f"{visible_line(str(path))} is not a readable message: {visible_line(str(error))[:200]}",
            hint="Move the file away and send the message again.",
        ) from error
    return word


def _encode(model: BaseModel) -> bytes:
    return strict_json.dumps(model.model_dump(mode="python"), indent=1).encode("utf-8") + b"\n"
