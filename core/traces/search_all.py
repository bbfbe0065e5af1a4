"""Finding a text in many Sessions: the same scan, file after file, with the number that an entry has in its Session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core.foundation.errors import DamagedError, NotFoundError
from core.traces.reader import TraceFile
from core.traces.search import Match, Query, Scanned, search_file
from core.traces.shards import Shard


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that holds the text: entry `number` of a Session, and where in it."""

    session_id: str
    number: int
    match: Match


def search_session(session_id: str, files: tuple[Shard, ...], query: Query) -> Iterator[Hit | Scanned]:
    """Yield every entry of a Session that holds the text, in order, and how far the scan is.

    A file that is gone, or cannot be opened any more, is passed over: it holds nothing.
    """
    base = done = 0
    total = sum(shard.size for shard in files)
    for place, shard in enumerate(files):
        try:
            for found in search_file(shard.path, query):
                if isinstance(found, Scanned):
                    yield Scanned(done + found.done, max(total, done + found.done), found.offset)
                else:
                    yield Hit(session_id, base + found.line, found)
            if place + 1 < len(files):
                with TraceFile(shard.path) as file:
                    base += file.index()
        except (NotFoundError, DamagedError):
            continue
        done += shard.size


def search_sessions(sessions: Iterable[tuple[str, tuple[Shard, ...]]], query: Query) -> Iterator[Hit | Scanned]:
    """Yield every entry of several Sessions that holds the text, in the order given, and how far the scan is."""
    waiting = list(sessions)
    total = sum(shard.size for _, files in waiting for shard in files)
    done = 0
    for session_id, files in waiting:
        for found in search_session(session_id, files, query):
            if isinstance(found, Scanned):
                yield Scanned(min(total, done + found.done), total, found.offset)
            else:
                yield found
        done += sum(shard.size for shard in files)
