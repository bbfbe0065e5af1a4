"""The records of a training run, typed: what the trainer writes and the console reads (K17).

`<run>/events.jsonl` holds one JSON object a line, `{"time", "event", ...}`. Reading is strict where something is said
and forgiving where nothing is: a field that is missing or null is None, unknown and never 0; a field that holds what it
can't hold (a number that is true, a share of 3) makes its line a gap, counted and shown. Unknown events are skipped, so
that a newer trainer can say more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.curation.fields import Fields
from core.foundation.clock import now_ms
from core.state.jsonlines import Gap, Wanted, append_record, read_lines

TERMS = ("total", "task", "calls", "content", "compression")
"""The reward and its four terms: r, r_task, r_fc, r_cnt, r_comp (CURATION 1.3)."""

OPERATIONS = ("insert", "update", "delete", "other")
ARMS = ("none", "base", "trained", "oracle")

Split = Literal["validation", "test", ""]
SPLITS: Mapping[Split, str] = {"validation": "validation", "test": "test", "": "held-out"}
"""Which tasks an arm was measured on, and what people call them: validation tasks choose the checkpoint, test tasks are
looked at once, at the end. They are different tasks, so a figure of one says nothing beside a figure of the other."""

Ended = Literal["finished", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Terms:
    """A figure for the reward and for each of its four terms; None where it was not measured."""

    total: float | None = None
    task: float | None = None
    calls: float | None = None
    content: float | None = None
    compression: float | None = None

    def of(self, term: str) -> float | None:
        """Return the figure of one of `TERMS`."""
        value: float | None = getattr(self, term)
        return value


@dataclass(frozen=True, slots=True)
class Operations:
    """How many operations of each kind a step's rollouts asked for."""

    insert: int = 0
    update: int = 0
    delete: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        return self.insert + self.update + self.delete + self.other

    def share(self, kind: str) -> float | None:
        """Return the share of a kind of `OPERATIONS`; None where no operation was asked for."""
        count: int = getattr(self, kind)
        return count / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Device:
    """What the machine said. `utilisation` is a share of the accelerator, `cpu_percent` 100 for one busy core."""

    kind: str = ""
    utilisation: float | None = None
    memory_bytes: int | None = None
    cpu_percent: float | None = None
    rss_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """The run began. `parameters` is the number of trained weights."""

    time: str
    spec: Mapping[str, Any]
    parameters: int | None
    device: str


