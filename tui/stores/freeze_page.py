"""A freeze as one page: pilots predicted against observed, Cases with their two texts, findings, hashes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.foundation.errors import ExuviaError
from core.foundation.visible import decode
from core.state.paths import BenchmarkPaths, ProjectPaths

if TYPE_CHECKING:
    from core.state.approvals import Approval

_MATERIAL_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class PilotRow:
    """A pilot: what was predicted of its changed Cases, and what came."""

    i: int
    score: float | None
    predicted: float | None
    observed: float | None
    missed: bool
    valid: bool
    chosen: bool
    note: str


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A pilot whose freeze the operator rejected before: why, and which Cases are no longer what they were then."""

    pilot: PilotRow
    reason: str
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A Case to be frozen, with its two texts. `floor` is what an agent gets that does nothing."""

    case_id: str
    title: str
    held_out: bool
    score: float | None
    floor: float | None
    statement: str
    rubric: str
    statement_sha256: str
    rubric_sha256: str
    standard_sha256: str


@dataclass(frozen=True, slots=True)
class Finding:
    case_id: str
    kind: str
    text: str
    waived: str


@dataclass(frozen=True, slots=True)
class FreezeView:
    """A question whether a benchmark may be frozen as it stands."""

    id: str
    run_id: str
    agent_id: str
    benchmark_id: str
    created: str
    title: str
    reason: str
    wanted: float | None
    pilots: tuple[PilotRow, ...]
    cases: tuple[CaseRow, ...]
    findings: tuple[Finding, ...]
    files: int
    config_sha256: str
    floor_limit: float | None
    reason_required: bool
    rejected: tuple[RejectedRow, ...] = ()


def freeze_page(project: ProjectPaths, approval: Approval) -> FreezeView:
    """Return what an approval of the kind "freeze" asks; of a body that another program wrote, what can be read."""
    body = approval.body
    benchmark: BenchmarkPaths | None
    try:
        benchmark = project.agent(approval.agent_id).benchmark(approval.benchmark_id)
    except ExuviaError:
        benchmark = None
    floors = _mapping(body.get("floor"))
    return FreezeView(
        approval.id,
        approval.run_id,
        approval.agent_id,
        approval.benchmark_id,
        approval.created,
        approval.title,
        _text(body.get("reason")),
        _number(body.get("baseline_wanted")),
        tuple(_pilot(pilot, body.get("selected_pilot")) for pilot in _mappings(body.get("pilots"))),
        tuple(_case(case, floors, benchmark) for case in _mappings(body.get("cases"))),
        tuple(
            Finding(
                _text(found.get("case_id")),
                _text(found.get("kind")),
                _text(found.get("text")),
                _text(found.get("waived_reason")),
            )
            for found in _mappings(body.get("findings"))
        ),
        len(_mapping(body.get("files"))),
        _text(body.get("config_sha256")),
        _number(body.get("floor_limit")),
        body.get("reason_required") is True,
        tuple(_rejected(one) for one in _mappings(body.get("rejected"))),
    )


def _pilot(pilot: dict[str, Any], chosen: object) -> PilotRow:
    i = pilot.get("i")
    return PilotRow(
        i if isinstance(i, int) else 0,
        _number(pilot.get("score")),
        _number(pilot.get("predicted")),
        _number(pilot.get("observed")),
        pilot.get("missed") is True,
        pilot.get("valid") is not False,
        i == chosen,
        _text(pilot.get("note")),
    )


def _rejected(one: dict[str, Any]) -> RejectedRow:
    changed = one.get("changed_since")
    names = tuple(name for name in changed if isinstance(name, str)) if isinstance(changed, list) else ()
    return RejectedRow(_pilot(one, None), _text(one.get("reason")), names)


def _case(case: dict[str, Any], floors: dict[str, Any], benchmark: BenchmarkPaths | None) -> CaseRow:
    case_id = _text(case.get("case_id"))
    statement, rubric = _material(benchmark, case_id)
    return CaseRow(
        case_id,
        _text(case.get("title")),
        case.get("held_out") is True,
        _number(case.get("score")),
        _number(floors.get(case_id)),
        statement,
        rubric,
        _text(case.get("statement_sha256")),
        _text(case.get("rubric_sha256")),
        _text(case.get("standard_sha256")),
    )


def _material(benchmark: BenchmarkPaths | None, case_id: str) -> tuple[str, str]:
    """Return the two texts of a Case, never following a link out of it."""
    from core.state.benchmark import within_material

    missing = "This file is not there (any more)."
    if benchmark is None:
        return missing, missing
    try:
        case = benchmark.case(case_id)
        texts = []
        for path in (case.statement_readme, case.rubric_readme):
            if not within_material(case, path):
                texts.append(missing)
                continue
            with path.open("rb") as file:
                texts.append(decode(file.read(_MATERIAL_BYTES)))
    except (ExuviaError, OSError):
        return missing, missing
    return texts[0], texts[1]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
