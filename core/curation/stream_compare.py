"""Two stream runs beside each other: every arm that both measured, paired task by task where the tasks are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from core.curation.stream_files import Journal, same
from core.curation.stream_spec import StreamSpec
from core.curation.stream_summary import differences_by_stream, paired_outcomes
from core.statistics.holm import holm
from core.statistics.intervals import Interval, over_clusters
from core.statistics.paired import Paired
from core.statistics.power import ALPHA


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

    @property
    def separates(self) -> bool | None:
        """Whether the difference is real as far as these streams tell, as in a report; None where nobody can say."""
        if self.paired is None or self.p_holm is None:
            return None
        return (self.over_streams is None or self.over_streams.excludes(0.0)) and self.p_holm < ALPHA

    @property
    def verdict(self) -> str:
        """What the numbers bear, in a sentence; "" where the tasks are not the same."""
        if self.difference is None or self.separates is None:
            return ""
        head = f"{self.arm}: {100 * self.difference:+.1f} points"
        if self.separates:
            return f"{head}, which separates{'' if self.over_streams else '; one stream alone tells no spread'}."
        if self.over_streams is not None and not self.over_streams.excludes(0.0):
            return f"{head}, which doesn't separate: from stream to stream it may as well be none."
        return f"{head}, which doesn't separate."


@dataclass(frozen=True, slots=True)
class Comparison:
    """`unpaired` says in what the runs differ so that their tasks can't be paired; empty where they can.

    `apart` tells what else differs, with both values, which a difference may come from: executor, judges, settings.
    """

    arms: tuple[Compared, ...]
    unpaired: str
    apart: tuple[str, ...]


def compare(first: Journal, second: Journal, specs: tuple[StreamSpec, StreamSpec] | None = None) -> Comparison:
    """Return the second run against the first. Arms that only one of them measured are left out.

    `specs` are what each was asked for, so that other settings can be told.
    """
    shared = [
        name
        for name, record in first.arms.items()
        if record.positions and name in second.arms and second.arms[name].positions
    ]
    unpaired = "a run that has not begun"
    apart: tuple[str, ...] = ()
    if first.facts is not None and second.facts is not None:
        unpaired = same(first.facts, second.facts)
        apart = _apart(("executor", "judge", "content_judge"), first.facts, second.facts)
    if specs is not None:
        apart += _apart(_SETTINGS, *specs)
    pairs = {name: paired_outcomes(first.arms[name], second.arms[name]) for name in shared if not unpaired}
    corrected = holm({name: paired.p_value for name, paired in pairs.items()})
    return Comparison(
        tuple(_compared(name, first, second, pairs.get(name), corrected.get(name)) for name in shared), unpaired, apart
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "unpaired": comparison.unpaired,
        "apart": list(comparison.apart),
        "arms": {
            one.arm: {**asdict(one), "difference": one.difference, "separates": one.separates}
            for one in comparison.arms
        },
    }


_SETTINGS = (
    "top_k", "min_overlap", "max_turns", "history", "model", "curator", "base", "temperature", "seed", "native",
    "extra", "options",
)  # fmt: skip


def _apart(names: Sequence[str], one: object, other: object) -> tuple[str, ...]:
    pairs = [(name, getattr(one, name), getattr(other, name)) for name in names]
    return tuple(f"{name} ({_shown(left)} and {_shown(right)})" for name, left, right in pairs if left != right)


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _compared(name: str, first: Journal, second: Journal, paired: Paired | None, p_holm: float | None) -> Compared:
    clusters: list[list[float]] = []
    if paired is not None:
        clusters = [values for values in differences_by_stream(first.arms[name], second.arms[name]).values() if values]
    return Compared(name, _share(first, name), _share(second, name), paired, over_clusters(clusters), p_holm)


def _share(journal: Journal, name: str) -> float | None:
    known = [place.success for places in journal.arms[name].positions for place in places if place.success is not None]
    return fmean(known) if known else None
