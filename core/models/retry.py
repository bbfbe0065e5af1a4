"""How often and after what wait a failed request is tried again (EVOLUTION 4.5 no. 16)."""

from __future__ import annotations

from .interface import ProviderError

DELAYS_S = (2.0, 4.0, 8.0, 16.0, 30.0)
LONGEST_WAIT_S = 120.0
_RETRIED = frozenset({"failed", "timeout", "malformed"})


def delay_before_next(attempt: int, error: ProviderError) -> float | None:
    """Return the seconds to wait after failed attempt number `attempt` (from 1), or None: do not try again.

    The provider's own Retry-After is a floor, up to LONGEST_WAIT_S: who asks for more is told that the request
    failed, rather than freezing a run for as long as a server likes (FAULTS: retry visibility).
    """
    if error.permanent or error.status not in _RETRIED or attempt > len(DELAYS_S):
        return None
    wait = DELAYS_S[attempt - 1]
    if error.retry_after_s is not None:
        if error.retry_after_s > LONGEST_WAIT_S:
            return None
        wait = max(wait, error.retry_after_s)
    return wait
