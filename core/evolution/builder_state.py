"""Where a Builder run stands, and what follows from it. `builder_fold` makes it from the journal.

The Builder moves a benchmark through: agent, contract, drafting, review, pilot, (refining and piloting again),
freeze, baseline, report (EVOLUTION 3.2). Facts are keyed by content: a review, a prediction or a score counts for
a Case only while the Case's hashes are those that it was made for, so a changed byte undoes exactly what it must.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.evolution.verdict import SeparatingPrediction

CaseState = Literal["planned", "drafted", "changed", "reviewed", "scored"]


@dataclass(frozen=True, slots=True)
class CaseHashes:
    """What a Case was when it was submitted; `standard` is None where the Case has no private standard."""

    statement: str
    rubric: str
    standard: str | None = None

    def fields(self) -> dict[str, str | None]:
        """Return the hashes as a journal carries them."""
        return {"statement": self.statement, "rubric": self.rubric, "standard": self.standard}


@dataclass(frozen=True, slots=True)
class CasePlan:
    """A planned Case: what it must make visible and how many points each item carries (no. 16, 17)."""

    case_id: str
    held_out: bool
    design: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A separating prediction for one revision of one Case (no. 30)."""

    hashes: CaseHashes
    scores: SeparatingPrediction
    affected_points: float


@dataclass(frozen=True, slots=True)
class Review:
    """The verdicts on one revision of one Case. `clean` means nothing is open; waived findings are not open."""

    hashes: CaseHashes
    revision: int
    clean: bool
    open_findings: tuple[str, ...] = ()
    waived: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """The one valid run of a Case under given hashes."""

    cell: str
    hashes: CaseHashes
    version: int
    score: float
    cost: float | None
    duration_ms: int
    session_id: str
    evaluator_session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Pilot:
    """A complete iteration: one valid run for every Case that is not held out. `valid` falls when a Case is voided."""

    i: int
    revision: int
    score: float
    predicted: float
    observed: float
    missed: bool
    hashes: Mapping[str, CaseHashes]
    scores: Mapping[str, Score]
    note: str = ""
    diagnosis: str = ""
    adjustment: str = ""
    valid: bool = True


