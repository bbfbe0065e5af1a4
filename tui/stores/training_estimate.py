"""How long a training run will take, as an earlier one here went. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.curation.training_run import TrainingRun
from core.foundation.clock import parse_ms


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that a run will take, by the pace of the run `of`; `differs` tells that it had other keys."""

    seconds: float
    of: str
    differs: bool


@dataclass(frozen=True, slots=True)
class _Pace:
    """Seconds before the first step, a step with its validation, and after the last step."""

    before: float
    a_step: float
    after: float


def estimate(runs: Sequence[TrainingRun], preset: str, settings: Mapping[str, Any]) -> Estimate | None:
    """Return how long a run of a preset with these settings takes; None where no run here tells.

    Of the runs of the preset the one with the most like keys is taken, the newest of several. `runs` are newest first.
    """
    told = [(run, pace) for run in runs if run.preset == preset and (pace := _pace(run)) is not None]
    if not told:
        return None
    run, pace = min(told, key=lambda pair: _unlike(pair[0], settings))
    steps = settings.get("steps")
    if not isinstance(steps, int) or isinstance(steps, bool):
        return None
    return Estimate(pace.before + steps * pace.a_step + pace.after, run.id, _unlike(run, settings) > 0)


def _unlike(run: TrainingRun, settings: Mapping[str, Any]) -> int:
    had = run.spec.get("settings")
    if not isinstance(had, Mapping):
        return len(settings)
    return sum(1 for key, value in settings.items() if key not in ("seed", "steps") and had.get(key, value) != value)


def _pace(run: TrainingRun) -> _Pace | None:
    """Return how a run went, by what it says that each part took: pauses count for nothing."""
    history = run.history
    took = [seconds for step in history.steps if (seconds := step.seconds.get("total")) is not None]
    if history.start is None or not took:
        return None
    began, stepped = parse_ms(history.start.time), parse_ms(history.steps[0].time)
    if began is None or stepped is None:
        return None
    at_end = sum(e.seconds or 0.0 for e in history.evaluations if e.split == "test")
    between = sum(e.seconds or 0.0 for e in history.evaluations if e.split != "test" and e.step > 0)
    first = history.steps[0].seconds.get("total") or 0.0
    return _Pace(
        max(0.0, (stepped - began) / 1000 - first),
        sum(took) / len(took) + between / max(1, history.steps[-1].step),
        at_end,
    )
