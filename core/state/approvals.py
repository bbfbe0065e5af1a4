"""What waits for the operator, and what was decided: two files each, the first decision wins.

`<project>/.exuvia/approvals/<id>.json` is the question, `<id>.decision.json` the answer. Both appear whole and are
never replaced, so a console and a command that answer at the same moment cannot both win.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.foundation import strict_json
from core.foundation.clock import IDENTIFIER, now_s
from core.foundation.errors import ConflictError, DamagedError, NotFoundError, UsageError
from core.foundation.visible import visible_line
from core.state import audit, readonly
from core.state.atomic import write_new
from core.state.paths import ProjectPaths

Verdict = Literal["approve", "reject"]
_Kind = TypeVar("_Kind", bound=BaseModel)
_DECISION = ".decision.json"


class Approval(BaseModel):
    """A question to the operator; `body` holds what its kind needs to be judged (for a freeze: Cases, hashes,
    pilots, findings, floors).
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    kind: Literal["freeze"]
    run_id: str
    agent_id: str
    benchmark_id: str
    title: str
    created: str = Field(default_factory=now_s)
    body: dict[str, Any] = Field(default_factory=dict)


class Decision(BaseModel):
    """The answer: by whom, from which account and terminal, when and why."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    verdict: Verdict
    reason: str = ""
    actor: str
    signature: str
    time: str


def new_id() -> str:
    """Return an id for an Approval: `freeze-YYYYMMDD-HHMMSS-<4 hex>` in local time."""
    return datetime.now().astimezone().strftime("freeze-%Y%m%d-%H%M%S-") + secrets.token_hex(2)


def request(project: ProjectPaths, approval: Approval) -> str:
    """Ask; return the id. Asking the same again (after a crash) changes nothing; another question under a taken id
    is a ConflictError.
    """
    path = _question(project, approval.id)
    readonly.refuse(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_new(path, _encode(approval))
    except ConflictError:
        if _read(path, Approval) != approval:
            raise
    return approval.id


def decide(
    project: ProjectPaths, approval_id: str, verdict: Verdict, reason: str = "", actor: str | None = None
) -> Decision:
    """Answer an Approval and audit it. Raises NotFoundError, or ConflictError naming who was first."""
    readonly.refuse(project.root)
    approval, _ = get(project, approval_id)
    decision = Decision(
        id=approval_id,
        verdict=verdict,
        reason=reason,
        actor=actor or "operator",
        signature=audit.signature(),
        time=now_s(),
    )
    path = _answer(project, approval_id)
    try:
        write_new(path, _encode(decision))
    except ConflictError as error:
        first = _read(path, Decision)
        raise ConflictError(
            f"{approval_id} was decided before: {first.verdict} by {visible_line(first.signature)} at {first.time}",
            hint="a decision stands; look at the run to see what came of it",
        ) from error
    audit.record(
        project,
        verdict,
        approval_id,
        {"kind": approval.kind, "run_id": approval.run_id, "benchmark_id": approval.benchmark_id, "reason": reason},
        decision.actor,
    )
    return decision


def get(project: ProjectPaths, approval_id: str) -> tuple[Approval, Decision | None]:
    """Return the Approval and its Decision, if there is one. Raises NotFoundError or DamagedError."""
    path = _question(project, approval_id)
    if not path.exists():
        raise NotFoundError(
            f"there is no approval {approval_id!r} in project {project.id}", hint="list them: exuvia approvals list"
        )
    answer = _answer(project, approval_id)
    return _read(path, Approval), _read(answer, Decision) if answer.exists() else None


def pending(project: ProjectPaths) -> tuple[Approval, ...]:
    """Return what is asked and not decided, oldest first; see `unreadable` for damaged files."""
    return _list(project)[0]


def unreadable(project: ProjectPaths) -> tuple[DamagedError, ...]:
    """Return an error for each question file that can't be read."""
    return _list(project)[1]


def _list(project: ProjectPaths) -> tuple[tuple[Approval, ...], tuple[DamagedError, ...]]:
    asked: list[Approval] = []
    damaged: list[DamagedError] = []
    for path in sorted(project.approvals.glob("*.json")):
        approval_id = path.name.removesuffix(".json")
        if path.name.endswith(_DECISION) or not IDENTIFIER.fullmatch(approval_id):
            continue
        if _answer(project, approval_id).exists():
            continue
        try:
            asked.append(_read(path, Approval))
        except DamagedError as error:
            damaged.append(error)
    return tuple(sorted(asked, key=lambda approval: (approval.created, approval.id))), tuple(damaged)


def _question(project: ProjectPaths, approval_id: str) -> Path:
    if not IDENTIFIER.fullmatch(approval_id):
        raise UsageError(f"{approval_id!r} is not an approval id", hint="use letters, digits, '_' and '-'")
    return project.approvals / f"{approval_id}.json"


def _answer(project: ProjectPaths, approval_id: str) -> Path:
    return _question(project, approval_id).with_name(approval_id + _DECISION)


def _encode(model: BaseModel) -> bytes:
    return strict_json.dumps(model.model_dump(mode="python"), indent=1).encode("utf-8") + b"\n"


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return kind.model_validate(strict_json.parse(path.read_bytes()))
    except (ValidationError, ValueError, IsADirectoryError) as error:
        raise DamagedError(
            f"{visible_line(str(path))} is not a readable {kind.__name__}: {visible_line(str(error))[:200]}",
            hint="move the file away; the run that asked can ask again",
        ) from error
