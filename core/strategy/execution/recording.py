"""From what a strategy recorded to its line in the log. Pure but for the run's facts (S74)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core.strategy.execution.failure import PSEUDO_SUCCESS
from core.strategy.execution.records import Execution, LevelResult
from core.strategy.execution.run import Frame, Run, Timing

LEVELS = ("level0", "level1", "cross", "level2")
Event = Mapping[str, Any]


def execution(run: Run, frame: Frame, event: str, fired: bool | None, code: str, latency_ms: float) -> Execution:
    """Return the log's line of a strategy, or of a skill without one, that has ended."""
    own = tuple(_own(frame.recorder.events, frame.key))
    return Execution(
        session=run.session.id,
        turn=run.turn,
        time=run.clock.now().isoformat(timespec="milliseconds"),
        strategy_id=frame.compiled.id if frame.compiled else None,
        version=frame.compiled.strategy.version if frame.compiled else None,
        event=event,
        trigger_condition_met=fired,
        execution_path=tuple(filter(None, map(_step, own))),
        validation_result={level: _level(own, level, frame.timings.get(level)) for level in LEVELS},
        business_impact=None,
        latency_ms=round(latency_ms, 3),
        code=code,
        fallbacks=tuple(one["action"] for one in own if one["event"] == "fallback")
        + tuple(one["action"] for one in own if one["event"] == "recovered" and one["by"] == "strategy"),
        completed=tuple(one["path"] for one in own if one["event"] == "auto-complete"),
        missed=tuple(one.get("path") or one["input"] for one in own if one["event"] == "missing"),
        pseudo_success=_pseudo(own),
        skill_calls=sum(one["event"] == "called" for one in own),
        branches=sum(one["event"] == "branch" for one in own),
        user=dict(run.session.user),
        dry_run=run.dry_run,
    )


def _own(events: Iterable[Event], key: str) -> Iterator[Event]:
    """Yield the events of one strategy, without those of strategies that it called."""
    prefix = f"{key}:"
    return (one for one in events if one["at"].startswith(prefix) and ">" not in one["at"][len(prefix) :])


def _step(event: Event) -> str:
    match event["event"]:
        case "called":
            words = f"{event.get('purpose', 'run')} {event['skill']}"
            return f"{words} ({event['code']})" if "code" in event else words
        case "skip" | "skipped" | "withheld":
            return f"{event['event']} {event['skill']}"
        case "branch":
            return f"branch {event['taken']}"
        case "fallback" | "aborted":
            return f"{event['event']} {event.get('action', '')} ({event['code']})"
        case "loop ended":
            return f"loop {event['rounds']}"
        case "emit":
            return f"emit {event['name']}"
        case "superseded":
            return f"superseded by {event['by']}"
        case "used":
            return f"strategy {event['strategy']}"
    return ""


def _level(events: tuple[Event, ...], level: str, timing: Timing | None) -> LevelResult | None:
    checks = [one for one in events if one["event"] == "checked" and one["level"] == level]
    if not checks:
        return None
    return LevelResult(
        passed=sum(one["verdict"] == "passed" for one in checks),
        failed=tuple(one["code"] for one in checks if one["verdict"] == "failed"),
        unknown=sum(one["verdict"] == "unknown" for one in checks),
        overrun=timing.overrun if timing else False,
        ms=round(timing.ms, 3) if timing else 0.0,
    )


def _pseudo(events: tuple[Event, ...]) -> bool | None:
    """Return whether a success without effect was found; None where nothing looked, or nothing could be told."""
    probes = [one for one in events if one["event"] == "checked" and one["level"] == "cross"]
    if any(one.get("code") == PSEUDO_SUCCESS or one["verdict"] == "failed" for one in probes):
        return True
    return False if any(one["verdict"] == "passed" for one in probes) else None
