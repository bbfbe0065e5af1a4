"""A strategy as it is written: one problem, when it is met, what is done, how the result is checked (STRATEGY 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from core.strategy.documents.model import MOST_VERSIONS, Code, Id, Milliseconds, Record, SkillName, Texts, type_of_list
from core.strategy.documents.plan import Node, Recovery

SCHEMA = "strategy/v1"
Layer = Literal["trigger", "plan", "validate"]
LAYERS: tuple[Layer, ...] = ("trigger", "plan", "validate")


class Origin(Record):
    """Where a version comes from; `evidence` are ids of clusters, cases, A/B tests or runs."""

    kind: Literal["human", "synthesized", "ab_winner", "optimizer", "imported"] = "human"
    evidence: Texts = ()


class Conflict(Record):
    """Who goes first where several strategies fire (S7, S124, S125). Both lists hold ids of strategies."""

    priority: Annotated[int, Field(ge=0, le=100)] = 50
    overrides: Annotated[tuple[Id, ...], type_of_list] = ()
    yields_to: Annotated[tuple[Id, ...], type_of_list] = ()


class Example(Record):
    """A routing test: an utterance and the context it is said in (X5). `set` holds values by path."""

    utterance: str = ""
    set: Mapping[str, Any] = Field(default_factory=dict)


class Examples(Record):
    """Where the strategy must fire and where it must not."""

    fire: Annotated[tuple[Example, ...], type_of_list] = ()
    no_fire: Annotated[tuple[Example, ...], type_of_list] = ()


class Stability(Record):
    """Below this score of the session its first path is kept for the same question (S122)."""

    min_score: Annotated[float, Field(ge=0, le=1)]
    below: Literal["lock_first_path"] = "lock_first_path"


class Trigger(Record):
    """When the strategy is used (S9 to S20). `event`: turn, skill_result:<skill>, failure:<skill>/<CODE>,
    strategy_failed:<id>, level2:<check>.

    `when_unknown` is what happens where a name of the condition isn't known: `skip` it, `complete` the context by its
    providers, or `ask` the user. `bind` gives an input of the target skill a phrase's role (S18): role to path.
    """

    event: Annotated[
        str,
        Field(
            pattern=r"^(turn|skill_result:[a-z0-9][a-z0-9_-]*|failure:[a-z0-9][a-z0-9_-]*/[A-Z][A-Z0-9_]*"
            r"|strategy_failed:[a-z][a-z0-9_.]*|level2:[a-z][a-z0-9_]*|emitted:[a-z][a-z0-9_]*)$"
        ),
    ] = "turn"
    when: str
    when_unknown: Literal["skip", "complete", "ask"] = "skip"
    bind: Mapping[str, str] = Field(default_factory=dict)
    stability: Stability | None = None
    examples: Examples = Examples()


class Question(Record):
    """How a missing value is asked for: wording by language, and the answers that are offered (S93)."""

    text: Mapping[str, str] | str
    options: Texts = ()
    max_asks: Annotated[int, Field(ge=1, le=5)] = 2


class Context(Record):
    """What must be known before the plan begins, who provides it, and what is handed on (S16, S51, S52).

    `complete`: a path to the skill that provides it. `inject`: names for the target skill's inputs to paths. `inherit`
    is what a called strategy sees: the session's context, the caller's own names too, or nothing but its inputs.
    """

    needs: Texts = ()
    complete: Mapping[str, SkillName] = Field(default_factory=dict)
    ask: Mapping[str, Question] = Field(default_factory=dict)
    inject: Mapping[str, str] = Field(default_factory=dict)
    inherit: Literal["session", "strategy", "none"] = "session"


class Check(Record):
    """One check of a node's output, named by the node's alias (`at`).

    Exactly one of: `expr`, a condition that must be true; `schema`, "<skill>.output", the skill's own contract;
    `present`, paths that must hold something; `run`, a skill whose output says `ok`.
    """

    at: str
    expr: str | None = None
    schema_: str | None = Field(default=None, alias="schema")
    present: Texts | None = None
    run: SkillName | None = None
    code: Code = "CHECK_FAILED"
    name: str = ""

    @model_validator(mode="after")
    def _one_kind(self) -> Check:
        if sum(value is not None for value in (self.expr, self.schema_, self.present, self.run)) != 1:
            raise ValueError("a check has exactly one of expr, schema, present, run")
        return self


class Level0(Record):
    """Always checked, within `budget_ms`; an overrun is logged (S40)."""

    budget_ms: Milliseconds = 50
    checks: Annotated[tuple[Check, ...], type_of_list] = ()


class Level1(Record):
    """Business rules, checked where `when` is true; without it always (S41)."""

    when: str = ""
    budget_ms: Milliseconds = 200
    checks: Annotated[tuple[Check, ...], type_of_list] = ()


class Level2(Record):
    """Checked after the answer, never before it; what is found arrives as the event level2:<name> (S42)."""

    when: str = ""
    checks: Annotated[tuple[Check, ...], type_of_list] = ()
    async_: Literal[True] = Field(default=True, alias="async")


class Probe(Record):
    """A look through another skill at whether the effect is there (S38). Its output is known to `expr` as `probe`."""

    at: str
    probe: SkillName
    with_: Mapping[str, Any] = Field(default_factory=dict, alias="with")
    expr: str
    code: Code = "PSEUDO_SUCCESS"


class Validation(Record):
    """The three levels, the probes, and what is done about each failure code (S34 to S45)."""

    level0: Level0 = Level0()
    level1: Level1 | None = None
    level2: Level2 | None = None
    cross: Annotated[tuple[Probe, ...], type_of_list] = ()
    on_fail: Mapping[str, Recovery] = Field(default_factory=dict)


class Owners(Record):
    """Who answers for a layer where it isn't the strategy's owner (S4)."""

    trigger: str = ""
    plan: str = ""
    validate_: str = Field(default="", alias="validate")


class Strategy(Record):
    """One strategy, one version. At least one of the three layers is there; each works without the others (S4)."""

    schema_: Literal["strategy/v1"] = Field(alias="schema")
    id: Id
    version: Annotated[int, Field(ge=1, le=MOST_VERSIONS)]
    parent_version: Annotated[int, Field(ge=1, le=MOST_VERSIONS)] | None = None
    purpose: Annotated[str, Field(min_length=1, max_length=300)]
    domain: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    owner: Annotated[str, Field(min_length=1, max_length=100)]
    layer_owners: Owners = Owners()
    created_by: str = ""
    effective_from: str | None = None
    deprecation_date: str | None = None
    origin: Origin = Origin()
    conflict_resolution: Conflict = Conflict()

    trigger: Trigger | None = None
    context: Context = Context()
    plan: Node | None = None
    validate_: Validation | None = Field(default=None, alias="validate")

    @model_validator(mode="after")
    def _has_a_layer(self) -> Strategy:
        if self.trigger is None and self.plan is None and self.validate_ is None:
            raise ValueError("a strategy has at least one of trigger, plan, validate")
        if not self.id.startswith(f"{self.domain}."):
            raise ValueError(f"the id must begin with its domain: {self.domain}.")
        return self

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Which of the three layers it has."""
        held = (("trigger", self.trigger), ("plan", self.plan), ("validate", self.validate_))
        return tuple(name for name, value in held if value is not None)  # type: ignore[misc]
