"""Measuring the Cases that the loop never sees: at the baseline, and at the version that came out of it.

They stand beside the score, never in it: not on the scoreboard, not in a Reference, not in what an Optimizer reads.
"""

from __future__ import annotations

from typing import Any, Literal

from core.evolution.cells import CellRequest
from core.evolution.desk import Desk
from core.evolution.events import Event, EventName, read_journal
from core.evolution.freeze import frozen_files
from core.evolution.trials import held_out_cases
from core.evolution.verdict import case_score, complete, matrix_score

HeldOutStage = Literal["baseline", "final"]


async def measure(desk: Desk, stage: HeldOutStage, *, runs: int) -> Event | None:
    """Measure the held-out Cases at the present version and journal the result; None where there are none.

    A stage is measured once a run. Where a baseline of this very version and benchmark was measured by an earlier
    run, with the same number of runs, its numbers are taken over and said so.
    """
    cases = held_out_cases(desk.benchmark)
    if not cases:
        return None
    for event in desk.journal.events:
        if event["event"] == EventName.HELDOUT and event["stage"] == stage:
            return event
    present = desk.present()
    same = {
        "version": present.version,
        "state_hash": present.state_hash,
        "runtime": list(desk.runtime()),
        "benchmark_hash": benchmark_hash(desk),
        "runs": runs,
    }
    if (known := _known(desk, same)) is not None:
        told = {key: known[key] for key in ("score", "cases", "cells")}
        return desk.journal.append(EventName.HELDOUT, stage=stage, **same, **told, reused_from=known["run_id"])
    index = 0 if stage == "baseline" else 1
    results = await desk.fill(
        [
            CellRequest(
                f"heldout-{stage}-v{present.version}-{case_id}-{run}",
                case_id,
                run,
                present.version,
                "heldout",
                index,
                present.state_hash,
            )
            for case_id in cases
            for run in range(1, runs + 1)
        ]
    )
    scores: dict[str, list[float]] = {}
    for result in results:
        if result.score is not None:
            scores.setdefault(result.case_id, []).append(result.score)
    whole = complete(scores, wanted=cases, runs=runs)
    return desk.journal.append(
        EventName.HELDOUT,
        stage=stage,
        **same,
        score=matrix_score(scores) if whole else None,
        cases={case_id: case_score(values) for case_id, values in scores.items()},
        cells=[
            {"case_id": r.case_id, "run": r.run, "score": r.score, "session_id": r.session_id, "status": r.status}
            for r in results
        ],
    )


def benchmark_hash(desk: Desk) -> str:
    """Return a hash over every frozen byte of the benchmark."""
    from core.state.fingerprint import hash_of  # one use

    return hash_of(frozen_files(desk.benchmark))


def _known(desk: Desk, wanted: dict[str, Any]) -> dict[str, Any] | None:
    for path in sorted(desk.project.runs.glob("*/journal.jsonl"), reverse=True):
        events, _ = read_journal(path)
        for event in reversed(events):
            if event["event"] != EventName.HELDOUT or event.get("score") is None:
                continue
            if all(event.get(key) == value for key, value in wanted.items()):
                return {**event, "run_id": event.get("reused_from") or path.parent.name}
    return None
