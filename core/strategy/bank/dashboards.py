"""From executions to the numbers of the board: rates, latency, mix of validation levels, by segment (S39, S43, S75).

A share of nothing is None. Dry runs count nowhere: they served nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.statistics.intervals import Interval, wilson
from core.strategy.bank.assign import UNKNOWN
from core.strategy.execution.records import Execution

_Item = TypeVar("_Item")
LEVELS = ("level0", "level1", "level2", "cross")
MISTRIGGER = "mistrigger"
"""Key of the outcome that says whether a strategy was used where it shouldn't have been: true, or false."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many; `value` is from 0 to 1, None where nothing was counted."""

    hits: int
    count: int

    @property
    def value(self) -> float | None:
        return self.hits / self.count if self.count else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval, None where nothing was counted."""
        return wilson(self.hits, self.count)


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a set of executions came to. Latencies are in milliseconds, None without executions.

    `levels`: how many executions had something checked at each level (S43). `validation_ms`: mean time of the checks
    that were waited for. `pseudo_success`: of those where a probe looked (S39). `missed`: a value of the context was
    missing (S52). `mistrigger`, `impact_mean`: of those of which somebody told it.
    """

    executions: int
    success: Share
    fallback: Share
    pseudo_success: Share
    missed: Share
    mistrigger: Share
    levels: Mapping[str, Share]
    overruns: Share
    latency_mean: float | None
    latency_p50: float | None
    latency_p95: float | None
    validation_ms: float | None
    impact_mean: float | None
    impact_known: int


def numbers(executions: Iterable[Execution], mistriggers: Mapping[str, bool] | None = None) -> Numbers:
    """Return the numbers of executions. `mistriggers`: session to whether it was one, where somebody told it. Pure."""
    served = [one for one in executions if not one.dry_run]
    probed = [one.pseudo_success for one in served if one.pseudo_success is not None]
    told = mistriggers or {}
    wrong = [told[one.session] for one in served if one.session in told]
    latencies = sorted(one.latency_ms for one in served)
    impacts = [one.business_impact for one in served if one.business_impact is not None]
    waited = [
        sum(found.ms for level, found in one.validation_result.items() if found is not None and level != "level2")
        for one in served
    ]
    checked = [one.validation_result for one in served]
    return Numbers(
        executions=len(served),
        success=_share(served, lambda one: one.ok and one.pseudo_success is not True),
        fallback=_share(served, lambda one: bool(one.fallbacks)),
        pseudo_success=Share(sum(probed), len(probed)),
        missed=_share(served, lambda one: bool(one.missed)),
        mistrigger=Share(sum(wrong), len(wrong)),
        levels={level: Share(sum(found.get(level) is not None for found in checked), len(checked)) for level in LEVELS},
        overruns=_share(checked, lambda found: any(level is not None and level.overrun for level in found.values())),
        latency_mean=_mean(latencies),
        latency_p50=quantile(latencies, 0.5),
        latency_p95=quantile(latencies, 0.95),
        validation_ms=_mean(waited),
        impact_mean=_mean(impacts),
        impact_known=len(impacts),
    )


def segments(executions: Iterable[Execution], attribute: str) -> dict[str, list[Execution]]:
    """Return the executions by a user's attribute, or "strategy", "version", "event", "code" of the execution itself.

    Who lacks the attribute is in the segment "unknown". Sorted by segment.
    """
    found: dict[str, list[Execution]] = {}
    for one in executions:
        found.setdefault(segment_of(one, attribute), []).append(one)
    return dict(sorted(found.items()))


def segment_of(execution: Execution, attribute: str) -> str:
    """Return in which segment of an attribute an execution lies."""
    match attribute:
        case "strategy":
            value: object = execution.strategy_id
        case "version":
            value = None if execution.version is None else f"{execution.strategy_id}/{execution.version}"
        case "event":
            value = execution.event
        case "code":
            value = execution.code or "ok"
        case _:
            value = execution.user.get(attribute)
    return UNKNOWN if value is None or value == "" else str(value)


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest of `ordered` that at least `share` of them don't exceed; None of nothing."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _share(items: Sequence[_Item], holds: Callable[[_Item], bool]) -> Share:
    return Share(sum(1 for one in items if holds(one)), len(items))
