"""What a Builder's tools take, as a model reads it in their schemas."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.evolution.protocol_tool import Arguments
from core.state.agent_config import ThinkingLevel

Said = Annotated[str, Field(min_length=1, max_length=4_000)]
CaseId = Annotated[str, Field(pattern=r"^CASE-[A-Za-z0-9][A-Za-z0-9_-]{0,79}$")]
Points = Annotated[float, Field(ge=0, le=100)]


class CreateAgentArguments(Arguments):
    agent_id: str
    name: Annotated[str, Field(min_length=1, max_length=80)]
    description: Annotated[str, Field(max_length=400)]
    agents_md: Annotated[str, Field(min_length=1, max_length=16_000, description="Role and concrete rules, short.")]
    skills: Annotated[tuple[str, ...], Field(description="Library skills the agent's tasks need.", max_length=20)] = ()
    thinking_level: ThinkingLevel | None = None
    max_turns: Annotated[int | None, Field(ge=1, le=200, description="Requests a task may take; 8 if left out.")] = None


class ItemPoints(Arguments):
    item: Said
    points: Points


class CaseDesign(Arguments):
    case_id: CaseId
    required_behaviour: Said
    plausible_shortcut: Said
    difficulty: Annotated[str, Field(min_length=1, max_length=400)]
    separating_result: Annotated[str, Field(min_length=1, description="What each behaviour leaves and scores.")]
    rationale: Annotated[str, Field(min_length=1, description="Why this measures the capability.")]
    points: Annotated[list[ItemPoints], Field(min_length=1, max_length=40, description="Total exactly 100.")]


class DeclareContractArguments(Arguments):
    capability: Said
    evidence: list[Said]
    observables: list[Said]
    shortcuts: list[Said]
    state_levers: Annotated[list[Said], Field(description="What in the agent's state could improve the behaviour.")]
    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=2_000)]
    held_out: Annotated[tuple[CaseId, ...], Field(description="Cases never shown to the Optimizer.")] = ()
    cases: Annotated[list[CaseDesign], Field(min_length=1, max_length=40)]


class PredictionArguments(Arguments):
    case_id: CaseId
    observed_strategy: Said
    desired_behaviour: Said
    separates_on: Annotated[str, Field(min_length=1, description="The decision or artifact that tells them apart.")]
    score_if_observed: Annotated[float, Field(description="0 to 100, if the agent does what it was seen to do.")]
    score_if_desired: Annotated[float, Field(description="0 to 100, if it does the desired thing.")]
    affected_points: Annotated[float, Field(description="Rubric points on which the two differ.")]


class RestatedStandard(Arguments):
    case_id: CaseId
    reason: Said


class SharedMaterial(Arguments):
    case_id: CaseId
    text: Annotated[str, Field(min_length=1, max_length=2_000, description="Text both sides must hold.")]
    reason: Said


class SubmitRevisionArguments(Arguments):
    note: Annotated[str, Field(min_length=1, max_length=4_000, description="What this revision is.")]
    diagnosis: Annotated[str | None, Field(description="For a refinement: what you observed and what it lacks.")] = None
    adjustment: Annotated[str | None, Field(description="For a refinement: the change that makes it cost points.")] = (
        None
    )
    predictions: list[PredictionArguments]
    restated_standards: tuple[RestatedStandard, ...] = ()
    shared_material: tuple[SharedMaterial, ...] = ()


class Waiver(Arguments):
    finding: Annotated[str, Field(min_length=1, description="The finding's id.")]
    reason: Annotated[str, Field(min_length=1, max_length=2_000, description="Why it gives nothing away.")]


class CaseReviewArguments(Arguments):
    case_id: CaseId
    statement_coherent: Annotated[str, Field(min_length=1, description='"ok" or a finding')]
    rubric_consistent: Annotated[str, Field(min_length=1, description='"ok" or a finding')]
    rubric_self_contained: Annotated[str, Field(min_length=1, description='"ok" or a finding')]
    items_apply: Annotated[str, Field(min_length=1, description='"ok" or a finding')]
    leak: Annotated[str, Field(min_length=1, description='"none" or a finding')]
    waivers: tuple[Waiver, ...] = ()


class RecordReviewArguments(Arguments):
    scope: Literal["revision", "freeze"]
    cases: Annotated[list[CaseReviewArguments], Field(min_length=1)]


class DispatchArguments(Arguments):
    repair: Annotated[
        str | None, Field(description="Only after failed cells: the new, specific thing corrected since.")
    ] = None


class RequestFreezeArguments(Arguments):
    reason: Said
    known_defects: tuple[str, ...] = ()
    no_refinement_left: Annotated[
        str | None, Field(description="Only with pilots left and the wanted score not met: why nothing can lower it.")
    ] = None
    floor_exception: Annotated[
        str | None, Field(description="Only for a high idle floor: why it is right; the operator decides.")
    ] = None


class RecordBaselineArguments(Arguments):
    summary_title: Annotated[str, Field(min_length=1, max_length=200)]
    summary: Said


class StopRunArguments(Arguments):
    reason: Said
