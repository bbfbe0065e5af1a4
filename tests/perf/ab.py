"""False promotions of identical versions, and how often a better one is found (STRATEGY S103, X4).

python -m tests.perf.ab [RUNS]

For each number of tasks a day and arm: RUNS tests (4,000 by default) of 14 days in which both versions complete 75 % of
tasks and need fallbacks in 12 %; how many of them the reported rule and ours promote, looking every day. Then the same
with a version that completes 85 % with a third fewer fallbacks. Seeded; the error is that of a share of RUNS draws.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

from core.statistics.intervals import wilson
from core.strategy.feedback.ab import Day, Rule, first_decision, literal

DAYS = 14
BASE = (0.75, 0.12)
BETTER = (0.85, 0.08)
RATES = (20, 50, 200, 1000)


@dataclass(frozen=True, slots=True)
class Shares:
    """Of so many tests: how many each rule promoted, and after how many days ours did (mean; None for none)."""

    runs: int
    literal: int
    ours: int
    days: float | None


@lru_cache(maxsize=64)
def _cumulative(count: int, share: float) -> list[float]:
    odds = math.log(share) - math.log1p(-share)
    logs = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) + k * odds + count * math.log1p(-share)
        for k in range(count + 1)
    ]
    return list(itertools.accumulate(math.exp(log) for log in logs))


def _draw(dice: random.Random, count: int, share: float) -> int:
    return min(count, bisect_left(_cumulative(count, share), dice.random()))


def _arm(dice: random.Random, tasks: int, shares: tuple[float, float]) -> list[Day]:
    return [Day(tasks, _draw(dice, tasks, shares[0]), _draw(dice, tasks, shares[1])) for _ in range(DAYS)]


def simulate(tasks: int, second: tuple[float, float], runs: int, seed: int, rule: Rule | None = None) -> Shares:
    """Return what both rules make of `runs` tests of a first arm of BASE against `second`."""
    rule = rule or Rule(days=DAYS)
    dice = random.Random(seed)
    plain = ours = 0
    took = []
    for _ in range(runs):
        old, new = _arm(dice, tasks, BASE), _arm(dice, tasks, second)
        plain += any(literal(old[:day], new[:day], rule) for day in range(1, DAYS + 1))
        verdict = first_decision(old, new, rule)
        if verdict and verdict.decision == "promote":
            ours += 1
            took.append(verdict.day)
    return Shares(runs, plain, ours, sum(took) / len(took) if took else None)


def _told(found: int, runs: int) -> str:
    interval = wilson(found, runs)
    assert interval is not None
    return f"{found / runs:7.2%} [{interval.low:.2%}, {interval.high:.2%}]"


def main() -> None:
    """Print both tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    for title, second in (
        ("identical versions (A/A)", BASE),
        ("completes 10 points more, 1/3 fewer fallbacks", BETTER),
    ):
        print(f"{title}: promoted within {DAYS} days, {runs} tests each")
        for tasks in RATES:
            found = simulate(tasks, second, runs, seed=tasks)
            days = "" if found.days is None else f", after {found.days:.1f} days"
            print(f"  {tasks:5} a day: literal {_told(found.literal, runs)}  ours {_told(found.ours, runs)}{days}")


if __name__ == "__main__":
    main()
