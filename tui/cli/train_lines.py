"""A training run told in lines: what is new since the last time, for a terminal, a log or a screen reader."""

from __future__ import annotations

from collections.abc import Iterator

from core.curation.training_records import SPLITS, Evaluation, Imitation, TrainingStep
from core.curation.training_run import OVER, TrainingRun

ARM_NAMES = {
    "none": "no memory",
    "base": "base, before GRPO",
    "trained": "trained",
    "oracle": "hand-written skills",
}


class TrainingTeller:
    """Tells a run piece by piece. Invariant: what was told once is not told again."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}
        self._measured: set[tuple[str, str, str]] = set()
        self._state = ""

    def news(self, run: TrainingRun) -> list[str]:
        """Return the lines that are new in `run`."""
        return list(self._news(run))

    def _news(self, run: TrainingRun) -> Iterator[str]:
        history = run.history
        if self._new("start", 1 if history.start else 0) and history.start is not None:
            parameters = history.start.parameters
            told = f", {parameters:,} parameters" if parameters else ""
            yield f"{run.id}: {run.preset} on {run.world or 'its world'}, seed {run.seed}{told}, {history.start.device}"
        for imitation in history.imitation[self._from("imitation", len(history.imitation)) :]:
            yield imitation_line(imitation)
        evaluations = [one for one in history.evaluations if self._is_news(one)]
        for evaluation in evaluations:
            if evaluation.arm != "trained":
                yield evaluation_line(evaluation)
        left = run.seconds_left
        steps = history.steps[self._from("steps", len(history.steps)) :]
        for step in steps:
            yield step_line(step, left if step is steps[-1] else None)
        for evaluation in evaluations:
            if evaluation.arm == "trained":
                yield evaluation_line(evaluation)
        for alarm in history.alarms[self._from("alarms", len(history.alarms)) :]:
            yield f"ALARM at step {alarm.step}, {alarm.kind.replace('_', ' ')}: {alarm.text}"
        if run.state != self._state:
            self._state = run.state
            if run.state in OVER or run.state == "paused":
                yield f"{run.id} is {run.state}" + (f": {run.reason}" if run.reason else "")

    def _new(self, name: str, count: int) -> bool:
        return count > self._from(name, count)

    def _is_news(self, record: Evaluation) -> bool:
        """Tell whether a measurement was not told before; a later one may have taken the place of an earlier one."""
        key = (record.time, evaluation_line(record), f"{record.arm} {record.step}")
        if key in self._measured:
            return False
        self._measured.add(key)
        return True

    def _from(self, name: str, count: int) -> int:
        """Return how much of a list was told before; a list that was cut (steps done again) is told from its end."""
        before = min(self._told.get(name, 0), count)
        self._told[name] = count
        return before


def imitation_line(record: Imitation) -> str:
    loss = "-" if record.loss is None else f"{record.loss:.3f}"
    return f"imitation {record.step}/{record.steps}  loss {loss}"


def evaluation_line(record: Evaluation) -> str:
    name = ARM_NAMES.get(record.arm, record.arm)
    counted = f" over {record.tasks} tasks in {record.streams} streams" if record.tasks and record.streams else ""
    return (
        f"{SPLITS[record.split]}, {record.stream}: {name} {percent(record.success_micro)} solved, "
        f"{number(record.steps_mean, 1)} actions a task{counted}"
    )


def gain_lines(run: TrainingRun) -> list[str]:
    """Return what the trained arm is better by than the base and than no memory, on the same tasks."""
    if run.untrained:
        done = any(one.arm == "trained" for one in run.history.evaluations)
        return ["untrained: no step of GRPO was done, so 'trained' is the base"] if done else []
    over = (("base", "the base"), ("none", "no memory"))
    gains = [(name, gain) for arm, name in over if (gain := run.gain(arm)) is not None]
    if not gains:
        return []
    told = ", ".join(f"minus {name} {100 * gain:+.1f}" for name, gain in gains)
    return [f"trained {told} points on {SPLITS[run.split]} tasks (one seed; seeds differ by several points)"]


def step_line(record: TrainingStep, left_s: float | None = None) -> str:
    reward, ops = record.reward, record.operations
    terms = "  ".join(
        f"{name} {number(value, 2)}"
        for name, value in (
            ("task", reward.task),
            ("calls", reward.calls),
            ("content", reward.content),
            ("compression", reward.compression),
        )
    )
    shares = "  ".join(f"{kind} {percent(ops.share(kind))}" for kind in ("insert", "update", "delete"))
    took = record.seconds.get("total")
    time = f"  {took:.1f} s" if took is not None else ""
    rest = f", {clock(left_s)} left" if left_s is not None else ""
    return f"step {record.step}/{record.steps}  reward {number(reward.total, 2)} ({terms})  {shares}{time}{rest}"


def percent(share: float | None) -> str:
    """Return a share as people read it, '-' where it is unknown."""
    return "-" if share is None else f"{100 * share:.1f} %"


def number(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def clock(seconds: float | None) -> str:
    """Return a duration: 42 s, 3:05, 1:02:03; '-' where it is unknown."""
    if seconds is None:
        return "-"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
