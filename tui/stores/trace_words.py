"""Numbers of a trace as people read them in a narrow column. Pure."""

from __future__ import annotations

from datetime import datetime

from core.foundation.clock import parse_ms


def duration(ms: float | None) -> str:
    """Return a duration in at most seven cells: `0 ms`, `340 ms`, `1.2 s`, `48 s`, `3:05`, `1:02:03`; "" if unknown."""
    if ms is None or ms < 0:  # a clock was set back
        return ""
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count(number: int | None) -> str:
    """Return a number of tokens in at most five cells: `980`, `1.7k`, `24k`, `1.2M`; "" for None."""
    if number is None:
        return ""
    for unit, factor in (("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)):
        if number < 999.5 * factor or unit == "G":
            value = number / factor
            return f"{value:.0f}{unit}" if value >= 10 or factor == 1 else f"{value:.1f}{unit}"
    return ""


def usd(known: float | None, unknown: int = 0) -> str:
    """Return a cost: what is known, `+?` where more was spent that nobody counted or priced; "" for None.

    `?` is a cost of which nothing is known.
    """
    if known is None:
        return ""
    if not known and unknown:
        return "?"
    text = "$0" if not known else f"${known:.4f}" if known < 0.1 else f"${known:.2f}"
    return f"{text}+?" if unknown else text


def when(timestamp: str, *, long: bool = True) -> str:
    """Return a moment in local time, `11-30 20:19` or `20:19`; "" where it is none."""
    moment = parse_ms(timestamp) if timestamp else None
    if moment is None:
        return ""
    return datetime.fromtimestamp(moment / 1000).astimezone().strftime("%m-%d %H:%M" if long else "%H:%M")
