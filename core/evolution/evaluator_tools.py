"""The Evaluator's doors: launch the Target, run the checks, record the items (EVOLUTION 3.3; DECISIONS 7, 9).

What must not go wrong is kept here and not in a model's good will: one finished Target run a cell, points of a
checked item as the checks gave them, a total that is the sum of its items.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.agents.tool import ToolContext, ToolResult
from core.evolution.checks import BrokenCheckError, CheckResult, run_checks
from core.evolution.rubric import Rubric
from core.foundation.clock import now_s
from core.foundation.errors import ExuviaError
from core.foundation.strict_json import is_number
from core.models.interface import ToolSpec
from core.state.jsonlines import append_record
from core.state.paths import CasePaths

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
LAUNCH_TARGET = ToolSpec(
    "launch_target",
    "Start the Target Agent on this Case in a fresh workspace and wait until it ends. A Case is executed once: "
    "calling it again returns the same execution.",
    _NO_ARGUMENTS,
)
RUN_CHECKS = ToolSpec(
    "run_checks",
    "Run this Case's executable checks, isolated and on a read-only copy of the workspace. Returns what each "
    "found and, for each rubric item, the points that the checks decided and those left to your judgement.",
    _NO_ARGUMENTS,
)
RECORD_ITEMS = ToolSpec(
    "record_items",
    "Record the points of every rubric item, once for each item: what the checks decided plus what you judged of "
    "the rest. Returns their sum, which is the score of your answer.",
    {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "item": {"type": "integer", "description": "Number of the item, from 1."},
                        "points": {"type": "number", "description": "Points earned."},
                        "reason": {"type": "string", "description": "What earned or lost them, one sentence."},
                    },
                    "required": ["item", "points", "reason"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["items"],
        "additionalProperties": False,
    },
)


class PermanentFailureError(ExuviaError):
    """A model answered that no request can succeed any more: a bad key, a model that is gone."""


@dataclass(frozen=True, slots=True)
class LaunchedTarget:
    """A Target execution that ended by itself: what an Evaluator may know of it."""

    session_id: str
    workspace: Path
    trace: Path
    provider: str
    model_id: str
    thinking_level: str
    duration_ms: int
    cost: float | None
    ended: str


@dataclass
class CellBench:
    """What the tools of one Evaluator share.

    Invariant: `target` is set at most once and never replaced; `score` is the sum of the items last recorded.
    `broken` tells what failed around the work, `hopeless` that no later request can succeed.
    """

    cell_id: str
    case: CasePaths
    rubric: Rubric
    items: Path
    launch: Callable[[], Awaitable[LaunchedTarget]]
    allow_unisolated: bool = False
    target: LaunchedTarget | None = None
    checks: tuple[CheckResult, ...] | None = None
    score: float | None = None
    broken: list[str] = field(default_factory=list)
    hopeless: bool = False


def _answer(ok: bool, **fields: Any) -> ToolResult:
    return ToolResult(json.dumps({"ok": ok, **fields}, ensure_ascii=False))


def _refusal(code: str, reason: str) -> ToolResult:
    return _answer(False, refused=code, reason=reason)


@dataclass(frozen=True)
class LaunchTargetTool:
    """Start the Target once, as its own isolated process; asked again, it tells of the same run."""

    bench: CellBench
    spec: ToolSpec = LAUNCH_TARGET
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 7200.0
    max_output: int = 16_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        bench = self.bench
        reused = bench.target is not None
        if bench.target is None:
            try:
                bench.target = await bench.launch()
            except ExuviaError as error:
                bench.hopeless = isinstance(error, PermanentFailureError)
                bench.broken.append(str(error))
                return _refusal("evaluation_failed", f"{error} {error.hint}".strip() + " Report evaluation_failed.")
        target = bench.target
        return _answer(
            True,
            session_id=target.session_id,
            status=target.ended,
            provider=target.provider,
            model_id=target.model_id,
            thinking_level=target.thinking_level,
            duration_ms=target.duration_ms,
            cost=target.cost,
            reused=reused,
            paths={
                "workspace": str(target.workspace),
                "trace": str(target.trace),
                "statement": str(bench.case.statement),
                "rubric": str(bench.case.rubric),
            },
        )


@dataclass(frozen=True)
class RunChecksTool:
    """Run the rubric's executable checks on a copy of the workspace."""

    bench: CellBench
    spec: ToolSpec = RUN_CHECKS
    permission: Literal["r", "rw"] = "r"
    timeout_s: float = 1800.0
    max_output: int = 16_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        bench = self.bench
        if bench.target is None:
            return _refusal("no_target", "There is no work to check yet. Call launch_target first.")
        if bench.checks is None:
            try:
                bench.checks = await run_checks(
                    bench.rubric,
                    case=bench.case,
                    workspace=bench.target.workspace,
                    allow_unisolated=bench.allow_unisolated,
                )
            except BrokenCheckError as error:
                bench.broken.append(str(error))
                return _refusal("benchmark_invalid", f"{error} Report benchmark_invalid.")
            except ExuviaError as error:  # the harness or the disk; the benchmark is not to blame
                bench.broken.append(str(error))
                return _refusal("evaluation_failed", f"{error} {error.hint}".strip() + " Report evaluation_failed.")
        return _answer(
            True,
            checks=[
                {
                    "id": result.check.id,
                    "item": result.check.item,
                    "points": result.check.points,
                    "passed": result.passed,
                    "asserts": result.check.asserts,
                }
                for result in bench.checks
            ],
            items=[
                {
                    "item": item.number,
                    "points": item.points,
                    "text": item.text,
                    "checked": bench.rubric.checked_points(item.number),
                    "earned": math.fsum(r.points for r in bench.checks if r.check.item == item.number),
                    "remainder": item.points - bench.rubric.checked_points(item.number),
                }
                for item in bench.rubric.items
            ],
        )


