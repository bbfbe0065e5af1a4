"""When a failed call is tried again, and after which pause. Pure: the jitter comes from the call's name (S24, X2)."""

from __future__ import annotations

import hashlib

from core.strategy.documents.plan import Retry
from core.strategy.documents.skill import FailureMode, SkillSchema
from core.strategy.execution.skills import RAISED, TIMEOUT

BACKOFF = Retry(max=2, backoff_ms=(100, 400), jitter=True)
"""What a failure profile's `retry_with_backoff` means."""
ONCE = Retry(max=1)
"""What its `retry` means."""


def pause_ms(retry: Retry, attempt: int, seed: str) -> float:
    """Return the pause before try number `attempt` (from 1). With jitter it is between half and the whole of it."""
    whole = float(retry.backoff_ms[min(attempt, len(retry.backoff_ms)) - 1]) if retry.backoff_ms else 0.0
    if not retry.jitter or not whole:
        return whole
    drawn = int.from_bytes(hashlib.blake2b(f"{seed}/{attempt}".encode(), digest_size=8).digest(), "big")
    return round(whole * (0.5 + 0.5 * drawn / 2**64), 3)


def in_doubt(code: str) -> bool:
    """Tell whether nobody knows if the skill did its work: it did not answer, or something broke on the way."""
    return code in (TIMEOUT, RAISED) or "TIMEOUT" in code


def may_repeat(schema: SkillSchema, code: str) -> bool:
    """Tell whether a repeat is safe: a write that may have happened is repeated only where it is idempotent (X2)."""
    return not schema.writes or schema.idempotent or not in_doubt(code)


def of_profile(row: FailureMode | None) -> Retry:
    """Return the repeats that a failure profile asks for."""
    match row.auto_recovery if row else "none":
        case "retry":
            return ONCE
        case "retry_with_backoff":
            return BACKOFF
    return Retry()
