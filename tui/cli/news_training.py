"""What is new in a project's training runs, told once (`exuvia --plain`). Only core is read, nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from core.curation import jobs, training
from core.curation.training_run import OVER, TrainingRun
from core.foundation.clock import now_ms
from core.foundation.errors import ExuviaError
from core.state.paths import ProjectPaths
from tui.cli.lines import Line
from tui.cli.train_lines import TrainingTeller, number, percent

_Stamp = tuple[tuple[int, int], ...]


@dataclass
class _Followed:
    reader: training.Reader
    teller: TrainingTeller = field(default_factory=TrainingTeller)
    stamp: _Stamp = ()
    run: TrainingRun | None = None


@dataclass
class TrainingWatcher:
    """What has been told of training runs. Invariant: a line is told once; a run whose files stand still and that no
    process works on is not read again.
    """

    project: ProjectPaths
    _followed: dict[str, _Followed] = field(default_factory=dict)

    def look(self) -> Iterator[tuple[str, str, Line]]:
        """Yield what is new: when (UTC), the run's id, and the line. What can't be read as a run is passed over."""
        for name in sorted(training.names(self.project), key=jobs.by_time):
            try:
                yield from self._one(name)
            except (ExuviaError, OSError):
                continue  # `exuvia train show` says what is wrong with it

    @property
    def runs(self) -> tuple[TrainingRun, ...]:
        """The runs as of the latest look, newest first."""
        return tuple(
            found.run
            for name, found in sorted(self._followed.items(), key=lambda item: jobs.by_time(item[0]), reverse=True)
            if found.run is not None
        )

    def _one(self, name: str) -> Iterator[tuple[str, str, Line]]:
        paths = training.run_paths(self.project, name)
        stamp = tuple(_stamp(path) for path in (paths.events, paths.engine, paths.control))
        found = self._followed.get(name)
        if found is not None and found.stamp == stamp and found.run is not None and found.run.state in OVER:
            return
        if found is None:
            found = self._followed[name] = _Followed(training.Reader(self.project, name))
        before, run = found.run, found.reader.read()
        found.run, found.stamp = run, stamp
        if before is None or before.state != run.state:
            facts = {"state": run.state, "preset": run.preset, "seed": run.seed}
            if run.state not in (*OVER, "paused"):  # those the teller says
                yield now_ms(), name, Line(f"training {run.state}", "training", f"training is {run.state}", facts)
        for text in found.teller.news(run):
            yield now_ms(), name, Line(text, "training", text, {"state": run.state})


def standing_lines(runs: tuple[TrainingRun, ...]) -> list[str]:
    """Return how training stands: a line each run at work, else one of the newest."""
    live = [run for run in runs if run.state not in OVER]
    return [_standing(run) for run in live or runs[:1]]


def standing_facts(runs: tuple[TrainingRun, ...]) -> list[dict[str, Any]]:
    """Return the same as values."""
    live = [run for run in runs if run.state not in OVER]
    return [_facts(run) for run in live or runs[:1]]


def _standing(run: TrainingRun) -> str:
    last, trained = run.last, None if run.untrained else run.heldout("trained")
    told = [f"training {run.id}: {'pausing' if run.pausing else run.state}"]
    if last is not None:
        told.append(f"step {last.step} of {last.steps}, reward {number(last.reward.total, 2)}")
    elif run.phase:
        told.append(run.phase)
    for name, one in (("no memory", run.heldout("none")), ("base", run.heldout("base")), ("trained", trained)):
        if one is not None:
            told.append(f"{name} {percent(one.success_micro)} solved")
    return ", ".join(told)


def _facts(run: TrainingRun) -> dict[str, Any]:
    last, trained = run.last, None if run.untrained else run.heldout("trained")
    return {
        "run_id": run.id,
        "state": run.state,
        "step": None if last is None else last.step,
        "steps": None if last is None else last.steps,
        "reward": None if last is None else last.reward.total,
        "trained": None if trained is None else trained.success_micro,
    }


def _stamp(path: Any) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns
