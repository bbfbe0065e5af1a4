"""Where the files of a Session lie: `traces/<any date>/<session id>_<3 digits>.jsonl` (EVOLUTION 1.3 no. 8 to 10).

A Session's shards may lie under several dates, and a date directory may have any name; the disk is the truth.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from core.foundation.clock import SESSION_ID, local_date
from core.foundation.errors import UsageError
from core.state.paths import AgentPaths

_SHARD_NAME = re.compile(r"(?P<session_id>[A-Za-z0-9_-]{1,128})_(?P<index>[0-9]{3})\.jsonl")


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a Session. `date` is the name of its directory, `size` its bytes when it was found.

    `mtime_ns` is when it had been written last, in nanoseconds since the epoch; it is no part of what it is.
    """

    session_id: str
    index: int
    date: str
    size: int
    path: Path
    mtime_ns: int = field(default=0, compare=False)


def check_session_id(session_id: str) -> str:
    """Return `session_id`, or raise UsageError where it could not safely be part of a file name (no. 10)."""
    if not SESSION_ID.fullmatch(session_id):
        raise UsageError(
            f"Not a session id: {session_id[:200]!r}.", hint="1 to 128 letters, digits, hyphens and underscores."
        )
    return session_id


def new_trace_path(agent: AgentPaths, session_id: str) -> Path:
    """Return `traces/<local date>/<session_id>_001.jsonl`; makes nothing. Raises UsageError on an unsafe id."""
    return agent.traces / local_date() / f"{check_session_id(session_id)}_001.jsonl"


def next_shard_path(shard: Path) -> Path:
    """Return the path after `shard` in the same directory, where a compacted Session goes on (no. 61)."""
    name = _SHARD_NAME.fullmatch(shard.name)
    if name is None:
        raise UsageError(f"Not a trace file: {shard.name}.", hint="They are named <session id>_<3 digits>.jsonl.")
    index = int(name["index"]) + 1
    if index > 999:
        raise UsageError(f"{name['session_id']} has 999 trace files already.", hint="Start a new session.")
    return shard.with_name(f"{name['session_id']}_{index:03d}.jsonl")


def all_shards(agent: AgentPaths) -> dict[str, tuple[Shard, ...]]:
    """Return the shards of every Session of `agent`, newest id first, each Session's by index, then date.

    Directory entries only: no file is opened. A missing traces directory is an agent without Sessions.
    """
    ordered = sorted(_scan(agent).items(), reverse=True)
    return {session_id: tuple(sorted(shards, key=_place)) for session_id, shards in ordered}


def session_shards(agent: AgentPaths, session_id: str) -> tuple[Shard, ...]:
    """Return the shards of one Session in reading order, () where it has none."""
    found = _scan(agent, only=check_session_id(session_id))
    return tuple(sorted(found.get(session_id, ()), key=_place))


def _scan(agent: AgentPaths, only: str | None = None) -> dict[str, list[Shard]]:
    found: dict[str, list[Shard]] = {}
    for date in _entries(agent.traces):
        if not date.is_dir():
            continue
        for entry in _entries(Path(date.path)):
            name = _SHARD_NAME.fullmatch(entry.name)
            if name is None or (only is not None and name["session_id"] != only) or not entry.is_file():
                continue
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue  # gone since it was listed
            path = Path(entry.path)
            shard = Shard(name["session_id"], int(name["index"]), date.name, status.st_size, path, status.st_mtime_ns)
            found.setdefault(shard.session_id, []).append(shard)
    return found


def _place(shard: Shard) -> tuple[int, str]:
    return shard.index, shard.date


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
