"""What a skill promises: signature, context, failures (STRATEGY S46 to S56, X1, X2). It lies in the skill's folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from core.strategy.documents.model import Code, Milliseconds, Record, SkillName, Texts, type_of_list

FILE = "skill.yaml"
ROLES = ("user_intent_phrase", "domain_constraint", "business_rule")
SideEffects = Literal["none", "read", "write", "irreversible"]
WRITES = frozenset({"write", "irreversible"})


class Input(Record):
    """One input. A `business_rule` is checked against its range, a `domain_constraint` against its vocabulary; a
    `user_intent_phrase` carries what the user said (S47 to S49). A range of two numbers has the type "range".
    """

    type: Literal["string", "integer", "number", "boolean", "array", "object", "range"]
    role: Literal["user_intent_phrase", "domain_constraint", "business_rule"]
    optional: bool = False
    min: float | int | None = None
    max: float | int | None = None
    enum: Annotated[tuple[Any, ...], type_of_list] | None = None
    description: str = ""


class Signature(Record):
    """Inputs by name, and the output's JSON Schema, which checks of level 0 use (S50)."""

    inputs: Mapping[str, Input]
    outputs: Mapping[str, Any]


class Needs(Record):
    """Paths of the context that must be known, that are known afterwards, and who provides what is missing."""

    needs: Texts = ()
    provides: Texts = ()
    providers: Mapping[str, SkillName] = Field(default_factory=dict)


class FailureMode(Record):
    """A row of the failure profile: what a code means for the one who called (S53)."""

    code: Code
    severity: Literal["low", "medium", "high", "critical"]
    auto_recovery: Literal["none", "retry", "retry_with_backoff"] = "none"
    fallback_skill: SkillName | None = None


class SkillSchema(Record):
    """A skill's schema. The three blocks `signature`, `context` and `failure_modes` are mandatory (S46)."""

    skill: SkillName
    side_effects: SideEffects
    idempotent: bool
    typical_ms: Milliseconds | None = None
    signature: Signature
    context: Needs
    failure_modes: Annotated[tuple[FailureMode, ...], type_of_list]

    @model_validator(mode="after")
    def _codes_differ(self) -> SkillSchema:
        codes = [row.code for row in self.failure_modes]
        twice = sorted({code for code in codes if codes.count(code) > 1})
        if twice:
            raise ValueError(f"failure_modes has {twice[0]} twice")
        return self

    @property
    def writes(self) -> bool:
        """Whether a call changes something outside: such a skill is never run in shadow (S70, X1)."""
        return self.side_effects in WRITES

    def failure(self, code: str) -> FailureMode | None:
        """Return the row of a code, None for one that isn't declared (S56)."""
        return next((row for row in self.failure_modes if row.code == code), None)
