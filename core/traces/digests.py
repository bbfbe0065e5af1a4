"""Digests of many Sessions, kept while their files stay as they are and continued where they have grown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from core.traces.digest import Digest, DigestWalk
from core.traces.listing import stamps
from core.traces.parsing import TraceRecord, parse_line
from core.traces.reader import LONGEST
from core.traces.shards import Shard

_BATCH = 256 << 10


@dataclass(slots=True)
class _Walked:
    """How far a Session was walked: the bytes of each of its files that the walk has seen."""

    walk: DigestWalk = field(default_factory=DigestWalk)
    seen: dict[Path, int] = field(default_factory=dict)
    stamp: tuple[tuple[Path, int, int], ...] = ()
    digest: Digest | None = None


class Digests:
    """Invariant: what is kept of a Session says what its files said at the `stamp` kept with it."""

    def __init__(self) -> None:
        self._walked: dict[str, _Walked] = {}

    def known(self, session_id: str, files: tuple[Shard, ...]) -> Digest | None:
        """Return the digest of a Session, None where its files have changed since, or were never read."""
        walked = self._walked.get(session_id)
        return walked.digest if walked is not None and walked.stamp == stamps(files) else None

    def latest(self, session_id: str) -> Digest | None:
        """Return the newest digest there is, though the files may have grown since."""
        walked = self._walked.get(session_id)
        return walked.digest if walked is not None else None

    def read(self, session_id: str, files: tuple[Shard, ...], *, is_open: bool) -> Iterator[int]:
        """Read what is new in a Session's files; yield the bytes of each batch. The digest is there once it ends.

        `is_open` says that the Session may still be at work: then a request under way is not counted as unknown.
        """
        walked = self._walked.get(session_id)
        if walked is None or any(walked.seen.get(shard.path, 0) > shard.size for shard in files):
            walked = _Walked()
        for shard in files:
            for record, offset, count in _records_from(shard.path, walked.seen.get(shard.path, 0)):
                if record is not None:
                    walked.walk.step(record)
                walked.seen[shard.path] = offset
                if count:
                    yield count
        walked.digest = walked.walk.so_far() if is_open else deepcopy(walked.walk).finish()
        walked.stamp = stamps(files)
        self._walked[session_id] = walked

    def forget_but(self, session_ids: frozenset[str]) -> None:
        """Forget Sessions that are there no more."""
        for session_id in [known for known in self._walked if known not in session_ids]:
            del self._walked[session_id]


def _records_from(path: Path, start: int) -> Iterator[tuple[TraceRecord | None, int, int]]:
    """Yield each record behind `start` with the offset behind its line, and (None, offset, bytes) after each batch.

    A last line without its newline is not taken: it may still grow.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        at, pending = start, b""
        while piece := os.pread(fd, _BATCH, at + len(pending)):
            block = pending + piece
            whole = block.rfind(b"\n") + 1
            if not whole and len(block) > LONGEST:
                at, pending = at + len(block), b""
                continue
            begin = 0
            while begin < whole:
                end = block.index(b"\n", begin)
                entry = parse_line(block[begin:end], line=0, start=at + begin)
                begin = end + 1
                if isinstance(entry, TraceRecord):
                    yield entry, at + begin, 0
            at, pending = at + whole, block[whole:]
            yield None, at, len(piece)
    finally:
        os.close(fd)