@dataclass(frozen=True, slots=True)
class RejectedPilot:
    """A pilot as it stood when the operator rejected its freeze, and why; what replaces it is compared with it."""

    pilot: Pilot
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator asked for: the highest baseline score wanted, and how many pilots may be used."""

    baseline_wanted: float
    pilots: int


@dataclass(frozen=True, slots=True)
class BuilderState:
    """Everything the protocol's rules look at. Equal journals give equal states."""

    limits: Limits
    agent_ready: bool = False
    plans: tuple[CasePlan, ...] = ()
    contract: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0
    pilot: int = 0  # highest iteration begun; what the limit counts
    current: int = 0  # iteration that the present revision belongs to
    hashes: Mapping[str, CaseHashes] = field(default_factory=dict)
    submitted: Mapping[str, Any] = field(default_factory=dict)  # the last revision event
    findings: Mapping[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    reviews: Mapping[str, Review] = field(default_factory=dict)
    freeze_reviews: Mapping[str, Review] = field(default_factory=dict)
    standards: Mapping[str, str] = field(default_factory=dict)  # at each Case's first dispatch with one
    restated: tuple[Mapping[str, str], ...] = ()
    shared: Mapping[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    scores: Mapping[str, Score] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)  # failure code by Case, since its last change
    repairs: tuple[str, ...] = ()
    affected: frozenset[str] = frozenset()  # Cases changed since the last complete pilot
    version: int | None = None  # the Target's, from the first dispatch on
    state_hash: str | None = None
    pilots: tuple[Pilot, ...] = ()
    lowest: int | None = None
    floors: Mapping[str, float] = field(default_factory=dict)
    floors_of: int | None = None  # revision that the floors were measured on
    approval_id: str | None = None
    rejection: str | None = None
    rejected: tuple[RejectedPilot, ...] = ()  # every one so far, oldest first
    frozen: int | None = None
    baseline: Mapping[str, Any] | None = None
    stop_reason: str | None = None

    @property
    def case_ids(self) -> tuple[str, ...]:
        """Every planned Case, in the contract's order."""
        return tuple(plan.case_id for plan in self.plans)

    @property
    def measured(self) -> tuple[str, ...]:
        """The Cases that pilots run: those that are not held out."""
        return tuple(plan.case_id for plan in self.plans if not plan.held_out)

    @property
    def pending(self) -> tuple[str, ...]:
        """Measured Cases whose present revision has no valid result."""
        return tuple(c for c in self.measured if c not in self.scores or self.scores[c].hashes != self.hashes.get(c))

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Cases whose present revision has no clean review (a clean freeze review counts too)."""
        return tuple(
            c
            for c in self.case_ids
            if c in self.hashes
            and not any(
                c in reviews and reviews[c].hashes == self.hashes[c] and reviews[c].clean
                for reviews in (self.reviews, self.freeze_reviews)
            )
        )

    @property
    def unfrozen(self) -> tuple[str, ...]:
        """Cases without a clean freeze review of the present revision."""
        return tuple(
            c
            for c in self.case_ids
            if (review := self.freeze_reviews.get(c)) is None or review.revision != self.revision or not review.clean
        )

    @property
    def defects(self) -> tuple[str, ...]:
        """Cases in which the freeze review of the present revision left a finding open."""
        return tuple(
            c for c, review in self.freeze_reviews.items() if review.revision == self.revision and not review.clean
        )

    @property
    def valid_pilots(self) -> tuple[Pilot, ...]:
        return tuple(pilot for pilot in self.pilots if pilot.valid)

    @property
    def present_pilot(self) -> Pilot | None:
        """The valid pilot whose revision stands in the benchmark now, if one does."""
        return next((p for p in self.valid_pilots if p.i == self.current and dict(p.hashes) == dict(self.hashes)), None)

    @property
    def lowest_pilot(self) -> Pilot | None:
        """The lowest valid pilot; of equal ones the earlier."""
        return min(self.valid_pilots, key=lambda pilot: (pilot.score, pilot.i), default=None)

    def case_state(self, case_id: str) -> CaseState:
        """Return what the console shows of a Case."""
        if case_id not in self.hashes:
            return "planned"
        if case_id in self.scores and self.scores[case_id].hashes == self.hashes[case_id]:
            return "scored"
        if case_id not in self.unreviewed:
            return "reviewed"
        return "changed" if case_id in self.scores else "drafted"

    @property
    def phase(self) -> str:
        """agent, contract, drafting, review, pilot, freeze, baseline or report."""
        if self.baseline is not None or self.stop_reason is not None:
            return "report"
        if self.frozen is not None:
            return "baseline"
        if not self.agent_ready:
            return "agent"
        if not self.plans:
            return "contract"
        if not self.hashes or (self.rejection is not None and self.present_pilot is not None):
            return "drafting"
        if self.pending or self.present_pilot is None:
            return "review" if set(self.unreviewed) else "pilot"
        met = self.present_pilot.score <= self.limits.baseline_wanted
        return "freeze" if met or self.pilot >= self.limits.pilots else "drafting"


def revision_kind(state: BuilderState) -> tuple[str, int]:
    """Return what a revision submitted now would be (initial, refinement or repair) and the pilot it belongs to.

    A repair belongs to the present pilot and does not consume the limit: the pilot has no complete result yet,
    the freeze review left a defect open, or the operator rejected the freeze (no. 28, 35).
    """
    if state.pilot == 0:
        return "initial", 1
    if state.present_pilot is None or state.defects or state.rejection is not None:
        return "repair", state.current
    return "refinement", state.pilot + 1


def to_dispatch(state: BuilderState, hashes: Mapping[str, CaseHashes]) -> tuple[str, ...]:
    """Return the measured Cases whose content on disk has no valid result: those a dispatch would run."""
    return tuple(c for c in state.measured if c not in state.scores or state.scores[c].hashes != hashes.get(c))


def changed_cases(state: BuilderState, hashes: Mapping[str, CaseHashes]) -> tuple[str, ...]:
    """Return the Cases a revision submitted now would change: to be dispatched, or held out and edited."""
    run = set(to_dispatch(state, hashes))
    return tuple(c for c in state.case_ids if c in run or state.hashes.get(c) != hashes.get(c))


def stale(state: BuilderState, hashes: Mapping[str, CaseHashes]) -> tuple[str, ...]:
    """Return the Cases whose content on disk is not what was submitted."""
    return tuple(case for case in state.case_ids if hashes.get(case) != state.hashes.get(case))


def unwaived(state: BuilderState, case_id: str, leak: str, waivers: Sequence[str]) -> tuple[str, ...]:
    """Return ids of leak findings of the scan that a review neither waives nor confirms."""
    if leak != "none":
        return ()
    waived = set(waivers)
    return tuple(
        f["finding"] for f in state.findings.get(case_id, ()) if f["finding"] not in waived and f["text"] not in waived
    )
