"""One cell of a Case matrix: what is asked, what came of it, and what a journal already knows of it.

A cell is one Case, one run, one revision. "Finished" means journalled as scored (DECISIONS 16): such a cell is
never run again. A Target that finished but whose Evaluator was lost is known too, so it is scored from what is
there. A Target that was started and never finished was interrupted with the engine: its remains are set aside and
the cell runs once more (DECISIONS 12). So does one whose workspace or trace is gone before it was scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Stage = Literal["pilot", "round", "heldout", "evaluation"]


@dataclass(frozen=True, slots=True)
class CellRequest:
    """A cell to fill. `cell_id` is unique in its run and changes with the revision; `index` is pilot or round.

    `state_hash` is that of the agent's state to be measured: under another one no score is taken. None asks for none.
    """

    cell_id: str
    case_id: str
    run: int
    version: int
    stage: Stage
    index: int
    state_hash: str | None = None

    def fields(self) -> dict[str, Any]:
        """Return what every `cell` event says of the cell."""
        return {
            "cell": self.cell_id,
            "case_id": self.case_id,
            "run": self.run,
            "version": self.version,
            "stage": self.stage,
            "index": self.index,
        }


@dataclass(frozen=True, slots=True)
class CellResult:
    """What came of a cell. Scores are 0 to 100, cost is USD or None where unknown, duration is milliseconds.

    A failed cell has no score: `failure_code` is the protocol's word and `reason` says it plainly.
    """

    cell_id: str
    case_id: str
    run: int
    status: Literal["scored", "failed"]
    score: float | None = None
    cost: float | None = None
    duration_ms: int | None = None
    session_id: str | None = None
    evaluator_session_id: str | None = None
    failure_code: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TargetRun:
    """A Target execution: its session, where it worked, where its trace lies, and how it ended where it has."""

    session_id: str
    workspace: Path
    trace: Path
    ended: str = "completed"


@dataclass(frozen=True, slots=True)
class KnownCells:
    """What a journal tells of cells, by cell id."""

    results: Mapping[str, CellResult] = field(default_factory=dict)
    finished: Mapping[str, TargetRun] = field(default_factory=dict)
    interrupted: Mapping[str, TargetRun] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)


def _target(event: Mapping[str, Any]) -> TargetRun:
    ended = str(event.get("status") or "completed")
    return TargetRun(str(event["session_id"]), Path(event["workspace"]), Path(event["trace"]), ended)


def known_cells(events: Iterable[Mapping[str, Any]]) -> KnownCells:
    """Fold journal events into what is known of every cell."""
    results: dict[str, CellResult] = {}
    finished: dict[str, TargetRun] = {}
    started: dict[str, TargetRun] = {}
    attempts: dict[str, int] = {}
    for event in events:
        match event.get("event"):
            case "target_started":
                started[event["cell"]] = _target(event)
            case "target_finished":
                started.pop(event["cell"], None)
                finished[event["cell"]] = _target(event)
            case "target_failed":
                started.pop(event["cell"], None)
            case "cell" if event.get("state") == "running":
                attempts[event["cell"]] = int(event.get("attempt", 1))
            case "cell" if event.get("state") == "interrupted":
                started.pop(event["cell"], None)
                finished.pop(event["cell"], None)
            case "cell" if event.get("state") == "scored":
                results[event["cell"]] = CellResult(
                    cell_id=event["cell"],
                    case_id=event["case_id"],
                    run=event["run"],
                    status="scored",
                    score=event["score"],
                    cost=event.get("cost"),
                    duration_ms=event["duration_ms"],
                    session_id=event["session_id"],
                    evaluator_session_id=event.get("evaluator_session_id"),
                )
            case _:
                pass
    return KnownCells(results, finished, started, attempts)
