"""The budgets of the console and how a measured number stands to its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.perf.speed.measures import Numbers


@dataclass(frozen=True, slots=True)
class Verdict:
    """A budget, what was measured for it (None: not run), and whether it is met."""

    name: str
    limit: float
    measured: float | None

    @property
    def word(self) -> str:
        if self.measured is None:
            return "not run"
        return "met" if self.measured <= self.limit else "MISSED"


_EACH = (("start bytes", 40_000), ("idle B/s", 0), ("idle CPU %", 1))
_KEYS = (("key p50 ms", 10), ("key p95 ms", 30), ("key bytes p50", 400), ("held B/key", 1000))
_ONCE = (
    ("live B/s", 2_000),
    ("big trace ms", 300),
    ("big trace RssAnon MB", 150),
    ("1,000 Sessions listed ms", 300),
    ("exuvia --version ms", 250),
)


def verdicts(columns: Mapping[str, Numbers], once: Numbers) -> list[Verdict]:
    """Return every budget. `columns` are measures by program or `program: place`, `once` the others.

    First paints are held against the other programs of the same run.
    """
    found: list[Verdict] = []
    bare, harlequin = (columns.get(name, {}).get("first paint ms") for name in ("bare Textual", "harlequin"))
    for name, numbers in columns.items():
        if not name.startswith("exuvia"):
            continue
        painted = numbers.get("first paint ms")
        if "first paint ms" in numbers:
            found.append(Verdict(f"{name}: first paint / bare Textual", 1.6, _ratio(painted, bare)))
            found.append(Verdict(f"{name}: first paint / harlequin", 0.8, _ratio(painted, harlequin)))
        for measure, limit in (*_EACH, *_KEYS):
            if measure in numbers:
                found.append(Verdict(f"{name}: {measure}", limit, numbers[measure]))
    return found + [Verdict(measure, limit, once.get(measure)) for measure, limit in _ONCE]


def _ratio(of: float | None, to: float | None) -> float | None:
    return None if of is None or to is None else of / to
