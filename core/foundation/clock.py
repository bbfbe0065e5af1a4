"""Time and identifiers, in the shapes of the shared formats (EVOLUTION 1.3 no. 8 and 10, 2.4 no. 50)."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

IDENTIFIER = re.compile(r"^[A-Za-z0-9_-]+$")
SESSION_ID = re.compile(r"^[A-Za-z0-9_-]{1,128}$")


def now_ms() -> str:
    """Return the present as `2026-11-30T20:17:34.975Z` (trace records)."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def now_s() -> str:
    """Return the present as `2026-11-30T20:17:34Z` (scoreboard, audit)."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_date() -> str:
    """Return today's local date, the name of a trace directory."""
    return datetime.now().astimezone().strftime("%Y-%m-%d")


def new_session_id() -> str:
    """Return `session-YYYY-MM-DD-HH-mm-ss-<8 hex>` in local time."""
    return datetime.now().astimezone().strftime("session-%Y-%m-%d-%H-%M-%S-") + os.urandom(4).hex()


def short_id() -> str:
    """Return eight random hex digits."""
    return os.urandom(4).hex()


def parse_ms(timestamp: str) -> int | None:
    """Return milliseconds since the epoch of an ISO-8601 timestamp, or None where it is none."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
