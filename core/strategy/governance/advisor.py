"""Which layers pay at this size (STRATEGY S5, S6).

The account's rule of thumb: with two skill calls and more a task, and a branch, composition pays. It is a rule of
thumb: the advisor shows the numbers beside the advice, and says where too few tasks were seen.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from core.strategy.documents.strategy import Layer
from core.strategy.execution.records import Execution

Size = Literal["small", "medium", "complex", "unknown"]
CALLS, BRANCHES = 2.0, 1.0
MANY_SKILLS, MANY_KINDS = 12, 5
LEAST_TASKS = 20
LAYERS: Mapping[Size, tuple[Layer, ...]] = {
    "small": ("trigger",),
    "medium": ("trigger", "validate"),
    "complex": ("trigger", "plan", "validate"),
    "unknown": (),
}


@dataclass(frozen=True, slots=True)
class Advice:
    """What the advisor counted and says.

    A task is one turn of a session. `calls` and `branches` are means over tasks with their standard errors (None for
    fewer than two tasks), `effects` the share of tasks in which something failed after its skill had said success, or
    a check failed: what validation is for. `banner` warns of many skills without layers, "" where there is no need.
    """

    tasks: int
    calls: float | None
    calls_error: float | None
    branches: float | None
    branches_error: float | None
    effects: float | None
    size: Size
    layers: tuple[Layer, ...]
    reason: str
    banner: str


def advise(executions: Iterable[Execution], *, skills: int, kinds: int) -> Advice:
    """Return the advice. `skills` is how many skills may be called, `kinds` how many kinds of task there are."""
    tasks: dict[tuple[str, int], list[Execution]] = defaultdict(list)
    for one in executions:
        if not one.dry_run:
            tasks[one.session, one.turn].append(one)
    calls = [sum(run.skill_calls for run in runs) for runs in tasks.values()]
    branches = [sum(run.branches for run in runs) for runs in tasks.values()]
    failed = [any(_caught(run) for run in runs) for runs in tasks.values()]
    size = _size(calls, branches, failed)
    return Advice(
        tasks=len(tasks),
        calls=statistics.fmean(calls) if calls else None,
        calls_error=_error(calls),
        branches=statistics.fmean(branches) if branches else None,
        branches_error=_error(branches),
        effects=statistics.fmean(failed) if failed else None,
        size=size,
        layers=LAYERS[size],
        reason=_reason(size, calls, branches, failed),
        banner=banner(skills, kinds),
    )


def banner(skills: int, kinds: int) -> str:
    """Return the warning of S6, "" below its size: above 12 skills and from 5 kinds of task on."""
    if skills <= MANY_SKILLS or kinds < MANY_KINDS:
        return ""
    return (
        f"{skills} skills for {kinds} kinds of task: at this size skills without layers get into each other's way "
        "(reported: 43 % of skills degrade). Begin with triggers."
    )


def _size(calls: list[int], branches: list[int], failed: list[bool]) -> Size:
    if len(calls) < LEAST_TASKS:
        return "unknown"
    if statistics.fmean(calls) >= CALLS and statistics.fmean(branches) >= BRANCHES:
        return "complex"
    return "medium" if any(failed) else "small"


def _reason(size: Size, calls: list[int], branches: list[int], failed: list[bool]) -> str:
    if size == "unknown":
        return f"{len(calls)} tasks were seen; {LEAST_TASKS} are needed before the numbers mean anything."
    told = f"{statistics.fmean(calls):.1f} skill calls and {statistics.fmean(branches):.1f} branches a task"
    if size == "complex":
        return f"{told}: composition pays."
    caught = f"{statistics.fmean(failed):.1%} of tasks failed a check" if size == "medium" else "no check ever failed"
    return f"{told}: composition does not pay (it does from {CALLS:.0f} calls and {BRANCHES:.0f} branch on); {caught}."


def _caught(run: Execution) -> bool:
    levels = [level for level in run.validation_result.values() if level is not None]
    return run.pseudo_success is True or any(level.failed for level in levels)


def _error(values: list[int]) -> float | None:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
