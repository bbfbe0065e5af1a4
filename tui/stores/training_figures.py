"""The figures of a training run by name: what each is, what it means, and its values step by step. Pure.

One list (tui.stores.training_catalogue) feeds the page of figures, the plots and the comparison of two runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.curation.training_records import SPLITS, TrainingStep
from core.curation.training_run import TrainingRun, same_tasks, shared_split
from tui.stores.training_catalogue import CATALOGUE, HEADINGS, Chart, Unit, Wanted

Values = tuple[float | None, ...]
FEW = 5
"""Steps that the first and the latest value of a figure are the mean of."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure over the steps; None where it was not measured. `good` says where it should go: up, down, or neither."""

    key: str
    name: str
    group: str
    unit: Unit
    says: str
    values: Values
    good: Wanted = ""

    @property
    def now(self) -> float | None:
        """The value of the latest step that has one."""
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def first(self) -> float | None:
        """The mean of the first few steps."""
        return mean(self.values[:FEW])

    @property
    def last(self) -> float | None:
        """The mean of the latest few steps."""
        return mean(self.values[-FEW:])


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def figures(run: TrainingRun) -> tuple[Figure, ...]:
    """Return every figure of a run, in the order of the page; those of the headings it wrote come last."""
    steps = run.history.steps
    found = [
        Figure(one.key, one.name, group, one.unit, one.says, tuple(one.get(step) for step in steps), one.good)
        for group, entries in CATALOGUE
        for one in entries
    ]
    return (*found, *_headings(steps))


def axis(run: TrainingRun) -> tuple[int, float]:
    """Return how many values a figure will have at the run's end, and how many steps each stands for.

    One step each, but for a run so long that only some of its steps were read.
    """
    steps = run.history.steps
    if not steps:
        return 1, 1.0
    each = max(1.0, steps[-1].step / len(steps)) if run.passed_lines else 1.0
    return max(1, round(steps[-1].steps / each)), each


def _headings(steps: Sequence[TrainingStep]) -> list[Figure]:
    """Return the share of each class of heading (K18), the most frequent now first."""
    latest: dict[str, int] = {}
    for step in steps[-FEW:]:
        for name, count in step.headings.items():
            latest[name] = latest.get(name, 0) + count
    names = sorted({name for step in steps for name in step.headings}, key=lambda name: (-latest.get(name, 0), name))
    says = "Share of the headings in the skills written that are of this class."
    return [
        Figure(
            f"heading {name}", name.replace("_", " "), HEADINGS, "share", says, tuple(_share(s, name) for s in steps)
        )
        for name in names[:12]
    ]


def _share(step: TrainingStep, name: str) -> float | None:
    total = sum(step.headings.values())
    return step.headings.get(name, 0) / total if total else None


def shown(value: float | None, unit: Unit) -> str:
    """Return a value as people read it, '-' where there is none (never 0)."""
    if value is None:
        return "-"
    match unit:
        case "share":
            return f"{100 * value:.1f} %"
        case "count":
            return f"{value:,.0f}"
        case "seconds":
            return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"
        case "bytes":
            return _bytes(value)
        case "rate":
            return f"{value:,.0f}/s"
        case "number":
            return f"{value:.2f}"
        case _:
            return _fine(value)


def _fine(value: float) -> str:
    """Return three digits that count: 22.5, 0.123, 4.0e-04."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.001 or size == 0:
        return f"{value:.3f}" if size < 1 else f"{value:.2f}"
    return f"{value:.1e}"


def _bytes(value: float) -> str:
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def charted(chart: Chart, found: Sequence[Figure]) -> tuple[Figure, ...]:
    """Return the figures of a chart that have a value."""
    if not chart.keys:
        return tuple(figure for figure in found if figure.group == HEADINGS)[:5]
    by_key = {figure.key: figure for figure in found}
    return tuple(by_key[key] for key in chart.keys if by_key[key].now is not None)


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of two runs: of a measured arm its share, else the mean of the latest few steps of each.

    `apart`: the two were measured on different tasks, so that nothing is subtracted.
    """

    name: str
    group: str
    unit: Unit
    left: float | None
    right: float | None
    note: str = ""
    apart: bool = False

    @property
    def difference(self) -> float | None:
        return None if self.apart or self.left is None or self.right is None else self.right - self.left


ARMS = ("none", "base", "trained", "oracle")


def compared(left: TrainingRun, right: TrainingRun) -> tuple[Compared, ...]:
    """Return what two runs came to: arms on held-out tasks, then each figure that either measured."""
    found: list[Compared] = []
    for stream in ("mixed", "grouped"):
        split = shared_split(left, right, stream)
        for arm in ARMS:
            one, other = left.heldout(arm, stream, split), right.heldout(arm, stream, split)
            if one is None and other is None:
                continue
            on = "" if split is None else f", {SPLITS[split]}"
            group = f"{'Solved' if stream == 'mixed' else 'One kind'}{on}"
            shares = (one.success_micro if one else None, other.success_micro if other else None)
            if one is not None and other is not None and not same_tasks(one, other):
                note = f"{SPLITS[one.split]}, {SPLITS[other.split]}: not the same tasks"
                found.append(Compared(arm, group, "share", *shares, note, apart=True))
                continue
            counts = (one.tasks if one else None, other.tasks if other else None)
            found.append(Compared(arm, group, "share", *shares, _detectable(shares, counts)))
    for one_of, other_of in zip(figures(left), _aligned(figures(left), figures(right)), strict=True):
        last = (one_of.last, other_of.last if other_of else None)
        if last != (None, None):
            found.append(Compared(one_of.name, one_of.group, one_of.unit, *last))
    return tuple(found)


def _aligned(left: Sequence[Figure], right: Sequence[Figure]) -> list[Figure | None]:
    by_key = {figure.key: figure for figure in right}
    return [by_key.get(figure.key) for figure in left]


def _detectable(shares: tuple[float | None, float | None], counts: tuple[int | None, int | None]) -> str:
    """Return how large a difference of shares so many tasks can show, where this one is smaller; "" elsewhere."""
    least = least_shown(shares, counts)
    return "" if least is None else f"noise < {100 * least:.0f} pts"


def least_shown(shares: tuple[float | None, float | None], counts: tuple[int | None, int | None]) -> float | None:
    """Return the least difference of two shares that so many tasks can show, None where theirs is as large or unknown.

    A share 0 to 1; the tasks of the two are taken as independent samples.
    """
    from core.statistics.power import unpaired_shares

    (one, other), (count, other_count) = shares, counts
    if one is None or other is None or count is None or other_count is None:
        return None
    least = unpaired_shares(min(one, other), count, other_count)
    return None if least is None or abs(one - other) >= least else least


def settings_differ(left: TrainingRun, right: TrainingRun) -> tuple[tuple[str, str, str], ...]:
    """Return the settings that two runs don't share, each with both values."""
    one, other = (_flat(run.spec.get("settings", run.spec)) for run in (left, right))
    names = sorted({*one, *other})
    return tuple((n, one.get(n, "-"), other.get(n, "-")) for n in names if one.get(n) != other.get(n))


def _flat(document: object, name: str = "") -> dict[str, str]:
    """Return a JSON object as names and texts, one level a dot."""
    if isinstance(document, dict):
        found: dict[str, str] = {}
        for key, value in document.items():
            found |= _flat(value, f"{name}.{key}" if name else str(key))
        return found
    return {name: str(document)}
