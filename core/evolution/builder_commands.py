"""What a Builder may ask of the protocol. Each command carries what its tool saw on disk, so rules need no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.evolution.builder_state import CaseHashes


@dataclass(frozen=True, slots=True)
class CreateAgent:
    """Make the Target Agent. `wanted` is the id that the operator gave, `exists` whether it stands on disk."""

    agent_id: str
    wanted: str
    exists: bool


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A Case of the contract: points by item."""

    case_id: str
    points: Sequence[float]


@dataclass(frozen=True, slots=True)
class DeclareContract:
    cases: Sequence[PlannedCase]
    held_out: Sequence[str]


@dataclass(frozen=True, slots=True)
class CasePrediction:
    case_id: str
    score_if_observed: float
    score_if_desired: float
    affected_points: float


@dataclass(frozen=True, slots=True)
class SubmitRevision:
    """`hashes` and `problems` are what stands on disk: problems name, by Case, what makes it unusable."""

    hashes: Mapping[str, CaseHashes]
    problems: Mapping[str, Sequence[str]]
    predictions: Sequence[CasePrediction]
    diagnosis: str = ""
    adjustment: str = ""
    restated: Sequence[str] = ()
    strangers: Sequence[str] = ()  # Case directories that the contract does not plan


@dataclass(frozen=True, slots=True)
class CaseReview:
    """`verdicts` by question: "ok" or a finding; `leak`: "none" or a finding; `waived`: ids or texts of findings."""

    case_id: str
    verdicts: Mapping[str, str]
    leak: str
    waived: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RecordReview:
    scope: str
    cases: Sequence[CaseReview]
    hashes: Mapping[str, CaseHashes]


@dataclass(frozen=True, slots=True)
class Dispatch:
    hashes: Mapping[str, CaseHashes]
    version: int
    state_hash: str
    repair: str = ""


@dataclass(frozen=True, slots=True)
class RequestFreeze:
    hashes: Mapping[str, CaseHashes]
    version: int
    state_hash: str
    known_defects: Sequence[str] = ()
    no_refinement_left: str = ""


@dataclass(frozen=True, slots=True)
class PassFloor:
    """The points an idle agent gets by Case, and the reason for an exception if one is asked for."""

    floors: Mapping[str, float] = field(default_factory=dict)
    exception: str = ""


@dataclass(frozen=True, slots=True)
class RestoreLowest:
    pass


@dataclass(frozen=True, slots=True)
class RecordBaseline:
    hashes: Mapping[str, CaseHashes]
    version: int
    state_hash: str


@dataclass(frozen=True, slots=True)
class StopRun:
    reason: str


Command = (
    CreateAgent
    | DeclareContract
    | SubmitRevision
    | RecordReview
    | Dispatch
    | RequestFreeze
    | PassFloor
    | RestoreLowest
    | RecordBaseline
    | StopRun
)
