"""Taking a trace out of an agent and into another, as the raw bytes it is (EVOLUTION 2.8 no. 78)."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from core.foundation.clock import parse_ms
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.state import atomic, readonly
from core.state.paths import AgentPaths
from core.traces.parsing import Gap, TraceRecord, parse_line
from core.traces.shards import check_session_id, session_shards

LARGEST_IMPORT = 14 * 1024 * 1024  # bytes
Report = Callable[[int, int], None]
"""Told how much is done of how much, in bytes."""
_PIECE = 4 << 20


def export_trace(agent: AgentPaths, session_id: str, directory: Path, report: Report | None = None) -> tuple[Path, ...]:
    """Copy every shard of a Session, byte for byte, to `directory`, and return the copies.

    `report` is told how many bytes of how many are copied; where it raises, or a copy fails, no half copy stays.

    Raises NotFoundError where there is no such Session, ConflictError where a copy would replace a file.
    """
    readonly.refuse(directory)
    shards = session_shards(agent, session_id)
    if not shards:
        raise NotFoundError(f"There is no session {session_id} of agent {agent.id}.", hint="List the sessions.")
    directory.mkdir(parents=True, exist_ok=True)
    copies = tuple(directory / shard.path.name for shard in shards)
    for copy in copies:
        if os.path.lexists(copy):
            raise ConflictError(f"{copy} exists already.", hint="Choose another directory, or move that file away.")
    done, total = 0, sum(shard.size for shard in shards)
    made: list[Path] = []
    try:
        for shard, copy in zip(shards, copies, strict=True):
            with shard.path.open("rb") as source, copy.open("xb") as target:
                made.append(copy)
                while piece := source.read(_PIECE):
                    target.write(piece)
                    done += len(piece)
                    if report is not None:
                        report(done, max(total, done))
    except BaseException:
        for copy in made:
            copy.unlink(missing_ok=True)
        raise
    return copies


def import_trace(agent: AgentPaths, source: Path | bytes, *, largest: int = LARGEST_IMPORT) -> Path:
    """Check a trace strictly, write it as `<session id>_001.jsonl` of `agent`, and return that path.

    Every line must be a record and the first a session_meta with a safe id; it lies under the local date of its first
    timestamp. Raises UsageError over `largest` bytes, DamagedError naming the line that is none, ConflictError where an
    agent of the Project has a Session by that id. Nothing is written unless all of it is right.
    """
    readonly.refuse(agent.root)
    raw = _limited(source, largest).rstrip(b"\r\n") + b"\n"
    first, moment = _checked(raw)
    session_id = check_session_id(first.text("session_id"))
    _refuse_duplicate(agent, session_id)
    target = agent.traces / _local_date(moment) / f"{session_id}_001.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_new(target, raw)
    return target


def _limited(source: Path | bytes, largest: int) -> bytes:
    if isinstance(source, bytes):
        raw = source
    else:
        try:
            with source.open("rb") as file:
                raw = file.read(largest + 1)
        except FileNotFoundError as error:
            raise NotFoundError(f"There is no file {source}.") from error
    if len(raw) > largest:
        raise UsageError(
            f"The trace is larger than {largest} bytes.", hint="Copy the file into the agent's traces directory."
        )
    return raw


def _checked(raw: bytes) -> tuple[TraceRecord, str]:
    """Return the first record and the first timestamp there is."""
    first: TraceRecord | None = None
    moment = ""
    start = 0
    for number, line in enumerate(raw[:-1].split(b"\n")):
        entry = parse_line(line, line=number, start=start)
        start += len(line) + 1
        if isinstance(entry, Gap):
            raise DamagedError(
                f"Line {number + 1} of the trace is no record: {entry.detail or entry.reason}.",
                hint="Only whole traces are imported; nothing was written.",
            )
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DamagedError(f"Line {number + 1} of the trace is not UTF-8.", hint="Nothing was written.") from error
        first = first or entry
        if not moment and parse_ms(entry.timestamp) is not None:
            moment = entry.timestamp
    if first is None or first.kind != "session_meta":
        raise DamagedError("The first record of the trace is no session_meta.", hint="Is it the Session's first file?")
    if not moment:
        raise DamagedError("No record of the trace has a timestamp.", hint="Nothing was written.")
    return first, moment


def _refuse_duplicate(agent: AgentPaths, session_id: str) -> None:
    for agent_id in dict.fromkeys((agent.id, *agent.project.agent_ids())):
        if session_shards(agent.project.agent(agent_id), session_id):
            raise ConflictError(
                f"Agent {agent_id} has a session {session_id} already.", hint="Nothing was written; compare the two."
            )


def _local_date(moment: str) -> str:
    milliseconds = parse_ms(moment)
    assert milliseconds is not None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone().strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError) as error:
        raise DamagedError(f"{moment} has no local date.", hint="Nothing was written.") from error
