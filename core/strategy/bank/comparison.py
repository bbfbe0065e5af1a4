"""Old and new version of one turn, side by side, and the report over many turns by group of users (S70 to S72).

What could not be compared is None, not "equal": a write that the new version was not allowed to make leaves everything
behind it unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal

from core.foundation.visible import visible_line
from core.strategy.bank.assign import UNKNOWN
from core.strategy.bank.dashboards import Share, quantile
from core.strategy.bank.lines import Schema
from core.strategy.execution.records import Execution
from core.strategy.execution.trace import fingerprint

Aspect = Literal["path", "output", "validation"]
ASPECTS: tuple[Aspect, ...] = ("path", "output", "validation")


@dataclass(frozen=True, slots=True)
class Side:
    """One version's turn. `withheld` are the skills that would have written and were not called."""

    kind: str
    executions: tuple[Execution, ...]
    output: Any
    latency_ms: float
    withheld: tuple[str, ...] = ()

    @property
    def fired(self) -> tuple[str, ...]:
        """The strategies that ran by their own trigger, in order."""
        return tuple(one.strategy_id for one in self.executions if one.strategy_id and one.trigger_condition_met)

    @property
    def path(self) -> tuple[Any, ...]:
        """What ran in which order, over all strategies of the turn."""
        return tuple((one.strategy_id, one.execution_path) for one in self.executions)

    @property
    def validation(self) -> tuple[Any, ...]:
        """Which checks failed, by strategy and level."""
        return tuple(
            (one.strategy_id, level, found.failed)
            for one in self.executions
            for level, found in sorted(one.validation_result.items())
            if found is not None
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """One turn of a shadow run. `same`: aspect to whether both agree, None where that can't be known.

    `fired_new` and `fired_old`: the strategy ran by its trigger in that version. Latencies are in milliseconds; the new
    one's counts answers that it was given from the old run with the time they took there.
    """

    time: str
    session: str
    turn: int
    strategy_id: str
    old_version: int | None
    new_version: int
    same: Mapping[str, bool | None]
    fired_old: bool
    fired_new: bool
    code_old: str
    code_new: str
    latency_old: float
    latency_new: float
    withheld: tuple[str, ...]
    user: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as a line of the shadow's log."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Comparison:
        """Return what `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        fault = _schema().fault_of({**value, "withheld": list(value["withheld"])}, "a comparison")
        if fault:
            raise ValueError(fault)
        return cls(**{**value, "withheld": tuple(value["withheld"])})


@lru_cache(maxsize=1)
def _schema() -> Schema:
    return Schema(Comparison)


def compare(
    old: Side, new: Side, strategy_id: str, versions: tuple[int | None, int], *, time: str, session: str, turn: int,
    user: Mapping[str, Any],
) -> Comparison:  # fmt: skip
    """Compare two sides of a turn. Pure."""
    path = _same(old.path, new.path)
    open_end = bool(new.withheld)
    same = {
        "path": None if open_end and _begins(old.path, new.path) else path,
        "output": None if open_end else _same(old.output, new.output) and old.kind == new.kind,
        "validation": None if open_end else _same(old.validation, new.validation),
    }
    return Comparison(
        time=time,
        session=session,
        turn=turn,
        strategy_id=strategy_id,
        old_version=versions[0],
        new_version=versions[1],
        same=same,
        fired_old=strategy_id in old.fired,
        fired_new=strategy_id in new.fired,
        code_old=_code(old),
        code_new=_code(new),
        latency_old=old.latency_ms,
        latency_new=new.latency_ms,
        withheld=new.withheld,
        user=dict(user),
    )


def _same(one: Any, other: Any) -> bool:
    return fingerprint(one) == fingerprint(other)


def _begins(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Tell whether the new path, as far as it was walked, could still become the old one."""
    for (first, steps), (second, walked) in zip(old, new, strict=False):
        common = min(len(steps), len(walked))
        if first != second or steps[:common] != walked[:common]:
            return False
    return True


def _code(side: Side) -> str:
    return next((one.code for one in side.executions if one.code), "")


@dataclass(frozen=True, slots=True)
class Row:
    """A group of users: in how many turns old and new differ, by aspect, among those where that is known.

    `gained`: the strategy fired only in the new version, `lost`: only in the old one, of all turns. `suspicious`: the
    group differs, gains or loses more than everybody else, beyond chance (intervals of 95 % that don't touch).
    """

    attribute: str
    value: str
    turns: int
    differs: Mapping[str, Share]
    gained: Share
    lost: Share
    failed_old: Share
    failed_new: Share
    latency_old_p50: float | None
    latency_new_p50: float | None
    latency_old_p95: float | None
    latency_new_p95: float | None
    suspicious: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffReport:
    """All turns, then each group, the suspicious ones first. `withheld` counts turns in which a write was not made."""

    strategy_id: str
    old_version: int | None
    new_version: int
    whole: Row
    rows: tuple[Row, ...]
    withheld: int

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; shares as {hits, count, share}."""
        return {
            "strategy": self.strategy_id,
            "old_version": self.old_version,
            "new_version": self.new_version,
            "withheld": self.withheld,
            "whole": _row_json(self.whole),
            "segments": [_row_json(row) for row in self.rows],
        }

    def to_markdown(self) -> str:
        """Return it as a page for people."""
        head = (
            f"# {self.strategy_id}: version {self.new_version} in shadow of {self.old_version or 'nothing'}\n\n"
            f"{self.whole.turns} turns, {self.withheld} with a write that was not made.\n\n"
            "| users | turns | path | output | validation | fires newly | no longer | fails old | fails new | p50 ms | "
            "p95 ms | |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
        )
        return head + "".join(f"{_cells(row)}\n" for row in (self.whole, *self.rows))


def diff_report(
    comparisons: Iterable[Comparison], strategy_id: str, versions: tuple[int | None, int], by: Sequence[str]
) -> DiffReport:
    """Return what a shadow run showed, over all users and by each attribute of `by`. Pure."""
    found = list(comparisons)
    rows: list[Row] = []
    for attribute in by:
        groups: dict[str, list[Comparison]] = {}
        for one in found:
            value = one.user.get(attribute)
            groups.setdefault(UNKNOWN if value is None else str(value), []).append(one)
        for value, some in sorted(groups.items()):
            rest = [one for other, them in groups.items() if other != value for one in them]
            rows.append(_row(attribute, value, some, rest))
    rows.sort(key=lambda row: -len(row.suspicious))
    withheld = sum(1 for one in found if one.withheld)
    return DiffReport(strategy_id, *versions, _row("all", "", found, []), tuple(rows), withheld)


_COUNTS: Mapping[str, Callable[[Comparison], bool | None]] = {
    "path": lambda one: _differs(one, "path"),
    "output": lambda one: _differs(one, "output"),
    "validation": lambda one: _differs(one, "validation"),
    "gained": lambda one: one.fired_new and not one.fired_old,
    "lost": lambda one: one.fired_old and not one.fired_new,
    "fails": lambda one: None if one.withheld else bool(one.code_new) and not one.code_old,
}


def _differs(one: Comparison, aspect: Aspect) -> bool | None:
    same = one.same.get(aspect)
    return None if same is None else not same


def _row(attribute: str, value: str, some: list[Comparison], rest: list[Comparison]) -> Row:
    old, new = (sorted(getattr(one, f"latency_{side}") for one in some) for side in ("old", "new"))
    return Row(
        attribute=attribute,
        value=value,
        turns=len(some),
        differs={aspect: _count(some, aspect) for aspect in ASPECTS},
        gained=_count(some, "gained"),
        lost=_count(some, "lost"),
        failed_old=Share(sum(1 for one in some if one.code_old), len(some)),
        failed_new=Share(sum(1 for one in some if one.code_new), len(some)),
        latency_old_p50=quantile(old, 0.5),
        latency_new_p50=quantile(new, 0.5),
        latency_old_p95=quantile(old, 0.95),
        latency_new_p95=quantile(new, 0.95),
        suspicious=tuple(name for name in _COUNTS if _above(_count(some, name), _count(rest, name))),
    )


def _count(some: list[Comparison], name: str) -> Share:
    known = [found for one in some if (found := _COUNTS[name](one)) is not None]
    return Share(sum(known), len(known))


def _above(group: Share, rest: Share) -> bool:
    mine, others = group.interval, rest.interval
    return mine is not None and others is not None and mine.low > others.high


def _row_json(row: Row) -> dict[str, Any]:
    told = asdict(row)
    shares = {"gained": row.gained, "lost": row.lost, "failed_old": row.failed_old, "failed_new": row.failed_new}
    told |= {name: _share_json(share) for name, share in shares.items()}
    return told | {"differs": {aspect: _share_json(share) for aspect, share in row.differs.items()}}


def _share_json(share: Share) -> dict[str, Any]:
    return {"hits": share.hits, "count": share.count, "share": share.value}


def _cells(row: Row) -> str:
    shares = [*(row.differs[aspect] for aspect in ASPECTS), row.gained, row.lost, row.failed_old, row.failed_new]
    told = ["?" if share.value is None else f"{share.value:.1%}" for share in shares]
    times = [
        " → ".join("?" if one is None else f"{one:.0f}" for one in pair)
        for pair in ((row.latency_old_p50, row.latency_new_p50), (row.latency_old_p95, row.latency_new_p95))
    ]
    name = visible_line(f"{row.attribute} {row.value}".strip()).replace("|", "\\|")
    marks = f"**{', '.join(row.suspicious)}**" if row.suspicious else ""
    return f"| {' | '.join([name, str(row.turns), *told, *times, marks])} |"
