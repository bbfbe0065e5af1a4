"""The Sessions of an agent, from directory entries and the head of one file each (EVOLUTION 2.4 no. 54, 5.2 no. 7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from core.foundation.errors import DamagedError, NotFoundError
from core.state.paths import AgentPaths
from core.traces.markers import title_of
from core.traces.parsing import TraceRecord
from core.traces.reader import TraceFile
from core.traces.shards import Shard, all_shards, session_shards

Category = Literal["active", "subagent", "schedule", "archived"]
CATEGORIES: tuple[Category, ...] = ("active", "subagent", "schedule", "archived")

_HEAD_BYTES = 1 << 20  # enough for a long system prompt and a first prompt
_HEAD_STEP = 64 << 10
_HEAD_ENTRIES = 64


@dataclass(frozen=True, slots=True)
class SessionHead:
    """What a list shows of a Session. Texts are "" and `title` too where its head does not (yet) say them.

    `prompt` is the first user text as it stands, cut where its line was too long for a list; `sender` is who wrote it.
    `fault` says why the file could not be read at all, "" where it could.
    """

    session_id: str
    agent_id: str
    title: str
    category: Category
    workspace: str
    source: str
    agent_state: str
    provider: str
    model_id: str
    first_ts: str
    files: tuple[Shard, ...]
    prompt: str = ""
    sender: str = "user"
    tools: frozenset[str] = field(default_factory=frozenset)
    fault: str = ""

    @property
    def size(self) -> int:
        """Bytes of all its files when it was listed."""
        return sum(shard.size for shard in self.files)

    @property
    def is_complete(self) -> bool:
        """Whether everything that a head can say is known; then it never changes again."""
        return bool(self.first_ts and self.prompt and self.tools)


def list_sessions(agent: AgentPaths, known: Mapping[str, SessionHead] | None = None) -> tuple[SessionHead, ...]:
    """Return the Sessions of `agent`, newest id first; an unreadable or empty file is listed with what it is.

    `known` are heads of an earlier call by session id, used again instead of read where they cannot have changed.
    """
    earlier = known or {}
    heads = (
        again(earlier.get(session_id), shards) or read_head(agent, shards)
        for session_id, shards in all_shards(agent).items()
    )
    return tuple(head for head in heads if head is not None)


def session_head(agent: AgentPaths, session_id: str) -> SessionHead | None:
    """Return the head of one Session of `agent`, None where it has none by that id."""
    shards = session_shards(agent, session_id)
    return read_head(agent, shards) if shards else None


def read_head(agent: AgentPaths, shards: tuple[Shard, ...]) -> SessionHead | None:
    """Read the head of a Session's first shard, at most a megabyte of it; None where the file is gone meanwhile."""
    meta: dict[str, str] = {}
    prompt, first_ts, sender, fault = "", "", "user", ""
    tools: frozenset[str] = frozenset()
    try:
        for record in _first_records(shards[0].path):
            first_ts = first_ts or record.timestamp
            if record.kind == "session_meta" and not meta:
                meta = {name: record.text(name) for name in _META}
            elif record.kind == "tool_list_ready" and not tools:
                tools = _names(record.payload.get("tools"))
            elif not prompt and record.kind == "text" and record.payload.get("role") == "user":
                prompt, sender = record.text("text"), record.text("sender") or "user"
            if record.kind == "request_begin" and prompt:
                break
    except NotFoundError:
        return None
    except DamagedError as error:
        fault = str(error)
    source = meta.get("source", "")
    return SessionHead(
        session_id=shards[0].session_id,
        agent_id=agent.id,
        title=title_of(prompt),
        category=_category(source),
        workspace=meta.get("workspace", ""),
        source=source,
        agent_state=meta.get("agent_state", ""),
        provider=meta.get("provider", ""),
        model_id=meta.get("model_id", ""),
        first_ts=first_ts,
        files=shards,
        prompt=prompt,
        sender=sender,
        tools=tools,
        fault=fault,
    )


def by_date(heads: Iterable[SessionHead]) -> dict[str, Any]:
    """Return Sessions under the dates their files lie in, newest first, as the existing system's API answers."""
    dates: dict[str, dict[str, list[dict[str, int]]]] = {}
    for head in heads:
        for shard in head.files:
            files = dates.setdefault(shard.date, {}).setdefault(head.session_id, [])
            files.append({"index": shard.index, "sizeBytes": shard.size})
    return {
        "dates": [
            {
                "date": date,
                "sessions": [{"sessionId": session_id, "files": files} for session_id, files in sessions.items()],
            }
            for date, sessions in sorted(dates.items(), reverse=True)
        ]
    }


def page(heads: Iterable[SessionHead], *, offset: int = 0, limit: int | None = None) -> dict[str, Any]:
    """Return a page of Sessions with counts by category and Workspace, as the existing system's API answers."""
    listed = tuple(heads)
    workspaces: dict[str, dict[str, int]] = {}
    for head in listed:
        workspaces.setdefault(head.workspace, dict.fromkeys(CATEGORIES, 0))[head.category] += 1
    shown = listed[offset:] if limit is None else listed[offset : offset + limit]
    return {
        "dates": [],
        "sessions": [
            {
                "sessionId": head.session_id,
                "title": head.title,
                "category": head.category,
                "workspace": head.workspace,
                "files": [{"index": shard.index, "date": shard.date, "sizeBytes": shard.size} for shard in head.files],
            }
            for head in shown
        ],
        "totalSessions": len(listed),
        "counts": {name: sum(head.category == name for head in listed) for name in CATEGORIES},
        "workspaceCounts": workspaces,
    }


_META = ("workspace", "source", "agent_state", "provider", "model_id")


def again(known: SessionHead | None, shards: tuple[Shard, ...]) -> SessionHead | None:
    """Return `known` with the files of now: where its first file is untouched, or has grown and all is known of it."""
    if known is None:
        return None
    if stamps(known.files) == stamps(shards):
        return known
    if not known.is_complete:
        return None
    before, now = known.files[0], shards[0]
    if before.path != now.path or now.size < before.size:
        return None
    return known if known.files == shards else replace(known, files=shards)


def stamps(files: tuple[Shard, ...]) -> tuple[tuple[Path, int, int], ...]:
    """Return what is another as soon as one of a Session's files is."""
    return tuple((shard.path, shard.size, shard.mtime_ns) for shard in files)


def _first_records(path: Path) -> Iterator[TraceRecord]:
    """Yield the first records, reading only as far as the caller goes on, at most `_HEAD_BYTES`."""
    with TraceFile(path) as file:
        shown = 0
        for progress in file.index_batches(_HEAD_STEP):
            yield from _records(file, shown)
            shown = len(file)
            if progress.done >= _HEAD_BYTES or shown >= _HEAD_ENTRIES:
                return
        yield from _records(file, shown)  # a last record that lacks its newline


def _records(file: TraceFile, start: int) -> Iterator[TraceRecord]:
    for number in range(start, min(len(file), _HEAD_ENTRIES)):
        if isinstance(entry := file.entry(number), TraceRecord):
            yield entry


def _names(tools: object) -> frozenset[str]:
    listed = tools if isinstance(tools, list) else []
    return frozenset(tool["name"] for tool in listed if isinstance(tool, dict) and isinstance(tool.get("name"), str))


def _category(source: str) -> Category:
    if source == "subagent":
        return "subagent"
    return "schedule" if source == "schedule" else "active"