@dataclass(frozen=True)
class RecordItemsTool:
    """Record the points of every item, where the operator sees them and the Optimizer does not."""

    bench: CellBench
    spec: ToolSpec = RECORD_ITEMS
    permission: Literal["r", "rw"] = "rw"
    timeout_s: float = 30.0
    max_output: int = 16_000
    repeatable: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        bench = self.bench
        if bench.target is None:
            return _refusal("no_target", "There is nothing to score yet. Call launch_target first.")
        if bench.rubric.checks and bench.checks is None:
            return _refusal("checks_first", "This rubric has executable checks. Call run_checks first.")
        entries = arguments.get("items")
        if not isinstance(entries, list):
            return _refusal("bad_items", "Give a list 'items' with one entry for each rubric item.")
        if problem := items_problem(bench.rubric, bench.checks or (), entries):
            return _refusal("bad_items", problem)
        bench.score = rounded_score(math.fsum(float(entry["points"]) for entry in entries))
        record = {
            "time": now_s(),
            "cell": bench.cell_id,
            "session_id": bench.target.session_id,
            "evaluator_session_id": context.session_id,
            "score": bench.score,
            "items": entries,
            "checks": [
                {"id": r.check.id, "passed": r.passed, "points": r.points, "output": r.output}
                for r in bench.checks or ()
            ],
        }
        append_record(bench.items, record)
        return _answer(True, score=bench.score)


def rounded_score(value: float) -> float:
    """Round a score to two decimals, halves up as the existing system does (EVOLUTION 2.2 no. 45)."""
    return math.floor(value * 100 + 0.5) / 100


def items_problem(rubric: Rubric, checks: tuple[CheckResult, ...], entries: list[Any]) -> str | None:
    """Return what is wrong with recorded items, or None.

    Each item occurs once; its points lie between what its checks gave and that plus what they left to judge.
    """
    if not all(isinstance(entry, dict) and type(entry.get("item")) is int for entry in entries):
        return "Each entry needs an item number, points and a reason."
    numbers = [entry["item"] for entry in entries]
    expected = [item.number for item in rubric.items]
    if sorted(numbers) != expected:
        return f"Record each of the items {expected} once; you gave {sorted(numbers)}."
    for entry in entries:
        number, points = entry["item"], entry.get("points")
        if not is_number(points):
            return f"Points of item {number} are not a finite number."
        decided = math.fsum(result.points for result in checks if result.check.item == number)
        item = rubric.items[number - 1]
        highest = decided + item.points - rubric.checked_points(number)
        if not decided - 1e-9 <= points <= highest + 1e-9:
            return (
                f"Item {number}: its checks decided {decided:g} points, so it earns from {decided:g} to {highest:g}; "
                f"you gave {points:g}."
            )
    return None
