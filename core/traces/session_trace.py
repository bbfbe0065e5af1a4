"""A Session as one run of entries, over all its shards (EVOLUTION 2.6 no. 61 and 62)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Self

from core.foundation.errors import NotFoundError
from core.state.paths import AgentPaths
from core.traces.parsing import Entry, Gap, TraceRecord
from core.traces.reader import Change, TraceFile
from core.traces.shards import Shard, session_shards

if TYPE_CHECKING:
    from types import TracebackType


class SessionTrace:
    """The shards of one Session, read as one.

    Invariant: entry numbers run on through the shards in order of their index; a shard that appears later comes
    after those that are there, so numbers stay as they are while the Session goes on.
    """

    def __init__(self, agent: AgentPaths, session_id: str, *, index: bool = True) -> None:
        """Open every shard of `session_id`, and index it unless told not to. Raises NotFoundError."""
        self.agent = agent
        self.session_id = session_id
        self._files: dict[Shard, TraceFile] = {}
        self._add_new_shards()
        if not self._files:
            raise NotFoundError(
                f"There is no session {session_id} of agent {agent.id}.", hint="List the agent's sessions."
            )
        if index:
            for file in self.files:
                file.index()

    @property
    def files(self) -> tuple[TraceFile, ...]:
        """The shards' readers, in order."""
        return tuple(self._files.values())

    def refresh(self) -> Change:
        """Follow every shard and take in new ones; "replaced" where entry numbers no longer mean what they did."""
        changes: list[Change] = [file.refresh() for file in self.files]
        if self._add_new_shards(index=True):
            changes.append("grown")
        order: tuple[Change, ...] = ("replaced", "gone", "grown", "same")
        return next(change for change in order if change in changes)

    def __len__(self) -> int:
        return sum(len(file) for file in self._files.values())

    def locate(self, number: int) -> tuple[TraceFile, int]:
        """Return the shard and the number in it of an entry of the Session. Raises IndexError."""
        ends = list(accumulate(len(file) for file in self.files))
        if not 0 <= number < len(self):
            raise IndexError(f"entry {number} of {len(self)}")
        which = bisect_right(ends, number)
        return self.files[which], number - (ends[which - 1] if which else 0)

    def entry(self, number: int) -> Entry:
        """Return an entry as a list shows it (its `line` counts in its own shard)."""
        file, line = self.locate(number)
        return file.entry(line)

    def whole(self, number: int) -> Entry:
        """Return an entry read whole."""
        file, line = self.locate(number)
        return file.whole(line)

    def window(self, start: int, count: int) -> tuple[Entry, ...]:
        """Return up to `count` entries from number `start` on, clamped to what is there."""
        return tuple(self.entry(number) for number in range(max(0, start), min(len(self), start + count)))

    @property
    def tail(self) -> Gap | None:
        """The torn or unfinished end of the last shard."""
        return self.files[-1].tail

    def iter_entries(self) -> Iterator[Entry]:
        """Yield every entry of every shard, whole, streaming."""
        for file in self.files:
            yield from file.iter_entries()

    def iter_records(self) -> Iterator[TraceRecord]:
        """Yield every record of every shard, streaming."""
        for file in self.files:
            yield from file.iter_records()

    def close(self) -> None:
        """Close every shard."""
        for file in self.files:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _add_new_shards(self, *, index: bool = False) -> int:
        known = {(shard.index, shard.date) for shard in self._files}
        added = 0
        for shard in session_shards(self.agent, self.session_id):
            if (shard.index, shard.date) in known:
                continue
            self._files[shard] = TraceFile(shard.path)
            if index:
                self._files[shard].index()
            added += 1
        return added
