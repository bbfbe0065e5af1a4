"""The freeze of a benchmark: what the operator is shown, the record of every byte, and whether it still holds.

After a freeze a changed byte voids the benchmark, visibly: nothing is measured on it, and the console says which
file it was (EVOLUTION 3.2 no. 20, 36). The scoreboard is no part of it; it grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from core.evolution.builder_freeze_rules import FLOOR_LIMIT
from core.evolution.builder_state import BuilderState, RejectedPilot
from core.evolution.builder_view import pilot_row
from core.evolution.specs import RunPaths, read_spec
from core.foundation import strict_json
from core.foundation.clock import now_s
from core.foundation.errors import DamagedError
from core.state import atomic
from core.state.benchmark import case_title
from core.state.fingerprint import file_hashes
from core.state.paths import BenchmarkPaths, ProjectPaths

FreezeStatus = Literal["frozen", "void", "unfrozen"]


@dataclass(frozen=True, slots=True)
class Freeze:
    """What is known of a benchmark's freeze. `changed` names files that differ from what was frozen."""

    status: FreezeStatus
    run_id: str | None = None
    approval_id: str | None = None
    pilot: int | None = None
    time: str | None = None
    changed: tuple[str, ...] = ()


def frozen_files(benchmark: BenchmarkPaths) -> dict[str, str]:
    """Return relative path to SHA-256 of every file that a freeze covers."""
    return {name: digest for name, digest in file_hashes(benchmark.root).items() if name != benchmark.scoreboard.name}


def write_frozen(
    run: RunPaths, benchmark: BenchmarkPaths, files: Mapping[str, str], *, approval_id: str, pilot: int
) -> None:
    """Record what was frozen, in the run's directory."""
    record = {
        "time": now_s(),
        "agent_id": benchmark.root.parent.parent.name,
        "benchmark_id": benchmark.id,
        "approval_id": approval_id,
        "pilot": pilot,
        "files": dict(files),
    }
    atomic.write_text(run.frozen, strict_json.dumps(record, indent=1) + "\n")


def read_freeze(project: ProjectPaths, agent_id: str, benchmark: BenchmarkPaths) -> Freeze:
    """Return whether the benchmark is frozen and still what was frozen; the newest freeze of it counts.

    A freeze of it that cannot be read any more voids it: nobody could tell then what was frozen.
    """
    newest: dict[str, Any] | None = None
    owner = ""
    for path in sorted(project.runs.glob("*/frozen.json")):
        try:
            record = strict_json.parse(path.read_bytes())
        except FileNotFoundError:
            continue  # a run being removed
        except (OSError, ValueError):
            record = None
        if not _is_freeze(record):
            if _is_about(RunPaths(path.parent), agent_id, benchmark.id):
                return Freeze("void", path.parent.name, changed=(f"{path.parent.name}/{path.name}",))
            continue
        if record["agent_id"] != agent_id:
            continue
        if record["benchmark_id"] == benchmark.id and (newest is None or record["time"] >= newest["time"]):
            newest, owner = record, path.parent.name
    if newest is None:
        return Freeze("unfrozen")
    now, then = frozen_files(benchmark) if benchmark.root.is_dir() else {}, newest["files"]
    changed = tuple(sorted(name for name in {*now, *then} if now.get(name) != then.get(name)))
    return Freeze(
        "void" if changed else "frozen", owner, newest["approval_id"], newest["pilot"], newest["time"], changed
    )


def _is_about(run: RunPaths, agent_id: str, benchmark_id: str) -> bool:
    try:
        spec = read_spec(run)
    except DamagedError:
        return False
    return (spec.agent_id, spec.benchmark_id) == (agent_id, benchmark_id)


def _is_freeze(record: object) -> TypeGuard[dict[str, Any]]:
    """Tell whether a frozen.json says what is frozen; any other is damaged and freezes nothing."""
    return (
        isinstance(record, dict)
        and all(isinstance(record.get(name), str) for name in ("agent_id", "benchmark_id", "approval_id", "time"))
        and type(record.get("pilot")) is int
        and isinstance(record.get("files"), dict)
    )


def approval_body(
    state: BuilderState,
    benchmark: BenchmarkPaths,
    *,
    reason: str,
    no_refinement_left: str = "",
    floor_exception: str = "",
) -> dict[str, Any]:
    """Return what the operator needs to judge a freeze: bytes, pilots, findings, floors."""
    files = frozen_files(benchmark)
    present = state.present_pilot
    findings = _findings(state, floor_exception, no_refinement_left)
    high = _high(state)
    return {
        "reason": reason,
        "cases": [
            {
                "case_id": case_id,
                "title": case_title(benchmark.case(case_id)),
                "held_out": case_id not in state.measured,
                "score": state.scores[case_id].score if case_id in state.scores else None,
                "statement_sha256": state.hashes[case_id].statement,
                "rubric_sha256": state.hashes[case_id].rubric,
                "standard_sha256": state.hashes[case_id].standard,
            }
            for case_id in state.case_ids
        ],
        "config_sha256": files.get(benchmark.config.name),
        "files": files,
        "pilots": [
            {
                **pilot_row(pilot, frozen=pilot is present),
                "note": pilot.note,
                "diagnosis": pilot.diagnosis,
                "adjustment": pilot.adjustment,
            }
            for pilot in state.pilots
        ],
        "rejected": [_rejected(state, one) for one in state.rejected],
        "selected_pilot": present.i if present else None,
        "baseline_wanted": state.limits.baseline_wanted,
        "pilots_used": state.pilot,
        "pilot_limit": state.limits.pilots,
        "findings": findings,
        "floor": dict(state.floors),
        "floor_limit": FLOOR_LIMIT,
        "reason_required": bool(high),
    }


def _rejected(state: BuilderState, one: RejectedPilot) -> dict[str, Any]:
    """Return a pilot whose freeze was rejected, why, and which Cases are no longer what they were then."""
    then = one.pilot.hashes
    changed = [case_id for case_id in state.case_ids if then.get(case_id) != state.hashes.get(case_id)]
    return {**pilot_row(one.pilot), "reason": one.reason, "changed_since": changed}


def _high(state: BuilderState) -> list[str]:
    return [case_id for case_id, points in state.floors.items() if points > FLOOR_LIMIT]


def _findings(state: BuilderState, floor_exception: str, no_refinement_left: str) -> list[dict[str, Any]]:
    """Return everything the operator should know was waived, declared or asked for, with the Builder's reason."""

    def told(case_id: str | None, kind: str, text: str, reason: str | None) -> dict[str, Any]:
        return {"case_id": case_id, "kind": kind, "text": text, "waived_reason": reason}

    found: list[dict[str, Any]] = []
    for case_id in state.case_ids:
        reasons = {waived["finding"]: waived["reason"] for waived in state.freeze_reviews[case_id].waived}
        found += [
            told(case_id, leak["kind"], leak["text"], reasons.get(leak["finding"]) or reasons.get(leak["text"]))
            for leak in state.findings.get(case_id, ())
        ]
        found += [told(case_id, "shared", item["text"], item["reason"]) for item in state.shared.get(case_id, ())]
    changed = "The private standard changed after a dispatch; earlier results of the Case are void."
    found += [told(item["case_id"], "standard_restated", changed, item["reason"]) for item in state.restated]
    found += [
        told(case_id, "floor", f"An idle agent gets {state.floors[case_id]:g} points.", floor_exception)
        for case_id in _high(state)
    ]
    if no_refinement_left:
        found.append(told(None, "pilots_left", "Pilots are left and the wanted score is not met.", no_refinement_left))
    return found
