"""Ids that are taken before a skill runs, so that no two sessions ever hold the same one (S86)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Literal

SCHEMA = """
CREATE TABLE IF NOT EXISTS reservation (
    name TEXT NOT NULL, number INTEGER NOT NULL, session TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (name, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS free ON reservation (name, state, number);
"""
End = Literal["committed", "released", "in_doubt"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """An id that one session holds. `id` is `<name>-<number>`."""

    name: str
    number: int
    session: str

    @property
    def id(self) -> str:
        """The text of it."""
        return f"{self.name}-{self.number:06d}"


def take(database: sqlite3.Connection, name: str, session: str) -> Reservation:
    """Hold the lowest free number of `name`. Inside a transaction that excludes other writers."""
    row = database.execute(
        "SELECT number FROM reservation WHERE name = ? AND state = 'released' ORDER BY number LIMIT 1", (name,)
    ).fetchone()
    if row is None:
        (number,) = database.execute(
            "SELECT COALESCE(MAX(number), 0) + 1 FROM reservation WHERE name = ?", (name,)
        ).fetchone()
        database.execute("INSERT INTO reservation VALUES (?, ?, ?, 'held')", (name, number, session))
    else:
        (number,) = row
        database.execute(
            "UPDATE reservation SET session = ?, state = 'held' WHERE name = ? AND number = ?", (session, name, number)
        )
    return Reservation(name, number, session)


def end(database: sqlite3.Connection, reservation: Reservation, state: End) -> bool:
    """Settle a held id; return whether this session held it. Inside a transaction.

    "committed": it is used for good. "released": nothing happened, the next one may have it. "in_doubt": nobody knows
    whether the skill took it (it timed out), so it is never given again.
    """
    changed = database.execute(
        "UPDATE reservation SET state = ? WHERE name = ? AND number = ? AND session = ? AND state = 'held'",
        (state, reservation.name, reservation.number, reservation.session),
    )
    return changed.rowcount == 1
