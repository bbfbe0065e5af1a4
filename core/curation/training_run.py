"""What a training run is now, folded from its records: state, progress, results, alarms. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.curation.training_records import (
    ARMS,
    Alarm,
    Checkpoint,
    End,
    Evaluation,
    Imitation,
    Paused,
    Record,
    Resumed,
    Sample,
    Split,
    Start,
    TrainingStep,
)
from core.foundation.clock import parse_ms

State = Literal["starting", "running", "paused", "finished", "stopped", "failed", "dead"]
OVER: frozenset[State] = frozenset({"finished", "stopped", "failed", "dead"})


@dataclass(frozen=True)
class History:
    """Every record of a run by its kind, in order; of what was done twice (after a kill) the later one stands."""

    start: Start | None = None
    imitation: tuple[Imitation, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    steps: tuple[TrainingStep, ...] = ()
    samples: tuple[Sample, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    paused: bool = False
    end: End | None = None


def fold(history: History, records: Iterable[Record]) -> History:
    """Return the history with more records."""
    start, paused, end = history.start, history.paused, history.end
    lists: dict[str, list[Any]] = {name: list(getattr(history, name)) for name in _LISTS.values()}
    for record in records:
        match record:
            case Start():
                start = start or record
                end = None
            case Paused():
                paused = True
            case Resumed():
                paused, end = False, None
                if record.step is not None:
                    _go_back(lists, record.step)
            case End():
                paused, end = False, record
            case _:
                into = lists[_LISTS[type(record)]]
                if not isinstance(record, Alarm):
                    _take_back(into, record)
                into.append(record)
                if len(into) > 1 and into[-2].step > record.step:
                    into.sort(key=_step_of)
    return replace(
        history, start=start, paused=paused, end=end, **{name: tuple(found) for name, found in lists.items()}
    )


_LISTS: Mapping[type, str] = {
    Imitation: "imitation",
    Evaluation: "evaluations",
    TrainingStep: "steps",
    Sample: "samples",
    Checkpoint: "checkpoints",
    Alarm: "alarms",
}


def _step_of(record: Any) -> int:
    step: int = record.step
    return step


def _go_back(lists: Mapping[str, list[Any]], step: int) -> None:
    """Drop what was done beyond the checkpoint of `step`, from which a new process goes on."""
    for name in ("steps", "samples", "checkpoints", "evaluations", "alarms"):
        lists[name][:] = [record for record in lists[name] if record.step <= step]


def _take_back(found: list[Any], record: Any) -> None:
    """Drop what is done once more."""
    if isinstance(record, Evaluation):
        # They are in the order of their steps, so what is older than this one stays unread.
        at = len(found)
        while at and found[at - 1].step >= record.step:
            at -= 1
        again = _measured(record)
        found[at:] = [e for e in found[at:] if _measured(e) != again]
        return
    while found and found[-1].step >= record.step:
        found.pop()


def _measured(record: Evaluation) -> tuple[int, str, str, str]:
    return record.step, record.arm, record.stream, record.split


@dataclass(frozen=True)
class TrainingRun:
    """A run as lists and pages show it. `asked` is its request, `spec` what that was resolved to (empty before).

    `damaged_lines` of its events can't be read; `passed_lines` were not parsed, since the file is very long: each step
    that was then stands for its neighbours.
    """

    id: str
    state: State
    asked: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    history: History = History()
    pid: int | None = None
    reason: str = ""
    pausing: bool = False
    damaged_lines: int = 0
    passed_lines: int = 0
    summary: Mapping[str, Any] | None = None

    @property
    def preset(self) -> str:
        return str(self.spec.get("preset") or self.asked.get("preset") or "")

    @property
    def world(self) -> str:
        world = self.spec.get("world") or ""
        return str(world.get("name", "")) if isinstance(world, Mapping) else str(world)

    @property
    def seed(self) -> int | None:
        seed = self.spec.get("seed", self.asked.get("seed"))
        return seed if isinstance(seed, int) and not isinstance(seed, bool) else None

    @property
    def last(self) -> TrainingStep | None:
        """The latest step of GRPO."""
        return self.history.steps[-1] if self.history.steps else None

    @property
    def phase(self) -> str:
        """What it does now, in one word: imitation, evaluation, steps; empty before the first sign."""
        if self.history.steps:
            return "steps"
        if self.history.imitation:
            return "imitation"
        return "evaluation" if self.history.evaluations else ""

    @property
    def split(self) -> Split:
        """The tasks that its arms are told on: the test tasks once the trained arm was measured there.

        Until then the validation tasks, so that no two arms are ever set beside each other on different tasks.
        """
        on = {arm: {e.split for e in self.history.evaluations if e.arm == arm} for arm in ARMS}
        return next(
            (split for split in _LAST_FIRST if split in on["trained"]),
            next((split for split in _FIRST_FIRST if any(split in found for found in on.values())), ""),
        )

    def heldout(self, arm: str, stream: str = "mixed", split: Split | None = None) -> Evaluation | None:
        """Return the latest measurement of an arm on the tasks of `split`; None is the run's own, `self.split`."""
        wanted = self.split if split is None else split
        found = [e for e in self.history.evaluations if (e.arm, e.stream, e.split) == (arm, stream, wanted)]
        return max(found, key=lambda evaluation: evaluation.step) if found else None

    @property
    def untrained(self) -> bool:
        """Whether no step of GRPO was done: its "trained" arm is the base then, and no gain is training's."""
        return not self.history.steps

    def gain(self, over: str, split: Split | None = None) -> float | None:
        """Return the success of the trained arm less that of the arm `over`, a share, both on the same mixed tasks.

        None where nothing was trained, where either was not measured, and where they were measured on different
        tasks.
        """
        trained, other = self.heldout("trained", split=split), self.heldout(over, split=split)
        if self.untrained or trained is None or other is None or not same_tasks(trained, other):
            return None
        if trained.success_micro is None or other.success_micro is None:
            return None
        return trained.success_micro - other.success_micro

    @property
    def best(self) -> Checkpoint | None:
        """The checkpoint with the best validation success, the last one where none was measured (lesson 10).

        The base (step 0) is none of them: it is what was there before training. None where there is no other.
        """
        kept = tuple(checkpoint for checkpoint in self.history.checkpoints if checkpoint.step > 0)
        measured = [checkpoint for checkpoint in kept if checkpoint.heldout is not None]
        if measured:
            return max(measured, key=lambda checkpoint: (checkpoint.heldout or 0.0, checkpoint.step))
        return kept[-1] if kept else None

    @property
    def seconds_left(self) -> float | None:
        """How long the steps that are left will take at the pace of the latest ten; None where nobody can know."""
        last = self.last
        if last is None or self.state in OVER:
            return None
        took = [step.seconds.get("total") for step in self.history.steps[-10:]]
        known = [seconds for seconds in took if seconds is not None]
        return sum(known) / len(known) * (last.steps - last.step) if known else None


