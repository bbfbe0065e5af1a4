"""How a Session ended, or stands, and what it counted, from the last bytes of its last file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from core.foundation.clock import parse_ms
from core.traces.parsing import TraceRecord, parse_line
from core.traces.shards import Shard
from core.traces.tokens import Tokens, read_usage

State = Literal["done", "failed", "open", "empty"]

TAIL = 24 << 10
_MOST_LOOKED_AT = 24
_USAGE = b'"token_usage"'


@dataclass(frozen=True, slots=True)
class Outline:
    """`state` is "done" where the model had the last word, "failed" where the last request or turn was broken off,
    "open" where more was to come: it is still at work, or was cut.

    `reason` says why it failed. `last_ts` is "" and `tokens` None where the last bytes do not tell.
    """

    state: State
    reason: str = ""
    last_ts: str = ""
    tokens: Tokens | None = None


def read_outline(files: tuple[Shard, ...]) -> Outline:
    """Return the outline of a Session; one whose files are gone or empty is "empty"."""
    raw = _tail(files[-1]) if files else b""
    if len(raw) < TAIL // 8 and len(files) > 1:
        raw = _tail(files[-2]) + raw  # a file that was just begun says little
    lines = [line for line in raw.split(b"\n") if line.strip()]
    if not lines:
        return Outline("empty")
    state, reason, last_ts = _state(lines)
    return Outline(state, reason, last_ts, _tokens(lines))


def _tail(shard: Shard) -> bytes:
    """Return whole lines at the end of a file, b"" where it is gone; one line longer than `TAIL` is none."""
    try:
        fd = os.open(shard.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        size = os.fstat(fd).st_size
        start = max(0, size - TAIL)
        raw = os.pread(fd, TAIL, start)
    finally:
        os.close(fd)
    return raw if start == 0 else raw[raw.find(b"\n") + 1 :]


def _state(lines: list[bytes]) -> tuple[State, str, str]:
    last_ts = ""
    for raw in reversed(lines[-_MOST_LOOKED_AT:]):
        record = parse_line(raw, line=0, start=1)
        if not isinstance(record, TraceRecord):
            continue
        if not last_ts and parse_ms(record.timestamp) is not None:
            last_ts = record.timestamp
        state, reason = _says(record)
        if state is not None:
            return state, reason, last_ts
    return "open", "", last_ts


def _says(record: TraceRecord) -> tuple[State | None, str]:
    """Return what a record, the last that says anything, makes of its Session; None where it says nothing of that."""
    match record.kind:
        case "abort":
            return "failed", record.text("reason") or "broken off"
        case "request_end" if record.text("status") not in ("", "completed"):
            if record.payload.get("retry_in_ms") is not None:
                return "open", ""
            return "failed", record.text("error_message") or record.text("status")
        case "text" if record.payload.get("role") == "assistant":
            ended = record.payload.get("stop_reason") in (None, "completed")
            return ("done", "") if ended else ("failed", record.text("stop_reason"))
        case "text" | "tool_call" | "tool_call_output" | "request_begin" | "compaction_begin" | "session_meta":
            return "open", ""
        case _:
            return None, ""


def _tokens(lines: list[bytes]) -> Tokens | None:
    for raw in reversed(lines):
        if _USAGE in raw:
            record = parse_line(raw, line=0, start=1)
            usage = read_usage(record.payload) if isinstance(record, TraceRecord) else None
            if usage is not None:
                return usage.session
    return None
