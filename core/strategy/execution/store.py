"""The context store: what is known in each session, across turns, threads and processes (S84 to S86)."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from core.foundation import strict_json
from core.foundation.errors import ConflictError, NotFoundError
from core.state.atomic import StorageError
from core.strategy.execution import reservations
from core.strategy.execution.breaker import Breakers
from core.strategy.execution.paths import with_value
from core.strategy.execution.reservations import End, Reservation
from core.strategy.execution.texts import Texts

KEPT_SNAPSHOTS = 50
"""Snapshots of one session; older ones go."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshot (
    number INTEGER PRIMARY KEY, session TEXT NOT NULL, turn INTEGER NOT NULL, label TEXT NOT NULL,
    version INTEGER NOT NULL, time TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS of_session ON snapshot (session, number);
CREATE TABLE IF NOT EXISTS lock (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """A session's body at one version. Nobody changes `body`; a write makes another one."""

    version: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a session knew at a moment (S85). `label` tells which: "begin" or "end" of a turn."""

    number: int
    session: str
    turn: int
    label: str
    version: int
    time: str
    body: Mapping[str, Any]


_NEW = Stored(0, {})


class Context(Protocol):
    """What a turn needs of a store. ContextStore is the real one, Scratch one whose changes nobody sees."""

    breakers: Breakers

    def read(self, session: str) -> Stored:
        """Return the session as it is at this moment; version 0 and an empty body where it is new."""

    def write(self, session: str, changes: Mapping[str, Any], *, expected: int | None = None) -> int:
        """Set values by path and return the new version. Raises ConflictError where `expected` is not the version."""

    def snapshot(self, session: str, turn: int, label: str, time: str) -> None:
        """Keep what the session knows now."""

    def reserve(self, name: str, session: str) -> Reservation:
        """Hold an id that nobody else holds or held."""

    def settle(self, reservation: Reservation, state: End) -> bool:
        """Commit or give back a held id."""

    def acquire(self, name: str, owner: str, seconds: float) -> bool:
        """Take a lock for at most that long; False where another owner has it."""

    def release(self, name: str, owner: str) -> None:
        """Give a lock back."""


class ContextStore:
    """A SQLite file in WAL mode, or memory where `path` is None.

    Invariant: a session's version rises by one with every write, and each write sees the one before it, from whatever
    thread or process. One object may be used by many threads; a process that forks opens its own.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._read: dict[str, Stored] = {}
        self._texts: dict[str, Texts] = {}
        self._alone = path is None  # nobody else can write: what was read last is what there is
        self.breakers = Breakers()
        try:
            self._database = sqlite3.connect(
                ":memory:" if path is None else path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            with self._transaction():
                for statement in f"{_SCHEMA}{reservations.SCHEMA}".split(";"):
                    self._database.execute(statement)
        except sqlite3.Error as error:
            raise StorageError(
                f"the context store {path or 'in memory'} can't be opened: {error}",
                hint="check the directory, or move a damaged file aside",
            ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def read(self, session: str) -> Stored:
        """Return the session at this moment, also as other processes have left it."""
        with self._lock:
            if self._alone:
                return self._read.get(session, _NEW)
            row = self._database.execute("SELECT version FROM session WHERE id = ?", (session,)).fetchone()
            if row is None:
                return _NEW
            cached = self._read.get(session)
            if cached is None or cached.version != row[0]:
                version, body = self._database.execute(
                    "SELECT version, body FROM session WHERE id = ?", (session,)
                ).fetchone()
                cached = self._read[session] = Stored(version, strict_json.parse(body))
            return cached

    def write(self, session: str, changes: Mapping[str, Any], *, expected: int | None = None) -> int:
        """Set values by path; see Context."""
        with self._transaction():
            before = self.read(session)
            if expected is not None and before.version != expected:
                raise ConflictError(
                    f"session {session} is at version {before.version}, not at {expected}", hint="read it again"
                )
            body = dict(before.body)
            for path, value in changes.items():
                body = with_value(body, path, value)
            version = before.version + 1
            self._database.execute(
                "INSERT INTO session VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET version = ?2, body = ?3",
                (session, version, self._texts.setdefault(session, Texts()).of(body)),
            )
        with self._lock:
            self._read[session] = Stored(version, body)
        return version

    def snapshot(self, session: str, turn: int, label: str, time: str) -> None:
        """Keep what the session knows now; the oldest beyond KEPT_SNAPSHOTS goes."""
        with self._transaction():
            self._database.execute(
                "INSERT INTO snapshot (session, turn, label, version, time, body) "
                "SELECT id, ?, ?, version, ?, body FROM session WHERE id = ?",
                (turn, label, time, session),
            )
            self._database.execute(
                "DELETE FROM snapshot WHERE session = ?1 AND number <= "
                "(SELECT number FROM snapshot WHERE session = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
                (session, KEPT_SNAPSHOTS),
            )

    def snapshots(self, session: str) -> tuple[Snapshot, ...]:
        """Return the session's snapshots, oldest first (S85). Raises NotFoundError for a session without any."""
        with self._lock:
            rows = self._database.execute(
                "SELECT number, session, turn, label, version, time, body FROM snapshot WHERE session = ? "
                "ORDER BY number",
                (session,),
            ).fetchall()
        if not rows:
            raise NotFoundError(f"nothing is kept of a session {session}", hint="look at the ids of the traces")
        return tuple(
            Snapshot(number, of, turn, label, version, when, strict_json.parse(body))
            for number, of, turn, label, version, when, body in rows
        )

    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions."""
        with self._lock:
            return tuple(row[0] for row in self._database.execute("SELECT id FROM session ORDER BY id"))

    def reserve(self, name: str, session: str) -> Reservation:
        """Hold an id; see Context."""
        with self._transaction():
            return reservations.take(self._database, name, session)

    def settle(self, reservation: Reservation, state: End) -> bool:
        """Settle a held id; see `reservations.end`."""
        with self._transaction():
            return reservations.end(self._database, reservation, state)

    def acquire(self, name: str, owner: str, seconds: float) -> bool:
        """Take a lock; one whose time is over (its owner was killed) is free."""
        now = time.time()
        with self._transaction():
            changed = self._database.execute(
                "INSERT INTO lock VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET owner = ?2, until = ?3 "
                "WHERE until < ?4 OR owner = ?2",
                (name, owner, now + seconds, now),
            )
            return changed.rowcount == 1

    def release(self, name: str, owner: str) -> None:
        """Give a lock back; nothing happens where another one has it by now."""
        with self._transaction():
            self._database.execute("DELETE FROM lock WHERE name = ? AND owner = ?", (name, owner))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")


class Scratch:
    """A copy of one session for a dry run: nothing that is written here is seen by anybody else (X1)."""

    def __init__(self, stored: Stored, breakers: Breakers) -> None:
        self._stored = stored
        self._numbers: dict[str, int] = {}
        self.breakers = breakers.copy()

    def read(self, session: str) -> Stored:
        """Return the copy."""
        return self._stored

    def write(self, session: str, changes: Mapping[str, Any], *, expected: int | None = None) -> int:
        """Change the copy."""
        body = dict(self._stored.body)
        for path, value in changes.items():
            body = with_value(body, path, value)
        self._stored = Stored(self._stored.version + 1, body)
        return self._stored.version

    def snapshot(self, session: str, turn: int, label: str, time: str) -> None:
        """Keep nothing."""

    def reserve(self, name: str, session: str) -> Reservation:
        """Return an id that looks like one and is nobody's."""
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return Reservation(f"dry-{name}", self._numbers[name], session)

    def settle(self, reservation: Reservation, state: End) -> bool:
        """Do nothing."""
        return True

    def acquire(self, name: str, owner: str, seconds: float) -> bool:
        """Nobody else is here."""
        return True

    def release(self, name: str, owner: str) -> None:
        """Do nothing."""