_LAST_FIRST: tuple[Split, ...] = ("test", "", "validation")
_FIRST_FIRST: tuple[Split, ...] = ("validation", "", "test")


def same_tasks(one: Evaluation, other: Evaluation) -> bool:
    """Tell whether two measurements of one world are over the same tasks, so that they may be subtracted."""
    counted = (one.tasks, one.streams) == (other.tasks, other.streams)
    return counted and (one.split, one.stream) == (other.split, other.stream)


def shared_split(left: TrainingRun, right: TrainingRun, stream: str = "mixed") -> Split | None:
    """Return the tasks on which both runs have a trained arm, test tasks before validation tasks; None: on none.

    Two runs are compared with `heldout(arm, stream, split)` of it; without one they can't be compared by success.
    """
    if left.world != right.world:
        return None
    for split in _LAST_FIRST:
        one, other = (run.heldout("trained", stream, split) for run in (left, right))
        if one is not None and other is not None and same_tasks(one, other):
            return split
    return None


def state_of(history: History, began: float | None) -> State:
    """Return the state that records and process together tell.

    `began` is when the living process was started, in seconds since the epoch; None where none lives. A process that
    is younger than the last word of an earlier one has not spoken yet: it is starting.
    """
    if history.end is not None:
        said = parse_ms(history.end.time)
        return "starting" if began is not None and said is not None and began * 1000 > said else history.end.state
    if began is None:
        return "dead"
    if history.start is None:
        return "starting"
    return "paused" if history.paused else "running"
