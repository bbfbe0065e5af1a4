"""Token counts as traces hold them (EVOLUTION 2.5 no. 59, 2.6 no. 62)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from core.traces.parsing import TraceRecord


@dataclass(frozen=True, slots=True)
class Tokens:
    """Cached input, uncached input and output (thinking included), in tokens."""

    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.cache_read + self.cache_write + self.output

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.cache_read + other.cache_read, self.cache_write + other.cache_write, self.output + other.output
        )

    def as_golden(self) -> dict[str, int]:
        return {"cacheRead": self.cache_read, "cacheWrite": self.cache_write, "output": self.output}


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one token_usage record says; the totals are the record's own where it has them."""

    request: Tokens
    request_total: int
    session: Tokens
    session_total: int


def read_usage(payload: dict[str, Any]) -> UsageRecord | None:
    """Read a token_usage payload; None where its request part holds no counts at all (unknown is not zero)."""
    request, session = payload.get("request"), payload.get("session")
    if not isinstance(request, dict) or all(_count(request.get(name)) is None for name in _NAMES):
        return None
    of_request = _tokens(request)
    of_session = _tokens(session) if isinstance(session, dict) else of_request
    return UsageRecord(
        request=of_request,
        request_total=_total(request, of_request),
        session=of_session,
        session_total=_total(session, of_session) if isinstance(session, dict) else of_request.total,
    )


def session_tokens(records: Iterable[TraceRecord]) -> Tokens | None:
    """Return the Session's total: its last token_usage, since that counts on across shards (no. 62)."""
    last: Tokens | None = None
    for record in records:
        if record.kind == "token_usage" and (usage := read_usage(record.payload)) is not None:
            last = usage.session
    return last


_MOST = 2**53  # what every JSON reader holds exactly; no float overflows on it when it is priced
_NAMES = ("cache_read", "cache_write", "output")


def _tokens(counts: dict[str, Any]) -> Tokens:
    read, write, output = (_count(counts.get(name)) or 0 for name in _NAMES)
    return Tokens(read, write, output)


def _total(counts: dict[str, Any], tokens: Tokens) -> int:
    total = _count(counts.get("total"))
    return tokens.total if total is None else total


def _count(value: object) -> int | None:
    """Return a whole number of tokens; neither a bool, nor a negative, endless or astronomic number is one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value <= _MOST else None
    if isinstance(value, float) and value.is_integer() and 0 <= value <= _MOST:
        return int(value)
    return None
