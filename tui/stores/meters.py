"""What Sessions have used: turns, tokens, money and time, walked a little at a time and never twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic

from core.foundation.clock import parse_ms
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from core.traces.cost import Prices, usage_cost
from core.traces.digest import Digest, DigestWalk
from core.traces.parsing import TraceRecord
from core.traces.reader import TraceFile
from core.traces.shards import Shard

_LARGEST = 8 << 20
"""Bytes of a trace that is still walked for a list; a larger one is opened to see what it used."""
_BREATH = 32  # records between two looks at the clock


@dataclass(frozen=True, slots=True)
class Meter:
    """What a Session used as far as its trace tells: `unknown` requests have no known cost, which is not 0."""

    turns: int = 0
    tokens: int = 0
    usd: float = 0.0
    unknown: int = 0
    first_ms: int | None = None
    last_ms: int | None = None


@dataclass(slots=True)
class _Walk:
    """Invariant: `walk` has taken in the first `done` entries of a trace that had `size` bytes."""

    walk: DigestWalk
    done: int = 0
    size: int = -1


class Meters:
    """Invariant: entries that were walked are not walked again. One thread at a time uses it."""

    def __init__(self, project: ProjectPaths) -> None:
        self.project = project
        self._walks: dict[str, _Walk] = {}
        self._meters: dict[str, Meter] = {}
        self._prices: Prices = {}
        self._priced: object = None

    def of(self, session_id: str) -> Meter | None:
        """Return what is known of a Session; None where nothing was read yet."""
        return self._meters.get(session_id)

    def walk(self, sessions: Iterable[tuple[Shard, ...]], seconds: float) -> bool:
        """Read on in Sessions that are new or grew, first ones first; tell whether all are read to their ends."""
        self._price()
        deadline = monotonic() + seconds
        for shards in sessions:
            size = sum(shard.size for shard in shards)
            session_id = shards[0].session_id
            known = self._walks.setdefault(session_id, _Walk(DigestWalk()))
            if known.size == size or size > _LARGEST:
                continue
            if monotonic() > deadline:
                return False
            if size < known.size:
                known = self._walks[session_id] = _Walk(DigestWalk())
            try:
                ended = self._read(shards, known, deadline)
            except (ExuviaError, OSError):
                ended = True  # gone or unreadable: the list says so in its own way
            if not ended:
                return False
            known.size = size
        return True

    def _read(self, shards: tuple[Shard, ...], known: _Walk, deadline: float) -> bool:
        """Read on from where the walk stands; tell whether it came to the end."""
        before, ended = 0, True
        for shard in shards:
            with TraceFile(shard.path) as file:
                file.index()
                while ended and known.done < before + len(file):
                    entry = file.whole(known.done - before)
                    known.done += 1
                    if isinstance(entry, TraceRecord):
                        known.walk.step(entry)
                    ended = known.done % _BREATH != 0 or monotonic() < deadline
                before += len(file)
        self._meters[shards[0].session_id] = self._metered(known.walk.so_far())
        return ended or known.done == before

    def _metered(self, digest: Digest) -> Meter:
        cost = usage_cost(digest.usage, self._prices)
        return Meter(
            sum(model.requests for model in digest.usage),
            sum(model.tokens.total for model in digest.usage),
            cost.known_usd,
            cost.unknown_requests,
            parse_ms(digest.first_ts) if digest.first_ts else None,
            parse_ms(digest.last_ts) if digest.last_ts else None,
        )

    def _price(self) -> None:
        """Take the project's prices, anew where its file changed; without a readable one no cost is known."""
        try:
            status = self.project.config.stat()
            stamp: object = (status.st_size, status.st_mtime_ns)
        except OSError:
            stamp = ()
        if stamp == self._priced:
            return
        from core.models.registry import entries

        self._priced = stamp
        try:
            self._prices = {(entry.ref.provider, entry.ref.model_id): entry.price for entry in entries(self.project)}
        except (ExuviaError, OSError):
            self._prices = {}
