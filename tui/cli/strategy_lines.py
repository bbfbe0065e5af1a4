"""How the command line says where a version of a strategy stands, and what was counted of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.strategy.bank.states import Standing

if TYPE_CHECKING:
    from core.statistics.intervals import Interval
    from core.strategy.bank.dashboards import Share


def standing_facts(one: Standing) -> dict[str, object]:
    """Return where a version stands, as --json says it."""
    return {
        "version": one.version,
        "state": one.state,
        "stage": one.stage + 1 if one.state == "gray" else None,
        "percent": one.stages[one.stage].percent if one.state == "gray" else None,
        "since": one.since or None,
        "origin": one.origin,
        "reviewed_by": one.reviewed_by or None,
        "sha256": one.sha256,
    }


def stage_words(one: Standing) -> str:
    """Return the share of users that a version in gray answers, with a leading space; "" in other states."""
    return f" {one.stages[one.stage].percent:g} %" if one.state == "gray" else ""


def percent(value: float | None) -> str | None:
    """Return a share in words, None (which tables show as "-") where it is unknown."""
    return None if value is None else f"{value:.1%}"


def milliseconds(value: float | None) -> str | None:
    """Return a time in words, None where it is unknown."""
    return None if value is None else f"{value:.0f} ms"


def share_facts(share: Share) -> dict[str, Any]:
    """Return a share as --json says it; null is unknown."""
    return {"hits": share.hits, "count": share.count, "share": share.value, "interval": interval_facts(share.interval)}


def interval_facts(interval: Interval | None) -> list[float] | None:
    """Return an interval of 95 % as --json says it."""
    return None if interval is None else [interval.low, interval.high]
