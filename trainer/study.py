"""A study: the same preset trained many times, a cell for each arm and seed, and what the seeds' spread bears (K14).

A cell is a training run in a directory of its own, `<study>/<arm>-seed-<N>/`. A finished cell is never run again and an
interrupted one goes on from its checkpoint, so a study can be stopped and taken up at will.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.foundation import strict_json
from core.foundation.errors import ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.state import atomic
from core.statistics import intervals, power, spread, student
from core.statistics.holm import holm

ALPHA = 0.05
_ROUNDING = 1e-12  # a standard deviation below this is what subtracting floats leaves


@dataclass(frozen=True, slots=True)
class Cell:
    """One training run of a study: an arm's settings over the preset, and a seed."""

    arm: str
    seed: int
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.arm}-seed-{self.seed}"


class CellError(ExuviaError):
    """A run of a study failed."""


def run_cell(root: Path, preset: str, cell: Cell) -> dict[str, Any]:
    """Return the summary of a cell, after running it or what was left of it.

    Raises UsageError where the directory holds a run of other settings, CellError where the run failed.
    """
    place = root / cell.name
    asked = {"preset": preset, "seed": cell.seed, "settings": dict(cell.settings)}
    request = place / "request.json"
    if request.is_file() and _read(request) != asked:
        raise UsageError(
            f"{visible_line(str(place))} holds a run of other settings.", hint="Give the study another --into."
        )
    summary = place / "summary.json"
    if not summary.is_file():
        place.mkdir(parents=True, exist_ok=True)
        atomic.write_text(request, strict_json.dumps(asked, indent=1) + "\n")
        done = subprocess.run(
            [sys.executable, "-P", "-m", "trainer", "run", str(place)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            words = visible_line(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no word")
            raise CellError(f"The run {cell.name} ended with {done.returncode}: {words}", hint="Run the study again.")
    return _read(summary)


def run_cells(root: Path, preset: str, cells: Sequence[Cell], say: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Return the summaries of all cells by name; `say` is told each result as it stands."""
    found: dict[str, dict[str, Any]] = {}
    for number, cell in enumerate(cells, 1):
        found[cell.name] = run_cell(root, preset, cell)
        shares = found[cell.name]["heldout"]
        arms = ", ".join(f"{arm} {percent(shares[arm]['sr'])}" for arm in ("none", "base", "trained"))
        say(f"{number}/{len(cells)} {cell.name}: {arms}")
    return found


@dataclass(frozen=True, slots=True)
class Contrast:
    """An arm against the full one over the same seeds, as differences of shares.

    `detectable` is the smallest true difference that so many seeds of this spread would find in four of five studies.
    `p` is the two-sided paired t-test's, corrected after Holm for all arms of the table.
    """

    arm: str
    difference: float
    std: float | None
    interval: tuple[float, float] | None
    detectable: float | None
    p: float | None

    @property
    def separates(self) -> bool:
        return self.p is not None and self.p < ALPHA


def contrasts(full: Sequence[float], others: Mapping[str, Sequence[float]]) -> list[Contrast]:
    """Return each arm's contrast with the full one; values are a seed's each, in the same order."""
    differences = {
        arm: [value - control for control, value in zip(full, values, strict=True)] for arm, values in others.items()
    }
    adjusted = holm({arm: paired_t(found) for arm, found in differences.items()})
    made: list[Contrast] = []
    for arm, found in differences.items():
        told = spread.spread(found)
        assert told is not None
        interval = intervals.over_clusters([[value] for value in found])
        made.append(
            Contrast(
                arm=arm,
                difference=told.mean,
                std=told.std,
                interval=(interval.low, interval.high) if interval else None,
                detectable=None if told.std is None else power.clusters(told.std, len(found)),
                p=adjusted[arm],
            )
        )
    return made


def paired_t(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of the mean difference; None for fewer than two, 1 where all are 0.

    Seeds that differ by the same amount leave Student's test nothing to divide by; they count as so many fair coins
    that fell on one side, so that two which agree by chance are no finding.
    """
    told = spread.spread(differences)
    if told is None or told.std is None:
        return None
    if told.std < _ROUNDING:
        return 1.0 if abs(told.mean) < _ROUNDING else 2.0 ** (1 - told.count)
    t = abs(told.mean) / (told.std / len(differences) ** 0.5)
    return 2 * (1 - student.student_cdf(t, len(differences) - 1))


def percent(share: float | None, *, digits: int = 1) -> str:
    """Return a share as it is shown; "-" where it was not measured."""
    return "-" if share is None else f"{100 * share:.{digits}f}"


def plus_minus(values: Sequence[float | None], *, scale: float = 100.0, digits: int = 1) -> str:
    """Return mean ± standard deviation of what was measured."""
    told = spread.spread(values)
    if told is None:
        return "-"
    text = f"{scale * told.mean:.{digits}f}"
    return text if told.std is None else f"{text} ± {scale * told.std:.{digits}f}"


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table that is aligned as text too."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return [line(heads), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *(line(row) for row in rows)]


def _read(path: Path) -> dict[str, Any]:
    document = strict_json.parse(path.read_bytes())
    if not isinstance(document, dict):
        raise UsageError(f"{visible_line(str(path))} is no JSON object.", hint="Give the study another --into.")
    return document
