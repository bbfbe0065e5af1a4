"""Every Candidate ever proposed, with its prediction and its outcome: also the rejected ones (EVOLUTION 3.5 no. 70)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.foundation.clock import now_s
from core.state.jsonlines import Gap, append_record, read_lines
from core.state.paths import ProjectPaths

Points = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Proposer = Literal["optimizer", "operator", "curator", "strategy"]
Verdict = Literal["accepted", "rejected", "unevaluable"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Edit(_Frozen):
    """A file of the state that a Candidate changes; `added` and `removed` count lines."""

    kind: Literal["agents_md", "skill", "strategy", "config", "other"]
    path: str
    added: int = 0
    removed: int = 0


class CellOutcome(_Frozen):
    """One Case x run of the matrix. `score` is None unless `status` is ok: invalid is never zero."""

    case: str
    run: int
    score: Points | None = None
    status: str
    session_id: str | None = None
    evaluator_session_id: str | None = None
    failure_code: str | None = None


class CandidateRecord(_Frozen):
    """A Candidate: what it changes and why, what was predicted, what came out, what was decided.

    `score` is the mean over Cases (0 to 100), None where the matrix is not complete and valid; `supported` says
    whether the observation supports the hypothesis, apart from the decision (EVOLUTION 3.5 no. 62).
    """

    agent_id: str
    benchmark_id: str
    run_id: str
    round: int
    version: int = Field(ge=1)
    reference_version: int = Field(ge=1)
    proposer: Proposer
    hypothesis: str
    prediction: dict[str, Any] = Field(default_factory=dict)
    edits: list[Edit] = Field(default_factory=list)
    diff: str = ""
    cells: list[CellOutcome] = Field(default_factory=list)
    decision: Verdict
    score: Points | None = None
    reference_score: Points | None = None
    supported: bool | None = None
    time: str = Field(default_factory=now_s)
    note: str = ""


def append(project: ProjectPaths, record: CandidateRecord) -> None:
    """Append a Candidate. Raises StorageError."""
    append_record(project.ledger, record.model_dump(mode="json"))


def read(project: ProjectPaths, agent_id: str | None = None) -> tuple[CandidateRecord, ...]:
    """Return the Candidates in the order they were decided, of one agent or all; see `gaps` for what is damaged."""
    return tuple(record for record in _read(project)[0] if agent_id is None or record.agent_id == agent_id)


def gaps(project: ProjectPaths) -> tuple[Gap, ...]:
    """Return the places of the ledger that hold no readable Candidate."""
    return _read(project)[1]


def versions(project: ProjectPaths, agent_id: str) -> frozenset[int]:
    """Return every version number that a Candidate of the agent used, also on lines damaged otherwise."""
    return frozenset(
        record["version"]
        for record in read_lines(project.ledger).records
        if record.get("agent_id") == agent_id and type(record.get("version")) is int
    )


def _read(project: ProjectPaths) -> tuple[list[CandidateRecord], tuple[Gap, ...]]:
    found = read_lines(project.ledger)
    records: list[CandidateRecord] = []
    damaged = list(found.gaps)
    for line in found.lines:
        try:
            records.append(CandidateRecord.model_validate(line.record))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            damaged.append(Gap(line.start, line.start, f"not a Candidate: {where}: {first['msg']}"))
    return records, tuple(sorted(damaged, key=lambda gap: gap.start))
