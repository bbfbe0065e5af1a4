"""How a version reaches users: stages, shadow, A/B, tracking, models (STRATEGY 4). It lies in the bank only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from core.strategy.documents.model import MOST_VERSIONS, Id, Record, Texts, type_of_list

Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
_YEAR_H = 366 * 24
_DECADE_D = 3660


class Assign(Record):
    """How users are drawn: by the hash of `unit` under `salt`, inside strata of an attribute if one is named (S129)."""

    unit: str = "user_id"
    salt: str = ""
    stratify: str = ""
    strata: Annotated[tuple[float | int, ...], type_of_list] = ()


class Stage(Record):
    """A step of a gray release. An empty list lets all in; the next stage waits `hold_hours` (S67 to S69)."""

    percent: Percent
    business_line: Texts = ()
    device: Texts = ()
    hold_hours: Annotated[float, Field(ge=0, le=1_000_000)] = 0


class Shadow(Record):
    """Old and new side by side; the new one without effects (S70 to S72)."""

    compare_to: Annotated[int, Field(ge=1)] | None = None
    report: Annotated[tuple[Literal["path", "output", "latency", "validation"], ...], type_of_list] = (
        "path",
        "output",
        "latency",
        "validation",
    )
    by: Texts = ()


class AbTest(Record):
    """The reported rule (completion above on `min_days` days, fallbacks a share lower), and ours (S101, X4).

    `days` is the planned duration: `alpha` is spent over it, and the test ends with it.
    """

    against: Annotated[int, Field(ge=1)]
    split: Percent = 50
    min_days: Annotated[int, Field(ge=1, le=90)] = 3
    fallback_drop_rel: Share = 0.2
    min_samples: Annotated[int, Field(ge=1)] = 200
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    days: Annotated[int, Field(ge=1, le=365)] = 14


class RollbackRule(Record):
    """When a release is taken back by itself (S73): over a bound, or risen by a share against the version before.

    `segment: any` asks it of each group of users as well, by the attributes of `shadow.by`: a release that harms one
    age band alone is taken back too (S72).
    """

    metric: Literal["fallback_rate", "failure_rate", "mistrigger_rate", "pseudo_success_rate", "latency_ms"]
    over: float | int | None = None
    rel_increase: float | int | None = None
    hours: Annotated[float, Field(gt=0, le=_YEAR_H)] = 1.0
    min_samples: Annotated[int, Field(ge=1)] = 50
    segment: Literal["", "any"] = ""

    @model_validator(mode="after")
    def _one_bound(self) -> RollbackRule:
        if (self.over is None) == (self.rel_increase is None):
            raise ValueError("a rollback rule has exactly one of over, rel_increase")
        return self


class Rollout(Record):
    """Everything of a release. Each stage lets in whom the one before let in: percents may not fall (S67)."""

    assign: Assign = Assign()
    stages: Annotated[tuple[Stage, ...], type_of_list] = ()
    shadow: Shadow | None = None
    ab: AbTest | None = None
    rollback_when: Annotated[tuple[RollbackRule, ...], type_of_list] = ()

    @model_validator(mode="after")
    def _monotone(self) -> Rollout:
        for before, after in zip(self.stages, self.stages[1:], strict=False):
            if after.percent < before.percent:
                raise ValueError("stages: a percent may not be lower than the one before it")
            for name in ("business_line", "device"):
                old, new = set(getattr(before, name)), set(getattr(after, name))
                if new and (not old or old - new):
                    raise ValueError(f"stages: {name} may not lose what the stage before let in")
        return self


class Alert(Record):
    """Alarm where the metric lies below for so many hours one after the other (S76)."""

    below: Share = 0.5
    hours: Annotated[int, Field(ge=1, le=_YEAR_H)] = 3


class Impact(Record):
    """Which outcome counts as the business's (S74)."""

    metric: str
    alert: Alert = Alert()


class Track(Record):
    business_impact: Impact | None = None


class ModelFit(Record):
    """What is known of a strategy with one model (S117). `settings` are adaptations, by path of the context."""

    status: Literal["untested", "compatible", "adapted", "incompatible"]
    tested: str = ""
    settings: Mapping[str, Any] = Field(default_factory=dict)


class Compat(Record):
    models: Mapping[str, ModelFit] = Field(default_factory=dict)


class Release(Record):
    """`<id>.release.yaml`: changed by releases, never by a Candidate (DECISIONS 26)."""

    schema_: Literal["release/v1"] = Field(alias="schema")
    id: Id
    version: Annotated[int, Field(ge=1, le=MOST_VERSIONS)]
    rollout: Rollout = Rollout()
    track: Track = Track()
    compat: Compat = Compat()


class Band(Record):
    """Who owns a domain, how often it is reviewed, and the priorities its strategies may have (S77, S124)."""

    owner: str
    review_days: Annotated[int, Field(ge=1, le=_DECADE_D)] = 7
    reviewed: str = ""
    lowest: Annotated[int, Field(ge=0, le=100)] = 0
    highest: Annotated[int, Field(ge=0, le=100)] = 100


class Governance(Record):
    """The numbers of the laws and of the audit (S107 to S116)."""

    most_lines: int = 12
    most_branches: int = 4
    archive_days: Annotated[int, Field(ge=1, le=_DECADE_D)] = 30
    failure_rate: Share = 0.15
    fallback_uses: int = 100
    explosion: int = 400


class Turn(Record):
    """The budget of one turn, over all strategies that call each other (X6)."""

    max_steps: Annotated[int, Field(ge=1)] = 24
    max_ms: Annotated[int, Field(ge=1)] = 20_000


class Fallback(Record):
    """What is done where nothing else recovers: the bank's last word."""

    run: str = ""
    promise: str = ""


class BankSettings(Record):
    """`bank.yaml`: what holds for every strategy of a bank. All of it has defaults."""

    schema_: Literal["bank/v1"] = Field(default="bank/v1", alias="schema")
    domains: Mapping[str, Band] = Field(default_factory=dict)
    governance: Governance = Governance()
    turn: Turn = Turn()
    level0_budget_ms: Annotated[int, Field(ge=1)] = 50
    level1_above: float | int = 500
    hand_off: Fallback = Fallback()
    direct: Literal["all", "none"] | Texts = "all"
    """Which skills a model's suggestion runs where no strategy fires. With all of them a trigger that declines doesn't
    keep the model from its skill; name those that need no governing, or none."""
    ab: Mapping[str, Any] = Field(default_factory=dict)
    survey: str = ""
    """Address of a survey that goes out with the answer, with {session} in it (S102); "" for none."""
    registry: Mapping[str, str] = Field(default_factory=dict)
    """Names of the context that no skill provides: path to type (string, number, boolean, date, list, map)."""
    patterns: Mapping[str, str] = Field(default_factory=dict)
    """Named regular expressions for `matches_named`."""
