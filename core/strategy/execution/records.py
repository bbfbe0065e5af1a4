"""One line of the executions' log: what every run of a strategy leaves behind (S74). Unknown is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Verdict = Literal["passed", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class LevelResult:
    """What the checks of one level found over all nodes of a run.

    `unknown` are checks that could not be judged or were not reached within the budget. `failed` are the failure
    codes in order. `overrun` tells that the level took longer than its budget (S40). `ms` is the time it took.
    """

    passed: int = 0
    failed: tuple[str, ...] = ()
    unknown: int = 0
    overrun: bool = False
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Execution:
    """A strategy ran, or a skill without any (`strategy_id` None: no strategy fired).

    `trigger_condition_met`: None where it was called by another one or has no trigger. `validation_result`: level
    ("level0", "level1", "cross", "level2") to what was found, None where nothing of that level was checked.
    `business_impact` is filled by outcomes that come later, from outside. `fallbacks` are the recoveries that ran.
    `code` is "" for success. `pseudo_success`: a skill said success and a probe found no effect; None without a probe
    (S39). `completed` are the paths that providers filled in, `missed` those that were missing (S52).
    """

    session: str
    turn: int
    time: str
    strategy_id: str | None
    version: int | None
    event: str
    trigger_condition_met: bool | None
    execution_path: tuple[str, ...]
    validation_result: Mapping[str, LevelResult | None]
    business_impact: float | None
    latency_ms: float
    code: str
    fallbacks: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    pseudo_success: bool | None = None
    skill_calls: int = 0
    branches: int = 0
    user: Mapping[str, Any] = field(default_factory=dict)
    context_sha256: str = ""
    trace_sha256: str = ""
    dry_run: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended without a failure code."""
        return not self.code

    def to_json(self) -> dict[str, Any]:
        """Return it as a log line's mapping."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Execution:
        """Return what `to_json` gave. Raises KeyError or TypeError for anything else."""
        levels = {
            name: None if found is None else LevelResult(**{**found, "failed": tuple(found["failed"])})
            for name, found in value["validation_result"].items()
        }
        lists = {name: tuple(value.get(name, ())) for name in ("execution_path", "fallbacks", "completed", "missed")}
        return cls(**{**value, **lists, "validation_result": levels})
