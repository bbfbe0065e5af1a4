"""What can be shown of a step of training: each figure's name, unit, meaning, and where it should go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.curation.training_records import TrainingStep

Unit = Literal["number", "share", "count", "seconds", "bytes", "rate", "fine"]
Wanted = Literal["up", "down", ""]
HEADINGS = "Headings of skills"
"""The group of figures that a run's own headings make: one each class (K18)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure of a step. `get` gives its value, None where it was not measured."""

    key: str
    name: str
    unit: Unit
    good: Wanted
    get: Callable[[TrainingStep], float | None]
    says: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Figures, by their keys, that are drawn together; without keys those of the headings."""

    name: str
    keys: tuple[str, ...]
    says: str


def _ratio(of: float | None, to: float | None) -> float | None:
    return None if of is None or not to else of / to


def _of_time(name: str) -> Callable[[TrainingStep], float | None]:
    return lambda step: _ratio(step.seconds.get(name), step.seconds.get("total"))


_REWARD = (
    Entry("total", "reward", "number", "up", lambda s: s.reward.total,
          "What GRPO raises: the sum of the terms below, each with the weight of the preset. Look at the terms too: a "
          "sum can rise while a term that matters falls."),
    Entry("task", "task", "share", "up", lambda s: s.reward.task,
          "Share of the tasks solved, without the first of each group: it meets an empty repository."),
    Entry("calls", "calls", "share", "up", lambda s: s.reward.calls,
          "Share of the curator's calls that could be read and carried out. A new name is always a valid insert, so "
          "this term alone would pay for useless skills."),
    Entry("content", "content", "share", "up", lambda s: s.reward.content,
          "Share of what was written that the judge found general, reusable, actionable and true. Its weight is small, "
          "so it rises late."),
    Entry("compression", "compression", "number", "up", lambda s: s.reward.compression,
          "1 minus tokens of the repository over tokens that the curator reads. Below 0 the repository outgrew it."),
)  # fmt: skip

_TASKS = (
    Entry("success", "solved", "share", "up", lambda s: s.success,
          "Share of all training tasks of the step that were solved. What counts is the share on held-out tasks."),
    Entry("actions", "actions a task", "fine", "down", lambda s: s.steps_mean,
          "Mean number of actions; failures count at the limit."),
)  # fmt: skip

_OPERATIONS = (
    Entry("insert", "insert", "share", "", lambda s: s.operations.share("insert"),
          "Share of operations that add a skill. Near 100 % while compression falls it is an insert collapse: skills "
          "pile up and nobody tends them."),
    Entry("update", "update", "share", "", lambda s: s.operations.share("update"),
          "Share of operations that rewrite a skill that is there."),
    Entry("delete", "delete", "share", "", lambda s: s.operations.share("delete"),
          "Share of operations that take a skill away."),
    Entry("other", "other", "share", "down", lambda s: s.operations.share("other"),
          "Share of calls that are none of the three."),
    Entry("asked", "operations", "count", "", lambda s: s.operations.total,
          "Operations asked for in the step, valid or not."),
    Entry("valid", "valid calls", "share", "up", lambda s: s.valid_calls,
          "Share of all calls of the step that could be read and carried out."),
)  # fmt: skip

_REPOSITORY = (
    Entry("skills", "skills kept", "fine", "", lambda s: s.repo_skills,
          "Mean number of skills at the end of a rollout."),
    Entry("size", "their tokens", "count", "", lambda s: s.repo_tokens,
          "Mean size of the repository at the end of a rollout, in tokens."),
    Entry("used", "skills a task", "fine", "", lambda s: s.skills_per_example,
          "Mean number of skills that were retrieved for a task."),
    Entry("coverage", "coverage", "share", "up", lambda s: s.coverage,
          "Share of the tasks for which a skill was retrieved."),
    Entry("meta", "meta skills", "share", "", lambda s: s.meta_share,
          "Share of skills about how to work in general, not about one family of tasks."),
)  # fmt: skip

_LEARNING = (
    Entry("advantage", "advantages", "fine", "", lambda s: s.advantage[2],
          "Standard deviation of the advantages. It is what is learnt from: where all rollouts of a group are equal, "
          "nothing is."),
    Entry("task spread", "spread of task", "fine", "", lambda s: s.spread.task,
          "Mean spread of the task term within a group: how far rollouts differ by the tasks they solve."),
    Entry("zero variance", "equal groups", "share", "down", lambda s: s.zero_variance_groups,
          "Share of groups whose rollouts all have the same reward; they teach nothing."),
    Entry("entropy", "entropy", "fine", "", lambda s: s.entropy,
          "Mean entropy of the policy a token, in nats. It falls as the policy makes up its mind; near 0 it tries "
          "nothing new."),
    Entry("clip", "clipped", "share", "", lambda s: s.clip_fraction,
          "Share of tokens whose probability moved so far within this step that the objective was clipped."),
    Entry("gradient", "gradient norm", "fine", "", lambda s: s.gradient_norm,
          "Norm of the gradient before it is cut to size."),
    Entry("loss", "loss", "fine", "", lambda s: s.loss,
          "The value of the surrogate. It hovers about 0 and says little: look at the reward."),
    Entry("kl", "KL", "fine", "", lambda s: s.kl,
          "Distance to the policy before GRPO; '-' where the preset has no such term."),
    Entry("lr", "learning rate", "fine", "", lambda s: s.learning_rate, "Step size of the optimizer."),
)  # fmt: skip

_MEASURED = (
    Entry("measured", "positions", "share", "up", lambda s: _ratio(s.positions_measured, s.positions_expected),
          "Share of the rollouts' positions that were really played and measured. Below 100 % some were lost; they are "
          "masked, never counted as failures."),
    Entry("masked", "masked", "count", "down", lambda s: s.masked, "Positions that were lost to infrastructure."),
    Entry("unjudged", "not judged", "count", "down", lambda s: s.judge_unmeasured,
          "Texts that the judge gave no verdict on; they count for nothing."),
)  # fmt: skip

_MACHINE = (
    Entry("speed", "tokens a second", "rate", "up", lambda s: s.tokens_per_s,
          "Tokens that the policy reads and writes, a second."),
    Entry("time", "time a step", "seconds", "down", lambda s: s.seconds.get("total"), "Seconds of the whole step."),
    Entry("generate", "  generating", "share", "", _of_time("generate"),
          "Share of the step in which the policy writes."),
    Entry("executor", "  executor", "share", "", _of_time("executor"), "Share of the step in which tasks are tried."),
    Entry("updating", "  updating", "share", "", _of_time("update"), "Share of the step in which weights change."),
    Entry("elsewhere", "  other", "share", "down", _of_time("other"), "Share of the step outside of all that."),
    Entry("device", "accelerator", "share", "", lambda s: s.device.utilisation,
          "How busy the accelerator was; '-' without one that tells."),
    Entry("memory", "its memory", "bytes", "", lambda s: s.device.memory_bytes, "Memory taken on the accelerator."),
    Entry("cpu", "processor", "share", "", lambda s: _ratio(s.device.cpu_percent, 100.0),
          "Processor time of the trainer; 100 % is one busy core."),
    Entry("rss", "main memory", "bytes", "", lambda s: s.device.rss_bytes, "Memory of the trainer's process."),
)  # fmt: skip

CATALOGUE: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    ("Reward", _REWARD),
    ("Training tasks", _TASKS),
    ("Operations", _OPERATIONS),
    ("Repository", _REPOSITORY),
    ("Learning", _LEARNING),
    ("Measured", _MEASURED),
    ("Speed and machine", _MACHINE),
)
"""Groups in the order of the page."""

CHARTS: tuple[Chart, ...] = (
    Chart("Reward", ("total",), "The sum that GRPO raises."),
    Chart("Terms of the reward", ("task", "calls", "content", "compression"), "Never judge by the sum alone."),
    Chart("Operations", ("insert", "update", "delete"), "A curator that learns goes from inserting to updating."),
    Chart("Tasks solved", ("success",), "Of the training tasks of each step."),
    Chart("Actions a task", ("actions",), "Failures count at the limit."),
    Chart("What is learnt from", ("advantage", "task spread", "zero variance"), "Without spread nothing is learnt."),
    Chart("Entropy", ("entropy",), "How undecided the policy still is, in nats a token."),
    Chart("Clipped tokens", ("clip",), "Share of tokens that moved too far within a step."),
    Chart("Gradient norm", ("gradient",), "Before it is cut to size."),
    Chart("Skills", ("skills", "used"), "Kept at the end of a rollout, and retrieved for a task."),
    Chart("Behaviour", ("coverage", "meta"), "Tasks with a skill; skills about how to work in general."),
    Chart("Headings", (), "What skills are divided into."),
    Chart("Speed", ("speed",), "Tokens a second."),
    Chart("Time a step", ("time",), "Seconds."),
)
