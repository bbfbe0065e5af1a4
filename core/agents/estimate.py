"""What a run may cost, before it is started: an honest range over an assumption that is said aloud."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.interface import ModelEntry, Usage

# Of a Session of ordinary length: a dozen requests over a context that grows to about twenty thousand tokens.
TYPICAL_SESSION = Usage(cache_read=120_000, cache_write=40_000, output=8_000)
_SPREAD = 4.0  # Sessions differ by about this factor either way


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens of all calls, and USD where the price is known: likely, and a range that most runs fall into."""

    calls: int
    tokens: int
    usd: float | None
    usd_low: float | None
    usd_high: float | None


def estimate(calls: int, entry: ModelEntry, *, each: Usage = TYPICAL_SESSION) -> Estimate:
    """Return what `calls` Sessions of about `each` tokens come to. Without a price the USD are None, never 0."""
    if calls < 0:
        raise ValueError(f"{calls} calls")
    usage = Usage(each.cache_read * calls, each.cache_write * calls, each.output * calls)
    if entry.price is None:
        return Estimate(calls, usage.total, None, None, None)
    usd = entry.price.cost(usage)
    return Estimate(calls, usage.total, usd, usd / _SPREAD, usd * _SPREAD)
