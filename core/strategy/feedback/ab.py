"""Which of two versions is better: the account's rule as it is reported, and ours (STRATEGY S101 to S103, X4).

Everything is a function of daily counts. `literal` is the rule as the account tells it: completion above on each of
three days and a fallback rate a fifth lower. Alone it promotes identical versions (tests/perf/ab.py measures how
often), since nobody asked whether the difference is more than chance, and since it is looked at every day.

Ours demands that rule AND a minimum sample AND that both differences are significant. Because every day is another
chance to be lucky, the permitted error is spent over the days of the test (group-sequential testing):

- Lan and DeMets (1983, Biometrika 70, 659-663): at the share t of the planned duration, no more than A(t) of the error
  alpha may be spent, with the function of O'Brien-Fleming kind A(t) = 2 - 2 Phi(z_{1-alpha/2} / sqrt(t)), which spends
  next to nothing on the first days and most at the end. t is the share of the planned days, which data can't move.
- Day k spends A(t_k) - A(t_{k-1}) on a test at just that level. By the union bound the errors of all days add up to
  A(1) = alpha at most, whatever the correlation between days: simpler than the exact boundaries, and never too lax.
- Each test is Fisher's exact one. Both endpoints (more completed, fewer fallbacks) must pass, each at the full level:
  an intersection-union test (Berger 1982), whose error is no larger than the larger of the two.

The tests take tasks as independent. Users who come back with several tasks make them less so; where that matters,
count a user once a day.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from core.statistics.power import unpaired_shares
from core.statistics.unpaired import fisher
from core.strategy.documents.release import AbTest

Decision = Literal["promote", "worse", "wait", "no_difference", "underpowered"]
_WORTH = 0.05
"""A test that could not have found so large a rise of completion is called underpowered, not a draw."""


@dataclass(frozen=True, slots=True)
class Day:
    """What one arm did on one day. A task whose outcome isn't known belongs to no count."""

    tasks: int
    completed: int
    fallbacks: int

    def __post_init__(self) -> None:
        if not (0 <= self.completed <= self.tasks and 0 <= self.fallbacks <= self.tasks):
            raise ValueError("completed tasks and tasks with fallbacks lie between 0 and the tasks")


@dataclass(frozen=True, slots=True)
class Rule:
    """The numbers of both rules. `days` is the planned duration: error is spent over it, and it ends with it."""

    min_days: int = 3
    fallback_drop: float = 0.2
    min_samples: int = 200
    alpha: float = 0.01
    days: int = 14


def rule_of(test: AbTest) -> Rule:
    """Return the rule that a release file asks for."""
    return Rule(test.min_days, test.fallback_drop_rel, test.min_samples, test.alpha, test.days)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the counts say on the last day.

    `literal` is what the reported rule alone would do. `p_completed` and `p_fallbacks` are Fisher's one-sided p-values
    of all days so far, None without data; they are compared with `level`, today's part of alpha. `samples` are the
    tasks of the smaller arm. `detectable` is the smallest rise of completion that this many tasks would find at
    alpha with a power of 0.8, None where none would. `reasons` say what is still missing for a promotion.
    """

    decision: Decision
    literal: bool
    day: int
    samples: int
    level: float
    p_completed: float | None
    p_fallbacks: float | None
    detectable: float | None
    reasons: tuple[str, ...]


def total(days: Sequence[Day]) -> Day:
    """Return the sum."""
    return Day(*(sum(getattr(day, name) for day in days) for name in ("tasks", "completed", "fallbacks")))


def literal(first: Sequence[Day], second: Sequence[Day], rule: Rule = Rule()) -> bool:
    """Tell whether the reported rule promotes `second` after the last of these days (S103).

    Its share of completed tasks was higher on each of the last `min_days` days, and over them its share of tasks with
    fallbacks was lower by `fallback_drop`. A day without tasks in an arm, or no fallbacks to get fewer of, meets
    nothing.
    """
    if len(first) != len(second):
        raise ValueError("both arms need the same days")
    old, new = first[-rule.min_days :], second[-rule.min_days :]
    if len(old) < rule.min_days or not all(day.tasks for day in (*old, *new)):
        return False
    above = all(b.completed * a.tasks > a.completed * b.tasks for a, b in zip(old, new, strict=True))
    a, b = total(old), total(new)
    return above and a.fallbacks > 0 and b.fallbacks / b.tasks <= (1 - rule.fallback_drop) * a.fallbacks / a.tasks


def spent(day: int, rule: Rule = Rule()) -> float:
    """Return how much of alpha may be spent until the end of a day, from 0 (before the first) to alpha (Lan-DeMets)."""
    if day <= 0:
        return 0.0
    share = min(1.0, day / rule.days)
    normal = NormalDist()
    return 2 * (1 - normal.cdf(normal.inv_cdf(1 - rule.alpha / 2) / math.sqrt(share)))


def judge(first: Sequence[Day], second: Sequence[Day], rule: Rule = Rule()) -> Verdict:
    """Return what our rule says of `second` against `first` on the last of these days.

    "promote" and "worse" are final and may come on any day; "no_difference" and "underpowered" come with the last
    planned day. After it nothing more is decided: looking on would spend error that nobody permitted.
    """
    day = len(first)
    says = literal(first, second, rule)
    old, new = total(first), total(second)
    samples = min(old.tasks, new.tasks)
    level = max(0.0, spent(day, rule) - spent(day - 1, rule))
    p_completed = fisher(old.completed, old.tasks, new.completed, new.tasks)
    p_fallbacks = fisher(new.fallbacks, new.tasks, old.fallbacks, old.tasks)
    p_worse = fisher(new.completed, new.tasks, old.completed, old.tasks)
    reasons = []
    if samples < rule.min_samples:
        reasons.append(f"{samples} tasks in the smaller arm, {rule.min_samples} are needed")
    if not says:
        reasons.append(f"not above on {rule.min_days} days with {rule.fallback_drop:.0%} fewer fallbacks")
    if p_completed is None or p_completed > level:
        reasons.append("the rise of completion may be chance")
    if p_fallbacks is None or p_fallbacks > level:
        reasons.append("the fall of fallbacks may be chance")
    detectable = _detectable(old, new, rule)
    decision: Decision = "wait"
    if not reasons:
        decision = "promote"
    elif samples >= rule.min_samples and p_worse is not None and p_worse <= level:
        decision = "worse"
    elif day >= rule.days:
        weak = samples < rule.min_samples or detectable is None or detectable > _WORTH
        decision = "underpowered" if weak else "no_difference"
    return Verdict(decision, says, day, samples, level, p_completed, p_fallbacks, detectable, tuple(reasons))


def first_decision(first: Sequence[Day], second: Sequence[Day], rule: Rule = Rule()) -> Verdict | None:
    """Return the verdict of the first day that decided anything, looking every day; None while it waits."""
    for day in range(1, min(len(first), rule.days) + 1):
        verdict = judge(first[:day], second[:day], rule)
        if verdict.decision != "wait":
            return verdict
    return None


def _detectable(old: Day, new: Day, rule: Rule) -> float | None:
    if not old.tasks or not new.tasks or old.completed == old.tasks:
        return None
    # One-sided at alpha is two-sided at twice that.
    return unpaired_shares(old.completed / old.tasks, old.tasks, new.tasks, alpha=2 * rule.alpha)
