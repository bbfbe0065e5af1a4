"""What the operator asks of a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from core.evolution.run_paths import Kind as Kind
from core.evolution.run_paths import RunPaths as RunPaths
from core.evolution.run_paths import new_run_id as new_run_id
from core.evolution.run_paths import run_paths as run_paths
from core.foundation import strict_json
from core.foundation.errors import DamagedError, UsageError
from core.foundation.visible import well_formed
from core.models.interface import ModelRef
from core.models.rehearsal.options import RehearsalOptions
from core.state.paths import AgentPaths, BenchmarkPaths, check_id

Score = Annotated[float, Field(strict=True, ge=0, le=100, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]  # a boolean is no number
Flag = Annotated[bool, Field(strict=True)]  # and a number is no boolean
Seconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Text = Annotated[str, AfterValidator(well_formed)]  # an argument of the command line may hold bytes that are no text
REHEARSAL = ("rehearsal", "rehearsal-1")


class Model(BaseModel):
    """The pair that serves every role; never half (EVOLUTION 1.7 no. 24)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Text = REHEARSAL[0]
    model_id: Text = REHEARSAL[1]

    @property
    def ref(self) -> ModelRef:
        return ModelRef(self.provider, self.model_id)


class RunBudgets(BaseModel):
    """Limits of a whole run. Finished cells stay when one is reached; None means without that limit.

    Resuming a run whose budgets are used up grants them once more: it is the operator who resumes. `wall_s` counts
    seconds of work, not of waiting for the operator. `cost_usd` and `tokens` hold against what is
    known, a lower bound.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_s: Seconds | None = None
    tokens: Annotated[Whole, Field(gt=0)] | None = None
    cost_usd: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = None
    role_turns: Annotated[Whole, Field(gt=0)] = 600  # requests of the Builder or Optimizer Session

    @property
    def any(self) -> bool:
        """Whether time, tokens or money are limited at all."""
        return (self.wall_s, self.tokens, self.cost_usd) != (None, None, None)


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_id: Annotated[str, AfterValidator(partial(check_id, "agent"))]
    benchmark_id: Annotated[str, AfterValidator(partial(check_id, "benchmark"))]
    model: Model = Model()
    seed: Whole = 7
    concurrency: Annotated[Whole, Field(ge=1, le=64)] = 2
    allow_unisolated: Flag = False
    rehearsal: Mapping[str, Any] = Field(default_factory=dict)  # RehearsalOptions as JSON
    budgets: RunBudgets = RunBudgets()

    @field_validator("rehearsal")
    @classmethod
    def _known_options(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        RehearsalOptions.from_json(options)  # said before a run starts, and not by an engine that nobody hears
        return options


class _RoleSpec(_Spec):
    """A run that a Session of a role works on: how that one asks the operator.

    `tool_approval` always-ask puts every tool call of the role before the operator. `detached_ask` says what the run
    does while it waits for a freeze, a question or a call: stay and look, or end blocked with exit code 3 until it
    is resumed (DECISIONS 15).
    """

    tool_approval: Literal["allow-all", "always-ask"] = "allow-all"
    detached_ask: Literal["wait", "exit"] = "wait"


class OptimizeSpec(_RoleSpec):
    """Improve an agent on a frozen benchmark: `runs` a Case, at most `rounds`, until `target_score`."""

    kind: Literal["optimize"] = "optimize"
    target_score: Score = 90.0
    runs: Annotated[Whole, Field(ge=1, le=20)] = 2
    rounds: Annotated[Whole, Field(ge=1, le=100)] = 5


class BuildSpec(_RoleSpec):
    """Make a benchmark for an agent (and the agent first, where `requirement` is given and it does not exist).

    `cases` bounds how many Cases the Builder plans.
    """

    kind: Literal["build"] = "build"
    requirement: Text | None = None
    capability: Annotated[Text, Field(min_length=1)]
    baseline_score: Score = 45.0
    pilots: Annotated[Whole, Field(ge=1, le=100)] = 4
    cases: Annotated[Whole, Field(ge=1)] | None = None
    library: str | None = None  # directory of Case material; the built-in one by default
    approve: Literal["ask", "auto"] = "ask"
    then_optimize: OptimizeSpec | None = None


class TrySpec(_Spec):
    """Measure the operator's own edit of the agent's state as a Candidate; keep it or roll it back."""

    kind: Literal["try"] = "try"
    runs: Annotated[Whole, Field(ge=1, le=20)] = 2
    hypothesis: Text = "The operator's edit improves the agent."


class CurateSpec(_RoleSpec):
    """Let a curator turn what an agent went through into skills, and measure them as Candidates (CURATION 1.1).

    Each of at most `rounds` Candidates comes from `sessions` finished Sessions; `runs` a Case measure it. A Session
    counts as a success from `success_at` points on. `top_k` and `min_overlap` are those of the retrieval that decides
    which skills the curator sees (CURATION 2c, finding 3). The curator is the run's model, another one
    (`curator_model`), or a trained policy (`curator`, a path). Where neither is named and `in_use` stands, the curator
    in use is asked first, and the model takes over where that may not curate this agent; the run says why. `again`
    takes Sessions that were curated before; `dry_run` ends with what the curator proposes.
    """

    kind: Literal["curate"] = "curate"
    target_score: Score = 100.0
    runs: Annotated[Whole, Field(ge=1, le=20)] = 2
    rounds: Annotated[Whole, Field(ge=1, le=100)] = 2
    sessions: Annotated[Whole, Field(ge=1, le=100)] = 4
    success_at: Score = 90.0
    top_k: Annotated[Whole, Field(ge=1, le=50)] = 5
    min_overlap: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = 0.0
    curator: Annotated[Text, Field(min_length=1)] | None = None
    in_use: Flag = True
    curator_model: Model | None = None
    again: Flag = False
    dry_run: Flag = False


class EvaluateSpec(_Spec):
    """Measure the agent as it is. `append` puts the result on the scoreboard; else it is evidence of the run only."""

    kind: Literal["evaluate"] = "evaluate"
    runs: Annotated[Whole, Field(ge=1, le=20)] = 1
    append: Flag = True
    summary: Text = "Evaluation asked for by the operator."


RunSpec = BuildSpec | OptimizeSpec | TrySpec | CurateSpec | EvaluateSpec
_ADAPTER: TypeAdapter[RunSpec] = TypeAdapter(Annotated[RunSpec, Field(discriminator="kind")])


def parse_spec(document: object) -> RunSpec:
    """Return the spec in a JSON document. Raises UsageError naming what is off."""
    try:
        return _ADAPTER.validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"The run's settings are not usable: {where}: {first['msg']}.") from error


def read_spec(run: RunPaths) -> RunSpec:
    """Return the spec that a run was started with. Raises DamagedError where it cannot be read."""
    try:
        return parse_spec(strict_json.parse(run.spec.read_bytes()))
    except (OSError, ValueError, UsageError) as error:
        raise DamagedError(f"The spec of run {run.id} cannot be read: {error}", hint="Start a new run.") from error


def subject(run: RunPaths, spec: RunSpec) -> tuple[AgentPaths, BenchmarkPaths]:
    """Return the agent and the benchmark that a run is about."""
    agent = run.project.agent(spec.agent_id)
    return agent, agent.benchmark(spec.benchmark_id)