@dataclass(frozen=True, slots=True)
class Imitation:
    """A step of the imitation phase; `loss` is the mean cross-entropy a token, in nats."""

    time: str
    step: int
    steps: int
    loss: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An arm on held-out tasks. Successes are shares 0 to 1; `steps_mean` counts failures at the cap.

    `split` tells which tasks, "" where the record doesn't say. `step` is the run's when it measured, `weights` the step
    of the checkpoint that was measured: None for an arm without a policy, and where the record doesn't say.
    """

    time: str
    step: int
    arm: str
    stream: str
    success_micro: float | None
    success_macro: float | None
    steps_mean: float | None
    by_family: Mapping[str, float | None]
    repo_skills: float | None
    streams: int | None
    tasks: int | None
    seconds: float | None
    split: Split = ""
    weights: int | None = None


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """A step of GRPO: rollouts, rewards, one update. Shares are 0 to 1, times seconds."""

    time: str
    step: int
    steps: int
    reward: Terms
    spread: Terms
    advantage: tuple[float | None, float | None, float | None]
    zero_variance_groups: float | None
    entropy: float | None
    clip_fraction: float | None
    gradient_norm: float | None
    loss: float | None
    kl: float | None
    learning_rate: float | None
    operations: Operations
    valid_calls: float | None
    positions_expected: int | None
    positions_measured: int | None
    masked: int | None
    judge_unmeasured: int | None
    success: float | None
    steps_mean: float | None
    repo_skills: float | None
    repo_tokens: float | None
    prompt_tokens: int | None
    answer_tokens: int | None
    tokens_per_s: float | None
    seconds: Mapping[str, float | None] = field(default_factory=dict)
    headings: Mapping[str, int] = field(default_factory=dict)
    meta_share: float | None = None
    coverage: float | None = None
    skills_per_example: float | None = None
    device: Device = Device()


@dataclass(frozen=True, slots=True)
class Sample:
    """Rollouts of this step are written down in `file`, relative to the run."""

    time: str
    step: int
    file: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights are kept at `path`, relative to the run. `heldout` is their success there, None where not measured."""

    time: str
    step: int
    path: str
    sha256: str
    heldout: float | None


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something a person should look at: `insert_collapse`, `zero_variance`, `unmeasured` or another kind."""

    time: str
    step: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Paused:
    time: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """It goes on, after a pause or in a new process."""

    time: str
    step: int | None


@dataclass(frozen=True, slots=True)
class End:
    time: str
    state: Ended
    reason: str
    summary: Mapping[str, Any] | None


Record = (
    Start | Imitation | Evaluation | TrainingStep | Sample | Checkpoint | Alarm | Paused | Resumed | End
)  # fmt: skip


def record_of(line: Mapping[str, Any]) -> Record | None:
    """Return the record in a line, or None where its event is not one of ours. Raises ValueError naming the field."""
    fields = Fields(line)
    name = fields.text("event")
    maker = _MAKERS.get(name)
    return None if maker is None else maker(fields)


def write(path: Path, event: str, /, **values: Any) -> Record | None:
    """Append one event and return its record. Raises ValueError where it is not what a reader could read.

    The trainer writes through here, so that nothing can stand in the file that the console would call a gap.
    """
    line = {"time": now_ms(), "event": event, **values}
    record = record_of(line)
    append_record(path, line, fsync=event not in _FREQUENT)
    return record


_FREQUENT = frozenset({"imitation", "step", "sample"})  # the next line says the same of a later moment


@dataclass(frozen=True, slots=True)
class Records:
    """What a file held. Read on at `end`. Counted: lines of unknown events `skipped`, of unwanted ones `passed`."""

    records: tuple[Record, ...]
    gaps: tuple[Gap, ...]
    end: int
    skipped: int
    passed: int = 0


def read(path: Path, *, start: int = 0, most: int | None = None, wanted: Wanted | None = None) -> Records:
    """Return the records from byte `start` on. A line that is being written is no gap yet; a missing file has none.

    `most` and `wanted` as in `read_lines`.
    """
    found = read_lines(path, start=start, most=most, wanted=wanted)
    records: list[Record] = []
    gaps = list(found.gaps)
    skipped = 0
    for line in found.lines:
        try:
            record = record_of(line.record)
        except ValueError as error:
            gaps.append(Gap(line.start, line.start + 1, str(error)))
            continue
        if record is None:
            skipped += 1
        else:
            records.append(record)
    return Records(tuple(records), tuple(sorted(gaps, key=lambda gap: gap.start)), found.end, skipped, found.passed)


# One maker an event ------------------------------------------------------------------------------------------


def _terms(fields: Fields, name: str) -> Terms:
    of = fields.part(name)
    return Terms(*(of.number(term) for term in TERMS))


def _start(f: Fields) -> Start:
    return Start(f.text("time"), f.mapping("spec"), f.count("parameters"), f.text("device", ""))


def _imitation(f: Fields) -> Imitation:
    return Imitation(f.text("time"), f.whole("step"), f.whole("steps"), f.number("loss"), f.amount("seconds"))


def _evaluation(f: Fields) -> Evaluation:
    families = f.part("by_family")
    return Evaluation(
        time=f.text("time"),
        step=f.whole("step"),
        arm=f.text("arm"),
        stream=f.text("stream"),
        success_micro=f.share("success_micro"),
        success_macro=f.share("success_macro"),
        steps_mean=f.amount("steps_mean"),
        by_family={name: families.share(name) for name in families.names},
        repo_skills=f.amount("repo_skills"),
        streams=f.count("streams"),
        tasks=f.count("tasks"),
        seconds=f.amount("seconds"),
        split=_split(f.text("split", "")),
        weights=f.count("weights"),
    )


def _split(name: str) -> Split:
    for split in SPLITS:
        if name == split:
            return split
    raise ValueError(f"split: {name[:40]!r} is neither validation nor test")


def _step(f: Fields) -> TrainingStep:
    advantage, positions, tokens = f.part("advantage"), f.part("positions"), f.part("tokens")
    seconds, headings, operations = f.part("seconds"), f.part("headings"), f.part("ops")
    return TrainingStep(
        time=f.text("time"),
        step=f.whole("step"),
        steps=f.whole("steps"),
        reward=_terms(f, "reward"),
        spread=_terms(f, "spread"),
        advantage=(advantage.number("min"), advantage.number("max"), advantage.number("std")),
        zero_variance_groups=f.share("zero_variance_groups"),
        entropy=f.number("entropy"),
        clip_fraction=f.share("clip_fraction"),
        gradient_norm=f.amount("gradient_norm"),
        loss=f.number("loss"),
        kl=f.number("kl"),
        learning_rate=f.amount("lr"),
        operations=Operations(*(operations.count(kind) or 0 for kind in OPERATIONS)),
        valid_calls=f.share("valid_calls"),
        positions_expected=positions.count("expected"),
        positions_measured=positions.count("measured"),
        masked=f.count("masked"),
        judge_unmeasured=f.count("judge_unmeasured"),
        success=f.share("success"),
        steps_mean=f.amount("steps_mean"),
        repo_skills=f.amount("repo_skills"),
        repo_tokens=f.amount("repo_tokens"),
        prompt_tokens=tokens.count("prompt"),
        answer_tokens=tokens.count("answer"),
        tokens_per_s=f.amount("tokens_per_s"),
        seconds={name: seconds.amount(name) for name in seconds.names},
        headings={name: headings.count(name) or 0 for name in headings.names},
        meta_share=f.share("meta_share"),
        coverage=f.share("coverage"),
        skills_per_example=f.amount("skills_per_example"),
        device=_device(f.part("device")),
    )


def _device(f: Fields) -> Device:
    return Device(
        kind=f.text("kind", ""),
        utilisation=f.share("utilisation"),
        memory_bytes=f.count("memory_bytes"),
        cpu_percent=f.amount("cpu_percent"),
        rss_bytes=f.count("rss_bytes"),
    )


def _sample(f: Fields) -> Sample:
    return Sample(f.text("time"), f.whole("step"), f.text("file"))


def _checkpoint(f: Fields) -> Checkpoint:
    return Checkpoint(f.text("time"), f.whole("step"), f.text("path"), f.text("sha256"), f.share("heldout"))


def _alarm(f: Fields) -> Alarm:
    return Alarm(f.text("time"), f.whole("step"), f.text("kind"), f.text("text"))


def _end(f: Fields) -> End:
    state = f.text("state")
    if state not in {"finished", "stopped", "failed"}:
        raise ValueError(f"state: {state[:40]!r} is no end of a run")
    summary = f.mapping("summary") if f.has("summary") else None
    return End(f.text("time"), state, f.text("reason", ""), summary)  # type: ignore[arg-type]  # looked at above


_MAKERS: Mapping[str, Callable[[Fields], Record]] = {
    "start": _start,
    "imitation": _imitation,
    "evaluation": _evaluation,
    "step": _step,
    "sample": _sample,
    "checkpoint": _checkpoint,
    "alarm": _alarm,
    "pause": lambda f: Paused(f.text("time")),
    "resume": lambda f: Resumed(f.text("time"), f.count("step")),
    "end": _end,
}
