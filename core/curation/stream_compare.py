"""Two stream runs beside each other: every arm that both measured, paired task by task where the tasks are the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from core.curation.stream_files import Journal, same
from core.curation.stream_summary import differences_by_stream, paired_outcomes
from core.statistics.holm import holm
from core.statistics.intervals import Interval, over_clusters
from core.statistics.paired import Paired


@dataclass(frozen=True, slots=True)
class Compared:
    """An arm in both runs. `paired` is None where the tasks differ: two shares then, and nothing between them."""

    arm: str
    first: float | None
    second: float | None
    paired: Paired | None
    over_streams: Interval | None
    p_holm: float | None

    @property
    def difference(self) -> float | None:
        return None if self.paired is None else self.paired.difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """`unpaired` says in what the runs differ so that their tasks can't be paired; empty where they can.

    `apart` names what else differs (executor, judge), which a difference may come from.
    """

    arms: tuple[Compared, ...]
    unpaired: str
    apart: tuple[str, ...]


def compare(first: Journal, second: Journal) -> Comparison:
    """Return the second run against the first. Arms that only one of them measured are left out."""
    shared = [
        name
        for name, record in first.arms.items()
        if record.positions and name in second.arms and second.arms[name].positions
    ]
    unpaired = "a run that has not begun"
    apart: tuple[str, ...] = ()
    if first.facts is not None and second.facts is not None:
        unpaired = same(first.facts, second.facts)
        apart = tuple(
            name
            for name in ("executor", "judge", "content_judge")
            if getattr(first.facts, name) != getattr(second.facts, name)
        )
    pairs = {name: paired_outcomes(first.arms[name], second.arms[name]) for name in shared if not unpaired}
    corrected = holm({name: paired.p_value for name, paired in pairs.items()})
    return Comparison(
        tuple(_compared(name, first, second, pairs.get(name), corrected.get(name)) for name in shared), unpaired, apart
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "unpaired": comparison.unpaired,
        "apart": list(comparison.apart),
        "arms": {one.arm: {**asdict(one), "difference": one.difference} for one in comparison.arms},
    }


def _compared(name: str, first: Journal, second: Journal, paired: Paired | None, p_holm: float | None) -> Compared:
    clusters: list[list[float]] = []
    if paired is not None:
        clusters = [values for values in differences_by_stream(first.arms[name], second.arms[name]).values() if values]
    return Compared(name, _share(first, name), _share(second, name), paired, over_clusters(clusters), p_holm)


def _share(journal: Journal, name: str) -> float | None:
    known = [place.success for places in journal.arms[name].positions for place in places if place.success is not None]
    return fmean(known) if known else None
