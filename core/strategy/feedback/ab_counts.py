"""From the executions' log to the daily counts of an A/B test, with the metrics that the account names (S101, S102)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, timedelta

from core.strategy.bank.states import moment
from core.strategy.execution.records import Execution
from core.strategy.feedback.ab import Day

PROMOTERS, DETRACTORS = 9, 6


@dataclass(frozen=True, slots=True)
class Metrics:
    """An arm's live numbers. None is "not measured": a share of nothing, no survey answered.

    `tasks` are executions whose completion is known, `unknown` the others. `latency_ms` is the mean. `satisfaction` is
    the net promoter score, -100 to 100: the percentage of answers of 9 and 10 less that of 0 to 6; `answers` are how
    many there are.
    """

    tasks: int
    unknown: int
    completion: float | None
    latency_ms: float | None
    fallback_rate: float | None
    satisfaction: float | None
    answers: int


def completed_without_failure(execution: Execution) -> bool | None:
    """Whether an execution completed by its own account: no failure code, and no effect that a probe didn't find."""
    return execution.ok and execution.pseudo_success is not True


def of_version(executions: Iterable[Execution], strategy_id: str, version: int) -> tuple[Execution, ...]:
    """Return a version's executions that served somebody: dry runs count nowhere."""
    return tuple(e for e in executions if e.strategy_id == strategy_id and e.version == version and not e.dry_run)


def daily(
    first: Iterable[Execution],
    second: Iterable[Execution],
    completed: Callable[[Execution], bool | None] = completed_without_failure,
) -> tuple[tuple[Day, ...], tuple[Day, ...]]:
    """Return the days of both arms, from the first day on which either ran to the last, by their date (UTC).

    `completed` says whether an execution completed, None where nobody knows yet. A day without an execution is there
    with zero tasks: it breaks a row of days.
    """
    arms = [_by_day(arm, completed) for arm in (first, second)]
    days = sorted({day for arm in arms for day in arm})
    span = range((days[-1] - days[0]).days + 1) if days else range(0)
    counted = []
    for arm in arms:
        found = [arm.get(days[0] + timedelta(days=number), []) for number in span]
        counted.append(tuple(Day(len(rows), sum(r[0] for r in rows), sum(r[1] for r in rows)) for rows in found))
    return counted[0], counted[1]


def metrics(
    executions: Iterable[Execution],
    scores: Mapping[str, float] | None = None,
    completed: Callable[[Execution], bool | None] = completed_without_failure,
) -> Metrics:
    """Return an arm's numbers. `scores` are survey answers from 0 to 10 by session."""
    rows = list(executions)
    known = [(e, done) for e in rows if (done := completed(e)) is not None]
    answers = [
        score
        for session in dict.fromkeys(e.session for e in rows)
        if (score := (scores or {}).get(session)) is not None
    ]
    promoters = sum(score >= PROMOTERS for score in answers)
    detractors = sum(score <= DETRACTORS for score in answers)
    return Metrics(
        tasks=len(known),
        unknown=len(rows) - len(known),
        completion=sum(done for _, done in known) / len(known) if known else None,
        latency_ms=sum(e.latency_ms for e in rows) / len(rows) if rows else None,
        fallback_rate=sum(bool(e.fallbacks) for e in rows) / len(rows) if rows else None,
        satisfaction=100 * (promoters - detractors) / len(answers) if answers else None,
        answers=len(answers),
    )


def _by_day(
    executions: Iterable[Execution], completed: Callable[[Execution], bool | None]
) -> dict[date, list[tuple[bool, bool]]]:
    """Return day (UTC, whatever zone a line was written in) to whether each completed and whether it fell back."""
    found: dict[date, list[tuple[bool, bool]]] = {}
    for one in executions:
        done = completed(one)
        if done is not None:
            found.setdefault(moment(one.time).astimezone(UTC).date(), []).append((done, bool(one.fallbacks)))
    return found
