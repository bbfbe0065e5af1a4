"""A run told line by line on stderr while a command waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from core.evolution import runs
from core.evolution.run_view import RunView
from core.state.paths import ProjectPaths
from tui.cli.common import note


@dataclass
class Teller:
    """Tells what is new in each view of one run; without `end`, the caller says how it ended.

    Invariant: no fact is told twice.
    """

    told: set[str] = field(default_factory=set)
    end: bool = True

    def news(self, view: RunView) -> Iterator[str]:
        """Yield the lines that `view` adds to what was told."""
        for key, line in (*_facts(view), *(_end(view) if self.end else ())):
            if key not in self.told:
                self.told.add(key)
                yield line


def _points(score: object) -> str:
    return f"{score:g}" if isinstance(score, int | float) else "-"


def _facts(view: RunView) -> Iterator[tuple[str, str]]:
    if view.phase:
        yield f"phase {view.phase} {len(view.pilots)} {len(view.rounds)}", f"{view.kind}: {view.phase}"
    for cell in view.cells:
        where = f"{cell.stage} {cell.index} {cell.case_id} run {cell.run}"
        if cell.state == "scored":
            yield f"{cell.cell} scored", f"  {where}: {_points(cell.score)}"
        elif cell.state in {"failed", "interrupted"}:
            key = f"{cell.cell} {cell.state} {cell.attempt}"
            yield key, f"  {where}: {cell.state} {cell.failure_code or ''} {cell.reason}".rstrip()
    for pilot in view.pilots:
        line = f"pilot {pilot['i']}: predicted {_points(pilot.get('predicted'))}, observed {_points(pilot['score'])}"
        yield f"pilot {pilot['i']} {pilot['score']}", line
    if view.baseline is not None:
        yield "baseline", f"baseline: v{view.baseline['version']} {_points(view.baseline['score'])}"
    for entry in view.rounds:
        if entry.decision is not None:
            line = (
                f"round {entry.round}: v{entry.version} {entry.decision}, {_points(entry.score)} "
                f"against {_points(entry.reference_score)}"
            )
            yield f"round {entry.round} {entry.version}", line
    for measured in view.heldout:
        yield f"heldout {measured.stage}", f"held out ({measured.stage}): {_points(measured.score)}"


def _end(view: RunView) -> Iterator[tuple[str, str]]:
    if view.state in {"blocked", "failed", "dead", "stopped"}:
        yield f"{view.state} {view.reason}", f"{view.run_id}: {view.state}: {view.reason}"


def follow(project: ProjectPaths, run_id: str, *, end: bool = True) -> RunView:
    """Tell a run on stderr until it has ended; return its last view. Ctrl-C leaves the run alone."""

    async def told() -> RunView:
        teller = Teller(end=end)
        async for view in runs.follow(project, run_id):
            for line in teller.news(view):
                note(line)
        return runs.read_run(project, run_id)

    return asyncio.run(told())
