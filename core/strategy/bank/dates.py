"""When a version may answer: not before `effective_from`, not from `deprecation_date` on (STRATEGY S61, S62)."""

from __future__ import annotations

from datetime import datetime

from core.foundation.errors import UsageError
from core.strategy.bank.states import moment
from core.strategy.documents.strategy import Strategy


def period(strategy: Strategy) -> tuple[datetime | None, datetime | None]:
    """Return its first moment and the first moment after it, None for no bound.

    Raises UsageError naming the key for a text that is no time with a zone, or where the end isn't after the start.
    """
    start, end = (_time(strategy, name, getattr(strategy, name)) for name in ("effective_from", "deprecation_date"))
    if start is not None and end is not None and end <= start:
        raise UsageError(
            f"{strategy.id} version {strategy.version}: deprecation_date is not after effective_from.",
            hint="Change one of the two.",
        )
    return start, end


def in_period(strategy: Strategy, now: datetime) -> bool:
    """Tell whether it may answer at `now` (aware). Raises as `period`."""
    start, end = period(strategy)
    return (start is None or start <= now) and (end is None or now < end)


def _time(strategy: Strategy, name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return moment(text)
    except ValueError as error:
        raise UsageError(
            f"{strategy.id} version {strategy.version}: {name}: {error}",
            hint='Write a time with its zone, in quotes: "2026-06-01T00:00:00+08:00".',
        ) from error
