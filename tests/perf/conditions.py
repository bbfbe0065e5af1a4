"""What conditions cost: compiling, one decision over a bank's triggers, comparing every pair.

    python -P -m tests.perf.conditions [--triggers 217]

CPU time of this process in one thread, the best or the median of several rounds. The session holds what 40 skills
returned. A decision picks from it what the triggers read, builds a view and asks every trigger once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from core.strategy.conditions.condition import Condition, compile_condition
from core.strategy.conditions.containment import proved_within
from core.strategy.conditions.memory import Memory, Past
from core.strategy.conditions.registry import SESSION, Registry
from core.strategy.conditions.truth import Truth
from core.strategy.conditions.view import View
from core.strategy.execution.paths import chosen, look

NOW = datetime(2026, 12, 1, tzinfo=UTC)
SKILLS = 40


def registry() -> Registry:
    """The session's names and the outputs of 40 skills."""
    types = dict(SESSION) | {"order.status": "string", "order.amount": "number", "order.due": "date"}
    for number in range(SKILLS):
        types |= {f"results.skill_{number}.{field}": "any" for field in ("status", "amount", "lines", "text")}
    return Registry(types, {"tracking": "(JD|SF)[0-9]{10}"})


def texts(count: int) -> list[str]:
    """Distinct triggers of seven kinds."""
    kinds = (
        'intent.name == "intent_{n}" && intent.confidence > 0.{t} && contains_any(utterance, ["say {n}", "word{n}"])',
        'intent.name in ["refund", "intent_{n}"] && is_empty(results.skill_{s}.lines) && order.status == "paid"',
        'order.amount > {n} && successes(2) == 0 && !(user.business_line == "line_{n}")',
        'results.skill_{s}.status == "state_{n}" || (order.amount > {n} && intent.confidence < 0.{t})',
        'days_from_now(order.due) < {n} && calls("skill_{s}", 3) > 0 && turn.count > 1',
        'contains_any(utterance, ["parcel {n}", "where*", "order {n}"]) && intent.confidence >= 0.{t}',
        'user.segment == "segment_{n}" && (order.status == "shipped" || within(order.amount, {n}, 500))',
    )
    return [kinds[n % len(kinds)].format(n=n, t=50 + n % 45, s=n % SKILLS) for n in range(count)]


def session() -> dict[str, Any]:
    """What is known in a long session."""
    result = {"status": "ok", "amount": 12.5, "lines": [{"sku": "a", "count": 2}] * 3, "text": "x" * 60}
    return {
        "utterance": "Where is my parcel? I ordered earbuds last week and they never came; can I get a refund?",
        "intent": {"name": "refund", "confidence": 0.91, "skill": "apply_refund"},
        "user": {"id": "u1", "device": "ios", "business_line": "aftersale", "age_band": "60+", "region": "north"},
        "order": {"status": "paid", "amount": 120, "due": "2026-12-03"},
        "turn": {"count": 4},
        "results": {f"skill_{number}": dict(result) for number in range(SKILLS)},
    }


def best(work: Callable[[], object], rounds: int) -> float:
    """CPU milliseconds of the best round."""
    found = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        found.append((time.process_time() - began) * 1_000)
    return min(found)


def spread(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """CPU milliseconds: the median round and the 99th of a hundred."""
    found = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        found.append((time.process_time() - began) * 1_000)
    found.sort()
    return found[len(found) // 2], found[len(found) * 99 // 100]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triggers", type=int, default=217)
    count = parser.parse_args().triggers
    known, written = registry(), texts(count)
    compile_condition("true", known)  # loads the binding
    compiling = best(lambda: [compile_condition(text, known) for text in written], 5)
    conditions = [compile_condition(text, known) for text in written]
    values, memory = session(), Memory(tuple(Past(turn, "skill_1", True) for turn in range(1, 5)), 4)

    reads = frozenset(name for condition in conditions for name in condition.reads)

    def view() -> View:
        picked = chosen(lambda name: look(values, name), reads)
        made = View(picked, memory, NOW, known.patterns)
        conditions[0].judge(made)  # hands the values to the binding
        return made

    ready = view()

    def decide(seen: View) -> list[Truth]:
        return [condition.judge(seen).truth for condition in conditions]

    truths = decide(ready)
    asking, asking_99 = spread(lambda: decide(ready), 300)
    building, building_99 = spread(view, 300)
    whole, whole_99 = spread(lambda: decide(view()), 300)
    pairs = pair_cost(conditions)
    told = ", ".join(f"{truths.count(truth)} {truth.value}" for truth in Truth)
    print(f"{count} triggers ({told}), {SKILLS} results in the session; CPU ms")
    print(f"compile all              {compiling:8.2f}   ({compiling / count * 1_000:.0f} us each)")
    print(f"pick, build a view       {building:8.2f}   p99 {building_99:.2f}")
    print(f"ask all, view ready      {asking:8.2f}   p99 {asking_99:.2f}   ({asking / count * 1_000:.1f} us each)")
    print(f"decision: view and all   {whole:8.2f}   p99 {whole_99:.2f}")
    print(f"prove all ordered pairs  {pairs:8.0f}   ({pairs / (count * (count - 1)) * 1_000:.1f} us each)")


def pair_cost(conditions: list[Condition]) -> float:
    """CPU milliseconds for asking of every ordered pair whether one is proved to lie in the other."""

    def work() -> int:
        return sum(proved_within(a, b) for a in conditions for b in conditions if a is not b)

    return best(work, 1)


if __name__ == "__main__":
    main()
