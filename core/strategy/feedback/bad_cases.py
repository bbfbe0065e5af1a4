"""Bad cases: what went wrong, with all that is needed to understand it and nothing that tells whom it met (S96 to S98).

A case is made anonymous before it exists: nothing of what a user said is kept in any other form. The queue is a file
of JSON lines that only grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.state.jsonlines import Gap, append_record, read_lines
from core.strategy.execution.records import Execution
from core.strategy.execution.skills import TIMEOUT
from core.strategy.execution.trace import DecisionTrace, fingerprint
from core.strategy.feedback.anonymise import Anonymiser

FILE = "bad_cases.jsonl"
_SEGMENTS = ("device", "business_line", "region", "age_band", "segment", "language", "active_days_30d")
_MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class BadCase:
    """One thing that went wrong. All texts in it are anonymised.

    `reasons` are some of "validation_failed", "fallback", "timeout", "failed". `skill` and `check` are where it
    failed, "" where that isn't known. `calls` is the path that was taken, `validation` the result by level, `events`
    the strategy's part of the decision trace. `session` and `trace` are hashes; `segment` are attributes that many
    users share.
    """

    id: str
    time: str
    reasons: tuple[str, ...]
    strategy_id: str | None
    version: int | None
    skill: str
    code: str
    check: str
    utterance: str
    suggestion: Mapping[str, Any]
    calls: tuple[str, ...]
    validation: Mapping[str, Any]
    fallbacks: tuple[str, ...]
    events: tuple[Mapping[str, Any], ...]
    latency_ms: float
    session: str
    trace: str
    segment: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as a line's mapping."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> BadCase:
        """Return what `to_json` gave. Raises KeyError or TypeError for anything else."""
        lists = {name: tuple(value[name]) for name in ("reasons", "calls", "fallbacks", "events")}
        return cls(**{**value, **lists})


def reasons_of(execution: Execution) -> tuple[str, ...]:
    """Return why an execution is a bad case, nothing where it is none (S96). A dry run never is."""
    if execution.dry_run:
        return ()
    failed = any(level is not None and level.failed for level in execution.validation_result.values())
    codes = {
        execution.code,
        *(code for level in execution.validation_result.values() if level for code in level.failed),
    }
    told = {
        "validation_failed": failed or execution.pseudo_success is True,
        "fallback": bool(execution.fallbacks),
        "timeout": any(code.endswith(TIMEOUT) for code in codes),
        "failed": not execution.ok,
    }
    return tuple(reason for reason, holds in told.items() if holds)


def capture(
    execution: Execution,
    trace: DecisionTrace,
    utterance: str,
    suggestion: Mapping[str, Any],
    *,
    names: Iterable[str] = (),
) -> BadCase | None:
    """Return the bad case that an execution is, anonymised; None where nothing went wrong (S96 to S98).

    A time-out that a fallback took care of is one too: its code stands in the trace. `names` are those the session is
    known to have.
    """
    whole, trace = trace, own(trace, execution.strategy_id)
    reasons = reasons_of(execution)
    timed_out = any(_code(event).endswith(TIMEOUT) for event in trace.events)
    if timed_out and not execution.dry_run and "timeout" not in reasons:
        reasons = (*reasons, "timeout")
    if not reasons:
        return None
    anonymous = Anonymiser(names)
    for part in (dict(execution.user), utterance, dict(suggestion), [dict(event) for event in trace.events]):
        anonymous.learn(part)
    skill, code, check = failing(execution, trace)
    levels = {
        name: None if level is None else {**asdict(level), "failed": list(level.failed)}
        for name, level in execution.validation_result.items()
    }
    content: dict[str, Any] = {
        "reasons": reasons,
        "strategy_id": execution.strategy_id,
        "version": execution.version,
        "skill": skill,
        "code": code,
        "check": check,
        "utterance": anonymous.text(utterance),
        "suggestion": anonymous.value(dict(suggestion)),
        "calls": tuple(anonymous.text(step) for step in execution.execution_path),
        "validation": levels,
        "fallbacks": tuple(execution.fallbacks),
        "events": tuple(anonymous.value(dict(event)) for event in trace.events[:_MOST_EVENTS]),
        "session": fingerprint(execution.session),
        "trace": execution.trace_sha256 or whole.sha256,
        "segment": {key: execution.user[key] for key in _SEGMENTS if key in execution.user},
    }
    name = f"case-{fingerprint([content, execution.turn])}"
    return BadCase(id=name, time=execution.time, latency_ms=execution.latency_ms, **content)


def own(trace: DecisionTrace, strategy_id: str | None) -> DecisionTrace:
    """Return the part of a turn's trace that one strategy's own plan left, without strategies that it called.

    The whole turn where the trace doesn't say where the strategy began.
    """
    begun = [event for event in trace.events if event["event"] == "began" and event.get("strategy") == strategy_id]
    keys = {str(event.get("at", "")).rpartition(":")[0] for event in begun}
    if not keys:
        return trace
    return DecisionTrace(tuple(event for event in trace.events if str(event.get("at", "")).rpartition(":")[0] in keys))


def failing(execution: Execution, trace: DecisionTrace) -> tuple[str, str, str]:
    """Return skill, failure code and check of what failed first, "" for what isn't known.

    The first event with a failure code tells; without one the execution's own code and its last step do.
    """
    at, first = next(((at, event) for at, event in enumerate(trace.events) if _code(event)), (0, {}))
    level_codes = [code for level in execution.validation_result.values() if level for code in level.failed]
    code = _code(first) or (level_codes[0] if level_codes else execution.code)
    # A failed check doesn't name the skill; the call that it looked at is the last one at its place.
    before = [event for event in reversed(trace.events[:at]) if event.get("skill")]
    checked = next((event for event in before if event.get("at") == first.get("at")), before[0] if before else {})
    skill = str(first.get("skill") or checked.get("skill") or "")
    if not skill and execution.execution_path:
        skill = execution.execution_path[-1].removeprefix("run ").partition(" ")[0]
    return skill, code, str(first.get("check") or "")


def _code(event: Mapping[str, Any]) -> str:
    code = event.get("code")
    return code if isinstance(code, str) else ""


@dataclass(frozen=True, slots=True)
class Queued:
    """What the queue holds: the cases, and what in the file is none."""

    cases: tuple[BadCase, ...]
    gaps: tuple[Gap, ...]


class Queue:
    """The feedback queue, a file that is only appended to. Invariant: a case of one id is in it once.

    What was read before is remembered, so that a further case costs no more than what others added meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._cases: dict[str, BadCase] = {}
        self._gaps: list[Gap] = []
        self._end = 0

    def add(self, case: BadCase) -> bool:
        """Append a case; False where it is there already. Raises StorageError."""
        self._catch_up()
        if case.id in self._cases:
            return False
        append_record(self.path, case.to_json())
        return True

    def read(self) -> Queued:
        """Return all cases in the order in which they came."""
        self._catch_up()
        return Queued(tuple(self._cases.values()), tuple(self._gaps))

    def _catch_up(self) -> None:
        if self._end and (not self.path.is_file() or self.path.stat().st_size < self._end):
            self._cases, self._gaps, self._end = {}, [], 0  # somebody put the file away to begin anew
        lines = read_lines(self.path, start=self._end)
        self._end = lines.end
        self._gaps += lines.gaps
        for line in lines.lines:
            try:
                case = BadCase.from_json(line.record)
            except (KeyError, TypeError) as error:
                self._gaps.append(Gap(line.start, line.start, f"no bad case ({error})"))
            else:
                self._cases.setdefault(case.id, case)
