"""What the rehearsal Builder has done so far, read back from its own calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.models.rehearsal.builder_material import placed
from core.models.rehearsal.transcript import Step, Transcript, fields

ENGINE_TOOLS = (
    "protocol_status",
    "create_agent",
    "declare_contract",
    "submit_revision",
    "record_review",
    "dispatch",
    "request_freeze",
    "restore_lowest",
    "record_baseline",
    "stop_run",
)


@dataclass(frozen=True, slots=True)
class Brief:
    """The operator's request."""

    agent_id: str
    benchmark_id: str
    capability: str
    requirement: str
    cases: int | None

    @classmethod
    def of(cls, text: str) -> Brief:
        """Read the `key: value` lines of the first message."""
        found = {key: values[0] for key, values in fields(text).items()}
        wanted = found.get("cases", "")
        return cls(
            found.get("agent_id", ""),
            found.get("benchmark_id", ""),
            found.get("capability", ""),
            found.get("requirement", ""),
            int(wanted) if wanted.isdigit() and int(wanted) > 0 else None,
        )


@dataclass
class Progress:
    """Where each Case stands on its ladder of sharpenings, and what happened since.

    `levels` is what lies on disk; `pending` are Cases edited since the last accepted revision; `at_pilot` keeps the
    levels of each dispatched pilot, so that they are known again after the lowest one is restored; `refinements`
    counts accepted revisions after the first; `repairs` the dispatches of the present revision; `rejected` holds the
    operator's words while no later revision answers them.
    """

    levels: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    submitted: dict[str, int] = field(default_factory=dict)
    at_pilot: dict[int, dict[str, int]] = field(default_factory=dict)
    refinements: int = -1
    rejected: str | None = None
    rejections: int = 0
    freeze_reviewed: bool = False
    restored: bool = False
    repairs: int = 0
    examination: Step | None = None


def progress_of(talk: Transcript) -> Progress:
    """Fold the calls that were carried out."""
    done = Progress()
    for step in talk.steps:
        if step.name == "exec_command" and step.output is not None:
            if found := placed(step.output):
                done.levels.update(found)
                done.pending.update(found)
                done.examination = None
            elif "examined " in step.output:
                done.examination = step
        elif step.name == "request_freeze" and step.refused is not None:
            _unfrozen(done, step)
        elif step.name == "dispatch" and (step.refused == "no_new_repair" or (step.answer or {}).get("failed")):
            done.repairs += 1
        elif step.ok:
            _fold(done, step)
    return done


def _fold(done: Progress, step: Step) -> None:
    answer: Mapping[str, Any] = step.answer or {}
    if step.name == "submit_revision":
        done.submitted, done.pending = dict(done.pending), {}
        done.refinements += 1
        done.rejected, done.freeze_reviewed, done.restored, done.repairs = None, False, False, 0
    elif step.name == "record_review":
        done.freeze_reviewed = step.argument("scope") == "freeze"
    elif step.name == "dispatch":
        done.repairs += 1
        done.freeze_reviewed, done.restored = False, False
        pilot = answer.get("pilot", (answer.get("state") or {}).get("pilot"))
        if isinstance(pilot, int):
            done.at_pilot[pilot] = dict(done.levels)
    elif step.name == "restore_lowest":
        lowest = (answer.get("state") or {}).get("lowest_pilot")
        if isinstance(lowest, int):
            done.levels = dict(done.at_pilot.get(lowest, done.levels))
        done.pending, done.restored, done.freeze_reviewed, done.examination = {}, True, False, None


def _unfrozen(done: Progress, step: Step) -> None:
    answer = step.answer or {}
    if step.refused == "rejected":
        reason = str(answer.get("reason", ""))
        if done.rejected is None:
            done.rejections += 1
        done.rejected = reason
    else:
        done.freeze_reviewed = False


def stuck(talk: Transcript, limit: int) -> Step | None:
    """Return the call that was refused `limit` times for one reason, with no step forward between, or None."""
    seen: dict[tuple[str, str], int] = {}
    found: Step | None = None
    for step in talk.steps:
        forward = step.ok and step.name in ENGINE_TOOLS and step.name not in ("protocol_status", "record_review")
        if forward or (step.name == "exec_command" and placed(step.output or "")):
            seen, found = {}, None
        elif step.name in ENGINE_TOOLS and step.refused is not None:
            key = (step.name, step.refused)
            seen[key] = seen.get(key, 0) + 1
            found = step if seen[key] >= limit else found
    return found
